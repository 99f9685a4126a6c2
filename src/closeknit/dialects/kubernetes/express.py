"""A request of any family as one of Kubernetes' gangs: a PodGroup, and pods that name it.

A gang counts its pods alike and knows one label. What has groups with levels of their own, or pods of which
some must run and others need not, cannot be said. Preferences are left out, which an annotation tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from closeknit.apis.closeknit_keys import LEFT_OUT
from closeknit.dialects.core.assumed_pods import assuming
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.naming import UniqueNames, plain_name
from closeknit.dialects.core.pod_specs import pod_spec
from closeknit.dialects.family import Object
from closeknit.dialects.kubernetes.rules import GROUP
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE
from closeknit.dialects.wire.registry import is_name
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.sentences import kubernetes as sentences
from closeknit.hub.topology import Topology
from closeknit.hub.workload import PlaceableWorkload

API_VERSION = f"{GROUP}/v1alpha2"
_LONGEST_POD_NAME = 253


def express(workload: PlaceableWorkload, _: Mapping[str, Topology]) -> Iterator[Object]:
    """The objects of a workload; raises ``InvalidError`` for what cannot be said."""
    request = workload.request
    if found := list(_unsayable(request.root)):
        raise InvalidError(found)
    yield _pod_group(request)
    yield from to_pods(request)


def _unsayable(root: Group) -> Iterator[Problem]:
    for member, _ in root.walk():
        if isinstance(member, PodSet):
            continue
        if member.required is not None and member is not root and member.required != root.required:
            yield sentences.NO_GROUPS_INSIDE.at((), member=member.name, level=member.required)
    if _least(root) is None:
        yield sentences.NOT_COUNTED_AS_ONE.at((), member=root.name)


def _least(root: Group) -> int | None:
    """How many pods must run, where counting them alike says the same; None where it does not."""
    groups = [member for member, _ in root.walk() if isinstance(member, Group)]
    sets = list(root.pod_sets())
    if all(each.least == len(each.members) for each in groups):
        if len(sets) == 1 or all(each.least == each.count for each in sets):
            return sum(each.least for each in sets)
        return None
    singles = len(groups) == 1 and all(each.count == each.least == 1 for each in sets)
    return root.least if singles else None


def _pod_group(request: Request) -> Object:
    namespace, _, name = request.name.rpartition("/")
    least = _least(request.root)
    policy = {"gang": {"minCount": least}} if least else {"basic": {}}
    spec: dict[str, Any] = {"schedulingPolicy": policy}
    if (key := request.root.required) is not None:
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    asked = {pods.name: pods.resources for pods in request.root.pod_sets()}
    # Where they differ, it is in the pods that stand beside the group.
    annotations = assuming(asked) if len(set(asked.values())) == 1 else {}
    groups = [member for member, _ in request.root.walk() if isinstance(member, Group)]
    if wishes := [f"{one.name} prefers {one.preferred}" for one in groups if one.preferred is not None]:
        annotations = {**annotations, LEFT_OUT: "; ".join(wishes)}
    metadata: dict[str, Any] = {"name": name, "namespace": namespace or DEFAULT_NAMESPACE}
    if annotations:
        metadata["annotations"] = annotations
    return new_object(API_VERSION, "PodGroup", metadata, spec)


def to_pods(request: Request) -> Iterator[Object]:
    """Every pod of a request; those that run already stand on their nodes."""
    namespace, _, group = request.name.rpartition("/")
    taken = UniqueNames(_LONGEST_POD_NAME)
    for pods in request.root.pod_sets():
        spec = {"schedulingGroup": {"podGroupName": group}, **pod_spec(pods)}
        names = [f"{group}-{i}" for i in range(pods.count)]
        if pods.pods:
            names[len(pods.bound) :] = [name if is_name(name) else plain_name(name) for name in pods.pods]
        nodes = [*pods.bound, *("" for _ in range(pods.open))]
        for name, node in zip(names, nodes, strict=True):
            metadata = {"name": taken.take(name), "namespace": namespace or DEFAULT_NAMESPACE}
            yield new_object("v1", "Pod", metadata, {**spec, "nodeName": node} if node else spec)
