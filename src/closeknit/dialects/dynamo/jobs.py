"""A deployment for Kueue, where there is no Grove: a JobSet for each component that is to run.

Domains become node labels by the operator's ``domainToLabelMapping``, or by the topology that the
deployment speaks of. A component's pods share one domain; of one that runs on several nodes, each
replica does, as a slice of the pods, within the domain of the deployment. That several components
share a domain is nothing that Kueue can be told, and so it is a problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.dialects.dialect import Surroundings
from closeknit.dialects.dynamo.deployments import Component
from closeknit.dialects.dynamo.sets import checksum
from closeknit.dialects.dynamo.workloads import Read, read_all, topologies_for
from closeknit.dialects.grove.objects import Objects
from closeknit.dialects.manifests import Manifests
from closeknit.dialects.node_levels import level_of_nodes
from closeknit.hub.problems import Problem, shown
from closeknit.hub.topology import Topology

QUEUE = "kueue.x-k8s.io/queue-name"
DEFAULT_QUEUE = "dynamo"
_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
_SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
_SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
_LONGEST = 40
"""So that a pod's name, which adds a job's name and numbers, keeps within 63 characters."""


def kueue_objects(manifests: Manifests, surroundings: Surroundings) -> Objects:
    """Kueue's Topology for each that is spoken of, and the JobSets of every deployment."""
    known = topologies_for(manifests)
    spoken_of: set[str] = set()
    for one in read_all(manifests, lenient=surroundings.lenient):
        yield from (one.manifest.located(problem) for problem in one.problems)
        if one.problems or one.blueprint is None:
            continue
        topology = known.topologies.get(one.blueprint.topology or "")
        if topology is not None and topology.name not in spoken_of:
            spoken_of.add(topology.name)
            levels = [{"nodeLabel": label} for label in topology.down_to_nodes().labels]
            yield {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Topology",
                "metadata": {"name": topology.name},
                "spec": {"levels": levels},
            }
        running = [component for component in one.deployment.components if component.replicas]
        if one.deployment.domain and len(running) > 1:
            message = (
                f"Kueue places each component in one {shown(one.deployment.domain)}, but cannot be told that"
                f" all {len(running)} share it. Constrain each by itself, or use Grove."
            )
            yield one.manifest.located(Problem("spec.topologyConstraint.packDomain", message))
        yield from (_job_set(one, component, topology) for component in running)


def _job_set(one: Read, component: Component, topology: Topology | None) -> dict[str, Any]:
    given = one.deployment
    labels = given.metadata.labels
    each = component.replicas if component.nodes is None else component.nodes
    metadata = {
        "annotations": {**component.annotations, **_asked(one, component, topology)},
        "labels": {**component.labels, "nvidia.com/dynamo-component": component.name},
    }
    pod = {key: value for key, value in component.pod_spec.items() if key != "schedulerName"}
    spec = {
        "parallelism": each,
        "completions": each,
        "completionMode": "Indexed",
        "template": {
            "metadata": {key: value for key, value in metadata.items() if value},
            "spec": {**pod, "restartPolicy": "OnFailure"},
        },
    }
    jobs = {"name": "pods", "replicas": 1 if component.nodes is None else component.replicas}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": _name(f"{given.metadata.name}-{component.key}"),
            "namespace": one.manifest.namespace,
            "labels": {
                QUEUE: labels.get(QUEUE, DEFAULT_QUEUE),
                "nvidia.com/dynamo-graph-deployment-name": given.metadata.name,
            },
        },
        "spec": {"suspend": True, "replicatedJobs": [{**jobs, "template": {"spec": spec}}]},
    }


def _asked(one: Read, component: Component, topology: Topology | None) -> dict[str, str]:
    """The annotations by which Kueue is asked for closeness; an own domain goes before an inherited one."""
    whole = _label(one.deployment.domain, topology)
    own = _label(component.domain or "", topology)
    if component.nodes is None or not own:
        # Each pod of a forced scaling group may be somewhere else, so its own domain asks for nothing.
        required = whole if component.forced else own or whole
        return {_REQUIRED: required} if required else {}
    slices = {_SLICE_LEVEL: own, _SLICE_SIZE: str(component.nodes)}
    return {_REQUIRED: whole, **slices} if whole else slices


def _label(domain: str, topology: Topology | None) -> str:
    levels: Iterator[str] = (
        (level.label for level in topology.levels if level.name == domain) if topology else iter(())
    )
    return level_of_nodes(next(levels, ""), topology)


def _name(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 5]}-{checksum(name):04x}"
