"""A request of any family in KAI's words: a Topology, a PodGroup, and pods that name it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closeknit.apis.kai_keys import GROUP_ANNOTATION, SCHEDULER, SUBGROUP_LABEL
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.levels import down_to_nodes
from closeknit.dialects.core.naming import UniqueNames
from closeknit.dialects.core.pod_specs import pod_labels, pod_spec
from closeknit.dialects.family import Object
from closeknit.dialects.kai.to_pod_group import (
    LONGEST_POD_NAME,
    leaf_names,
    pod_name,
    to_pod_group,
    to_topology_object,
)
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE
from closeknit.hub.request import Request
from closeknit.hub.topology import Topology
from closeknit.hub.workload import PlaceableWorkload

IMAGE = "busybox"
"""What runs in a pod until its author names an image."""


def express(workload: PlaceableWorkload, topologies: Mapping[str, Topology]) -> Iterator[Object]:
    """The objects of a workload."""
    request = workload.request
    if request.topology is not None:
        topology = topologies[request.topology]
        yield to_topology_object(topology)
        request = down_to_nodes(request, topology)
    yield to_pod_group(request)
    yield from to_pods(request)


def to_pods(request: Request) -> Iterator[Object]:
    """Every pod of a request; those that run already stand on their nodes.

    Pods keep their names as far as Kubernetes allows. Those that run are not known by name, and get
    names that sort before the others.
    """
    namespace, _, group = request.name.rpartition("/")
    leaves = leaf_names(request)
    taken = UniqueNames(LONGEST_POD_NAME)
    for pods in request.root.pod_sets():
        leaf = leaves[pods.name]
        spec = {"schedulerName": SCHEDULER, **pod_spec(pods, IMAGE)}
        seen = {**pod_labels(pods), **({SUBGROUP_LABEL: leaf} if leaf else {})}
        labels = {"labels": seen} if seen else {}
        stem = pod_name(f"{group}-{leaf}" if leaf else group)
        names = [f"{stem}-{i}" for i in range(pods.count)]
        if pods.pods:
            names[len(pods.bound) :] = [pod_name(name) for name in pods.pods]
        nodes = [*pods.bound, *("" for _ in range(pods.open))]
        for name, node in zip(names, nodes, strict=True):
            metadata = {
                "name": taken.take(name),
                "namespace": namespace or DEFAULT_NAMESPACE,
                **labels,
                "annotations": {GROUP_ANNOTATION: group},
            }
            placed = {**spec, "nodeName": node} if node else spec
            yield new_object("v1", "Pod", metadata, placed)
