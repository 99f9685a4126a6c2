"""What KAI's own rules make of KAI's own objects, and of the Jobs and the like that it groups."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from closeknit.apis.job_keys import COMPLETION_INDEX
from closeknit.apis.kai_keys import GROUP_ANNOTATION, SCHEDULER, SUBGROUP_LABEL
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.core.kinds import new_object, value_at, without_server_fields
from closeknit.dialects.family import Object, Rendered
from closeknit.dialects.kai.compile import read_implicit_groups, read_pod_group
from closeknit.dialects.kai.express import to_pods
from closeknit.dialects.kai.implicit_groups import ImplicitGroup
from closeknit.dialects.kai.to_pod_group import pod_group_object, to_topology_object
from closeknit.dialects.kai.topologies import to_topology, topology_problems
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.request import Request

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def render_topology(topology: Stored[Topology], _: View) -> Rendered:
    """The Topology once more, in today's version."""
    if any(topology_problems(topology.content)):
        return Rendered()
    return Rendered((to_topology_object(to_topology(topology.content)),))


def render_pod_group(group: Stored[PodGroup], view: View) -> Rendered:
    """The PodGroup of the manifest, in today's spelling, without what servers add."""
    if view.derive(read_pod_group, group.key).request is None:
        return Rendered()
    written: dict[str, Any] = copy.deepcopy(dict(group.written))
    written.pop("status", None)
    spec = written.get("spec", {})
    if "subgroups" in spec:
        spec["subGroups"] = spec.pop("subgroups")
    written["metadata"] = without_server_fields({"namespace": group.namespace, **written["metadata"]})
    return Rendered((written,))


def render_owner(owner: Stored[Any], view: View) -> Rendered:
    """The PodGroups and the pods that come of a Job or the like, without the pods that exist."""
    made: list[Object] = []
    for group, read in view.derive(read_implicit_groups, owner.key):
        if read.request is not None:
            made.append(_pod_group(owner, group))
            made.extend(_missing(_pods(owner, group), view))
    return Rendered(tuple(made))


def render_pods_of_group(group: Stored[PodGroup], view: View) -> Rendered:
    """The pods that are assumed for a PodGroup, those that exist left out."""
    request = view.derive(read_pod_group, group.key).request
    if request is None:
        return Rendered()
    return Rendered(missing_pods(request, view))


def render_pods_of_owner(owner: Stored[Any], view: View) -> Rendered:
    """The pods of a Job or the like, those that exist or have a node by their template left out."""
    made = render_owner(owner, view).objects
    return Rendered(tuple(each for each in made if each["kind"] == "Pod" and "nodeName" not in each["spec"]))


def missing_pods(request: Request, view: View) -> tuple[Object, ...]:
    """The pods of a request that neither run nor exist."""
    return tuple(pod for pod in _missing(to_pods(request), view) if "nodeName" not in pod["spec"])


def _missing(pods: Iterable[Object], view: View) -> Iterator[Object]:
    for pod in pods:
        if not view.has(Key("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])):
            yield pod


def _pod_group(owner: Stored[Any], made: ImplicitGroup) -> Object:
    """The PodGroup, with its owner's labels and annotations and, once it exists, a reference to it."""
    given, name = owner.content.metadata, owner.object
    metadata: Object = {
        "name": made.name,
        "namespace": owner.namespace,
        "labels": dict(given.labels),
        "annotations": {key: value for key, value in given.annotations.items() if key != _LAST_APPLIED},
    }
    if given.uid:
        reference = {"apiVersion": name.api_version, "kind": name.kind, "name": name.name}
        metadata["ownerReferences"] = [{**reference, "uid": given.uid}]
    group = pod_group_object(metadata, made.spec())
    return {**group, "spec": {**group["spec"], **made.passed_on}}


def _pods(owner: Stored[Any], made: ImplicitGroup) -> Iterator[Object]:
    """Every pod: the template of the manifest, with what its controller and KAI add."""
    for leaf in made.leaves():
        template = leaf.template.written or value_at(owner.written, leaf.template.path)
        given = template.get("metadata") or {}
        spec = {**template.get("spec", {}), "schedulerName": SCHEDULER}
        labels = {**given.get("labels", {}), **made.outline.labels, **leaf.labels}
        if leaf.name:
            labels[SUBGROUP_LABEL] = leaf.name
        annotations = {**given.get("annotations", {}), GROUP_ANNOTATION: made.name}
        for number, name in enumerate(leaf.pods, start=leaf.first):
            index = {leaf.index_label: str(number)} if leaf.index_label else {}
            # A Job's pods carry their number as an annotation as well.
            noted = index if leaf.index_label == COMPLETION_INDEX else {}
            metadata = {
                "name": name,
                "namespace": owner.namespace,
                "labels": {**labels, **index},
                "annotations": {**annotations, **noted},
            }
            yield new_object("v1", "Pod", metadata, spec)
