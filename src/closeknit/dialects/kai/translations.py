"""What KAI's own rules make of KAI's own objects, by target."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from closeknit.apis.core_v1 import Pod
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.family import Object, Surroundings
from closeknit.dialects.kai import derived_objects
from closeknit.dialects.kai.groups import read_groups
from closeknit.dialects.kai.objects import to_topology_object
from closeknit.dialects.kai.pod_objects import to_pods
from closeknit.dialects.kai.topologies import problems, to_topology
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View


def to_kai(manifests: View, surroundings: Surroundings) -> Iterator[Object | Reported]:
    """Topologies and PodGroups once more, in today's spelling; and for whatever KAI groups by itself the
    PodGroup and the pods.

    Pods that are there stay as they are, and are not written again.
    """
    for topology in manifests.of(Topology):
        if not list(problems(topology.content)):
            yield to_topology_object(to_topology(topology.content))
    groups = read_groups(manifests, surroundings)
    for group, read in groups.written:
        if read.request is not None:
            yield _in_todays_spelling(group)
    there = _pods_there(manifests)
    for made, read in groups.derived:
        if read.request is not None:
            yield derived_objects.to_pod_group(made)
            yield from (pod for pod in derived_objects.to_pods(made) if _key(pod) not in there)


def to_pods_alone(manifests: View, surroundings: Surroundings) -> Iterator[Object | Reported]:
    """The pods that are not there yet: of templates, and those that are assumed for a PodGroup."""
    there = _pods_there(manifests)
    groups = read_groups(manifests, surroundings)
    for _, read in groups.written:
        if read.request is not None:
            yield from (pod for pod in to_pods(read.request) if _is_new(pod, there))
    for made, read in groups.derived:
        if read.request is not None:
            yield from (pod for pod in derived_objects.to_pods(made) if _is_new(pod, there))


def _pods_there(manifests: View) -> set[tuple[str, str]]:
    return {(pod.namespace, pod.name) for pod in manifests.keys(Pod)}


def _key(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _is_new(pod: Object, there: set[tuple[str, str]]) -> bool:
    return _key(pod) not in there and "nodeName" not in pod["spec"]


def _in_todays_spelling(group: Stored[PodGroup]) -> Object:
    """The PodGroup as it was written, without what servers add."""
    written: dict[str, Any] = copy.deepcopy(dict(group.written))
    written.pop("status", None)
    spec = written.get("spec", {})
    if "subgroups" in spec:
        spec["subGroups"] = spec.pop("subgroups")
    written["metadata"] = {
        key: value
        for key, value in {"namespace": group.namespace, **written["metadata"]}.items()
        if key not in ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
    }
    return written
