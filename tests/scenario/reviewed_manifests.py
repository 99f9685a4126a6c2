"""Short ways to write objects of every family that admission reviews."""

from __future__ import annotations

from itertools import count
from typing import Any

import yaml

from tests.scenario.admitted import resource_of

Json = dict[str, Any]
_NUMBERS = count()


def named(text: str) -> Json:
    """An object of a manifest, under a name of its own."""
    obj: Json = yaml.safe_load(text)
    if obj["metadata"].get("name") is None:
        obj["metadata"]["name"] = f"case-{next(_NUMBERS)}"
    if resource_of(obj).namespaced:
        obj["metadata"]["namespace"] = "default"
    return obj


def pod_group(spec: str) -> str:
    return f"{{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {{}}, spec: {spec}}}"


def kai_topology(*labels: str) -> str:
    levels = ", ".join(f"{{nodeLabel: {label}}}" for label in labels)
    return f"{{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {{}}, spec: {{levels: [{levels}]}}}}"


def clique_set(constraint: str = "null", clique: str = "null", group: str = "null") -> str:
    return f"""
        apiVersion: grove.io/v1alpha1
        kind: PodCliqueSet
        metadata: {{}}
        spec:
          replicas: 1
          template:
            topologyConstraint: {constraint}
            cliques:
            - name: worker
              topologyConstraint: {clique}
              spec: {{roleName: worker, replicas: 2, podSpec: {{containers: [{{name: main, image: busybox}}]}}}}
            podCliqueScalingGroups:
            - {{name: group, cliqueNames: [worker], topologyConstraint: {group}}}
    """


def deployment(constraint: str = "null", component: str = "null") -> str:
    return f"""
        apiVersion: nvidia.com/v1beta1
        kind: DynamoGraphDeployment
        metadata: {{}}
        spec:
          topologyConstraint: {constraint}
          components:
          - name: worker
            type: worker
            topologyConstraint: {component}
            podTemplate: {{spec: {{containers: [{{name: main, image: busybox}}]}}}}
    """


def pack(domain: str) -> str:
    return f"{{topologyName: grove-topology, pack: {{required: {domain}}}}}"


def within(domain: str, topology: str = "grove-topology") -> str:
    return f"{{clusterTopologyName: {topology}, packDomain: {domain}}}"


def job(annotations: str = "{}", *, queue: str = "team", own: str = "{}") -> str:
    labels = f"{{kueue.x-k8s.io/queue-name: {queue}}}" if queue else "{}"
    return f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{labels: {labels}, annotations: {own}}}
        spec:
          parallelism: 2
          completions: 2
          template:
            metadata: {{annotations: {annotations}}}
            spec:
              restartPolicy: Never
              containers: [{{name: main, image: busybox, resources: {{requests: {{cpu: 1}}}}}}]
    """


def workflow(requirement: str) -> str:
    return f"""
        apiVersion: osmo.closeknit.dev/v1alpha1
        kind: Workflow
        metadata: {{}}
        spec:
          workflow:
            name: train
            pool: pool
            tasks: [{{name: one, image: busybox, resource: gpus}}]
            resources: {{gpus: {{topology: [{requirement}]}}}}
    """
