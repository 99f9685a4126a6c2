"""What is put into the cluster: nodes in racks, and gangs that require one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.kube.resources import PODS, Resource

NAMESPACE = "bench"
TOPOLOGY = "bench-topology"
ZONE, RACK, HOST = "topology/zone", "topology/rack", "kubernetes.io/hostname"
RACK_SIZE, ZONE_SIZE = 20, 200
GPUS = 8
OURS, THEIRS = "kai-scheduler", "default-scheduler"
"""The ``schedulerName`` of pods for Closeknit and for kube-scheduler."""

POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
QUEUES = Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False, subresources=("status",))

KUBERNETES_POD_GROUPS = Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup")

Object = dict[str, Any]


def topology() -> Object:
    """Zones of racks of hosts."""
    return {
        "apiVersion": TOPOLOGIES.api_version,
        "kind": "Topology",
        "metadata": {"name": TOPOLOGY},
        "spec": {"levels": [{"nodeLabel": label} for label in (ZONE, RACK, HOST)]},
    }


def node(number: int) -> Object:
    """A ready machine with eight GPUs."""
    name = f"node-{number:05}"
    offered = {"cpu": "128", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {ZONE: f"z{number // ZONE_SIZE}", RACK: f"r{number // RACK_SIZE}", HOST: name},
        },
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod_group(name: str, pods: int, required: str = RACK) -> Object:
    """A gang that must share a domain of a level."""
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "minMember": pods,
            "topologyConstraint": {"topology": TOPOLOGY, "requiredTopologyLevel": required},
        },
    }


def pod(group: str, number: int, gpus: int, *, node_name: str = "") -> Object:
    """A pod of a gang, of a usual size on the wire."""
    made = plain_pod(f"{group}-{number}", number, gpus, OURS)
    made["metadata"]["annotations"] = {"pod-group-name": group}
    if node_name:
        made["spec"]["nodeName"] = node_name
    return made


def plain_pod(name: str, number: int, gpus: int, scheduler: str) -> Object:
    """A pod that belongs to nobody."""
    environment = [{"name": f"VARIABLE_{each}", "value": f"value-{number}-{each}"} for each in range(8)]
    asked = {"cpu": "2", "memory": "16Gi", "nvidia.com/gpu": str(gpus)}
    spec: Object = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "main",
                "image": "example.invalid/train:1",
                "env": environment,
                "resources": {"limits": asked, "requests": asked},
            }
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "train"}},
        "spec": spec,
    }


def gang(name: str, pods: int, gpus: int) -> Iterator[tuple[Resource, Object]]:
    """A PodGroup and its pods."""
    yield POD_GROUPS, pod_group(name, pods)
    for number in range(pods):
        yield PODS, pod(name, number, gpus)


def kubernetes_gang(name: str, pods: int, gpus: int) -> Iterator[tuple[Resource, Object]]:
    """The same for kube-scheduler, in Kubernetes' own words."""
    yield (
        KUBERNETES_POD_GROUPS,
        {
            "apiVersion": KUBERNETES_POD_GROUPS.api_version,
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": pods}},
                "schedulingConstraints": {"topology": [{"key": RACK}]},
            },
        },
    )
    for number in range(pods):
        made = plain_pod(f"{name}-{number}", number, gpus, THEIRS)
        made["spec"]["schedulingGroup"] = {"podGroupName": name}
        yield PODS, made
