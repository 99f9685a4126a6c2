"""The hub's topologies and trees as KAI's Topology and PodGroup, under names that KAI accepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from closeknit.apis.scheduling_run_ai_v2alpha2 import (
    UNCONSTRAINED,
    PodGroupSpec,
    SubGroup,
    TopologyConstraint,
)
from closeknit.apis.wire import plain
from closeknit.dialects.core.assumed_pods import assuming
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.naming import UniqueNames
from closeknit.dialects.core.pod_specs import only_pods
from closeknit.dialects.kai.members import DEFAULT
from closeknit.dialects.kai.subgroups import LONGEST_NAME
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.topology import Topology

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
LONGEST_POD_NAME = 253


def to_topology_object(topology: Topology) -> dict[str, Any]:
    """A KAI Topology; a level's name becomes its alias, where KAI would accept it.

    KAI takes no level below that of nodes; ``down_to_nodes`` gives the level to ask for instead.
    """
    topology = topology.down_to_nodes()
    names = Counter(level.name for level in topology.levels)
    levels: list[dict[str, Any]] = []
    for label, name in ((level.label, level.name) for level in topology.levels):
        is_alias = name and name not in topology.labels and names[name] == 1
        levels.append({"nodeLabel": label, **({"alias": name} if is_alias else {})})
    return new_object("kai.scheduler/v1alpha1", "Topology", {"name": topology.name}, {"levels": levels})


def pod_group_object(metadata: dict[str, Any], spec: PodGroupSpec) -> dict[str, Any]:
    """A PodGroup as plain data; of its metadata, what is empty is left out."""
    own = {key: value for key, value in metadata.items() if value}
    return new_object("scheduling.run.ai/v2alpha2", "PodGroup", own, plain(spec))


def to_pod_group(request: Request, *, queue: str = "", priority_class: str = "") -> dict[str, Any]:
    """A PodGroup that asks for the same: tree, levels and minimums.

    Pods are not part of it. How many there are beyond the minimum and what each asks for is in
    the pods themselves; only where all ask for the same, an annotation holds it for planning
    without them. A pod set becomes a leaf of its own, except where it is all that a
    group needs: then the group is the leaf.
    """
    namespace, _, name = request.name.rpartition("/")
    least, least_subgroups = _minimums(request.root)
    spec = PodGroupSpec(
        queue=queue,
        min_member=least,
        min_sub_group=least_subgroups,
        priority_class_name=priority_class,
        topology_constraint=_constraint(request.root, request.topology),
        sub_groups=tuple(_subgroups(request)) or None,
    )
    metadata = {
        "name": name,
        "namespace": namespace or DEFAULT_NAMESPACE,
        "annotations": _annotations(request),
    }
    return pod_group_object(metadata, spec)


def _subgroups(request: Request) -> Iterator[SubGroup]:
    names = subgroup_names(request.root)
    for member, parent in request.root.walk():
        if parent is not None and member is not only_pods(parent):
            least, least_subgroups = _minimums(member)
            yield SubGroup(
                name=names[member.name],
                parent="" if parent is request.root else names[parent.name],
                min_member=least,
                min_sub_group=least_subgroups,
                topology_constraint=_constraint(member, request.topology),
            )


def _minimums(member: Member) -> tuple[int | None, int | None]:
    """``minMember`` for what has pods of its own, ``minSubGroup`` for what has subgroups."""
    if (pods := only_pods(member)) is not None:
        return pods.least, None
    assert isinstance(member, Group)
    # Without members it asks for nothing; left out, the minimum would be one pod.
    return (None, member.minimum) if member.members else (0, None)


def leaf_names(request: Request) -> dict[str, str]:
    """By pod set, the subgroup that its pods name; empty where the PodGroup has no subgroups."""
    names = subgroup_names(request.root)
    leaves: dict[str, str] = {}
    for member, parent in request.root.walk():
        if isinstance(member, PodSet) and parent is not None:
            if member is not only_pods(parent):
                leaves[member.name] = names[member.name]
            else:
                leaves[member.name] = "" if parent is request.root else names[parent.name]
    return leaves


def _constraint(member: Member, topology: str | None) -> TopologyConstraint:
    if isinstance(member, PodSet) or (member.required is None and member.preferred is None):
        return UNCONSTRAINED
    return TopologyConstraint(
        topology=topology or "",
        required_topology_level=member.required or "",
        preferred_topology_level=member.preferred or "",
    )


def _annotations(request: Request) -> dict[str, str]:
    asked = {pods.name: pods.resources for pods in request.root.pod_sets()}
    # Where they differ, it is in the pods that stand beside the PodGroup.
    return assuming(asked) if len(set(asked.values())) == 1 else {}


def subgroup_names(root: Group) -> dict[str, str]:
    """A valid subgroup name for every member of the tree: its own where that is one."""
    names: dict[str, str] = {}
    taken = UniqueNames(LONGEST_NAME)
    # Groups first, so that a pod set never takes the name of a group that has a right to it.
    for kind in (Group, PodSet):
        for member, parent in root.walk():
            if parent is not None and isinstance(member, kind):
                names[member.name] = taken.take(_label(member.name, LONGEST_NAME))
    return names


def pod_name(wanted: str) -> str:
    """The name itself if Kubernetes accepts it for a pod, else one that is as near as possible."""
    if len(wanted) <= LONGEST_POD_NAME and _SUBDOMAIN.fullmatch(wanted):
        return wanted
    return _label(wanted, LONGEST_POD_NAME)


def _label(name: str, longest: int) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:longest].strip("-")
    return plain or DEFAULT
