"""The hub's topologies and trees as KAI's Topology and PodGroup, under names that KAI accepts."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec

from closeknit.apis import kai_scheduler_v1alpha1, scheduling_run_ai_v2alpha2
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduling_run_ai_v2alpha2 import (
    UNCONSTRAINED,
    PodGroupSpec,
    SubGroup,
    TopologyConstraint,
)
from closeknit.dialects.core.assumed_pods import assuming
from closeknit.dialects.kai.members import DEFAULT
from closeknit.dialects.kai.subgroups import LONGEST_NAME
from closeknit.dialects.wire.kinds import DEFAULT_NAMESPACE
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.topology import Topology

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LONGEST_POD = 253


def to_topology_object(topology: Topology) -> dict[str, Any]:
    """A KAI Topology; a level's name becomes its alias, where KAI would accept it.

    KAI takes no level below that of nodes; ``down_to_nodes`` says what to ask for instead.
    """
    topology = topology.down_to_nodes()
    names = Counter(level.name for level in topology.levels)
    levels = [
        kai_scheduler_v1alpha1.TopologyLevel(
            node_label=level.label,
            alias=level.name
            if level.name and level.name not in topology.labels and names[level.name] == 1
            else "",
        )
        for level in topology.levels
    ]
    return _plain(
        kai_scheduler_v1alpha1.Topology(
            api_version="kai.scheduler/v1alpha1",
            kind="Topology",
            metadata=ObjectMeta(name=topology.name),
            spec=kai_scheduler_v1alpha1.TopologySpec(levels=levels),
        )
    )


def to_pod_group(request: Request, *, queue: str = "", priority_class: str = "") -> dict[str, Any]:
    """A PodGroup that asks for the same: tree, levels and minimums.

    Pods are not part of it. How many there are beyond the minimum and what each asks for is
    said by the pods themselves; only where all ask for the same is it noted for planning
    without them. A pod set becomes a leaf of its own, except where it is all that a
    group needs: then the group is the leaf.
    """
    namespace, _, name = request.name.rpartition("/")
    pods = _only_pods(request.root)
    # Without members it asks for nothing; left out, the minimum would be one pod.
    least = pods.least if pods else None if request.root.members else 0
    spec = PodGroupSpec(
        queue=queue,
        min_member=least,
        min_sub_group=request.root.minimum if least is None else None,
        priority_class_name=priority_class,
        topology_constraint=_constraint(request.root, request.topology),
        sub_groups=_subgroups(request) or None,
    )
    return _plain(
        scheduling_run_ai_v2alpha2.PodGroup(
            api_version="scheduling.run.ai/v2alpha2",
            kind="PodGroup",
            metadata=ObjectMeta(
                name=name, namespace=namespace or DEFAULT_NAMESPACE, annotations=_annotations(request)
            ),
            spec=spec,
        )
    )


def _subgroups(request: Request) -> list[SubGroup]:
    names = subgroup_names(request.root)
    found: list[SubGroup] = []
    for member, parent in request.root.walk():
        if parent is None or member is _only_pods(parent):
            continue
        above = "" if parent is request.root else names[parent.name]
        if isinstance(member, PodSet):
            found.append(SubGroup(name=names[member.name], parent=above, min_member=member.least))
            continue
        pods = _only_pods(member)
        # A group without members asks for nothing, which a leaf says by needing no pods.
        least = pods.least if pods else None if member.members else 0
        found.append(
            SubGroup(
                name=names[member.name],
                parent=above,
                min_member=least,
                min_sub_group=member.minimum if least is None else None,
                topology_constraint=_constraint(member, request.topology),
            )
        )
    return found


def leaf_names(request: Request) -> dict[str, str]:
    """By pod set, the subgroup that its pods name; empty where the PodGroup has no subgroups."""
    names = subgroup_names(request.root)
    leaves: dict[str, str] = {}
    for member, parent in request.root.walk():
        if isinstance(member, PodSet) and parent is not None:
            if member is not _only_pods(parent):
                leaves[member.name] = names[member.name]
            else:
                leaves[member.name] = "" if parent is request.root else names[parent.name]
    return leaves


def _only_pods(group: Group) -> PodSet | None:
    """The pod set of a group that says no more than that this one must be formed."""
    only = group.members[0] if len(group.members) == 1 and group.least == 1 else None
    return only if isinstance(only, PodSet) else None


def _constraint(group: Group, topology: str | None) -> TopologyConstraint:
    if group.required is None and group.preferred is None:
        return UNCONSTRAINED
    return TopologyConstraint(
        topology=topology or "",
        required_topology_level=group.required or "",
        preferred_topology_level=group.preferred or "",
    )


def _annotations(request: Request) -> dict[str, str]:
    asked = {pods.name: pods.resources for pods in request.root.pod_sets()}
    # Where they differ, the pods that are written beside the PodGroup tell it.
    return assuming(asked) if len(set(asked.values())) == 1 else {}


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain


def subgroup_names(root: Group) -> dict[str, str]:
    """A valid subgroup name for every member of the tree: its own where that is one."""
    names: dict[str, str] = {}
    taken = Taken(LONGEST_NAME)
    # Groups first, so that a pod set never takes the name of a group that has a right to it.
    for kind in (Group, PodSet):
        for member, parent in root.walk():
            if parent is not None and isinstance(member, kind):
                names[member.name] = taken.take(_label(member.name, LONGEST_NAME))
    return names


class Taken:
    """Names that are in use already; the next of its kind gets a number."""

    def __init__(self, longest: int = _LONGEST_POD) -> None:
        self._longest = longest
        self._next: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """The name itself if nobody has it, else with a number behind it."""
        # Room for a dash and for more digits than there can be members of a tree.
        stem = wanted if wanted not in self._next else wanted[: self._longest - 8].rstrip("-.")
        name, number = wanted, self._next.get(wanted, 1)
        while name in self._next:
            number += 1
            name = f"{stem}-{number}"
        self._next[wanted] = number
        self._next.setdefault(name, 1)
        return name


def pod_name(wanted: str) -> str:
    """The name itself if Kubernetes accepts it for a pod, else one that is as near as possible."""
    if len(wanted) <= _LONGEST_POD and _SUBDOMAIN.fullmatch(wanted):
        return wanted
    return _label(wanted, _LONGEST_POD)


def _label(name: str, longest: int) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:longest].strip("-")
    return plain or DEFAULT
