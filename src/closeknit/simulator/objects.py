"""A site and gangs as the objects that a scheduler sees: nodes, a KAI Topology, PodGroups and their pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.hub import quantities
from closeknit.hub.nodes import Node
from closeknit.hub.resources import Resources
from closeknit.hub.topology import HOSTNAME
from closeknit.kube.resources import NODES, PODS, Resource
from closeknit.simulator.scenario import Site, Submission

TOPOLOGY = "site"
NAMESPACE = "default"
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
TOPOLOGIES = Resource("kai.scheduler", "v1alpha1", "topologies", "Topology", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)

Made = tuple[Resource, dict[str, Any]]


def site_objects(site: Site, priorities: Iterator[int] | frozenset[int]) -> Iterator[Made]:
    """The topology, the nodes and the priority classes."""
    levels = [{"nodeLabel": label} for label in site.topology.labels]
    yield TOPOLOGIES, _object(TOPOLOGIES, TOPOLOGY, "", spec={"levels": levels})
    for priority in sorted(priorities):
        yield PRIORITY_CLASSES, _object(PRIORITY_CLASSES, priority_class(priority), "", value=priority)
    for node in site.nodes:
        labels = {HOSTNAME: node.name, **node.labels}
        made = _object(NODES, node.name, "", labels=labels, status=node_status(node, ready=node.ready))
        if node.unschedulable:
            made["spec"] = {"unschedulable": True}
        yield NODES, made


def node_status(node: Node, *, ready: bool) -> dict[str, Any]:
    """What a node offers, and whether it is there."""
    return {
        "allocatable": _amounts(node.allocatable),
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }


def priority_class(priority: int) -> str:
    """The name of the class with this value."""
    return f"priority-{priority}" if priority >= 0 else f"priority-minus-{-priority}"


def gang_objects(submission: Submission) -> Iterator[Made]:
    """A PodGroup whose pods are all needed at once, and the pods."""
    ask, name = submission.ask, submission.name
    spec: dict[str, Any] = {"minMember": ask.pods}
    if submission.priority:
        spec["priorityClassName"] = priority_class(submission.priority)
    levels = {"requiredTopologyLevel": ask.required, "preferredTopologyLevel": ask.preferred}
    if chosen := {key: label for key, label in levels.items() if label is not None}:
        spec["topologyConstraint"] = {"topology": TOPOLOGY, **chosen}
    yield POD_GROUPS, _object(POD_GROUPS, name, NAMESPACE, spec=spec)
    asked = _amounts(ask.resources)
    container = {"name": "main", "image": "pause", "resources": {"limits": asked, "requests": asked}}
    pod: dict[str, Any] = {"schedulerName": "closeknit", "containers": [container]}
    if ask.selector:
        wanted = [{"key": key, "operator": "In", "values": list(values)} for key, values in ask.selector]
        required = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if submission.priority:
        pod["priorityClassName"] = priority_class(submission.priority)
        pod["priority"] = submission.priority
    for each in pod_names(submission):
        yield PODS, _object(PODS, each, NAMESPACE, annotations={"pod-group-name": name}, spec=pod)


def pod_names(submission: Submission) -> list[str]:
    """The pods of a gang."""
    return [f"{submission.name}-{number}" for number in range(submission.ask.pods)]


def _object(resource: Resource, name: str, namespace: str, **fields: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    for key in ("labels", "annotations"):
        if key in fields:
            metadata[key] = fields.pop(key)
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}


def _amounts(resources: Resources) -> dict[str, str]:
    return {name: quantities.written(name, units) for name, units in resources.items()}
