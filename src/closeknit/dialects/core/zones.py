"""Groups that ask for a level below hosts, and NUMA zones: nodes where no zone has room are left out.

Which zone pods get is decided by the topology manager of a kubelet. Where a node's NodeResourceTopology is in
sight, what its zones have left is compared with all that a group must place at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from closeknit.apis.topology_node_k8s_io_v1alpha2 import NUMA, NodeResourceTopology
from closeknit.dialects.core.levels import level_of_nodes
from closeknit.dialects.core.node_filters import narrowed
from closeknit.dialects.core.resources import resources
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.nodes import NAME_FIELD, Operator, Requirement, Term
from closeknit.hub.quantities import Rounding
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology


def zones(view: View) -> Mapping[str, tuple[Resources, ...]]:
    """By node, what each of its NUMA zones has left."""
    return {
        each.name: tuple(
            resources(
                {
                    one.name: one.allocatable if one.available is None else one.available
                    for one in zone.resources
                },
                ("zones", i),
                Rounding.DOWN,
                [],
            )
            for i, zone in enumerate(each.content.zones)
            if zone.type == NUMA
        )
        for each in view.of(NodeResourceTopology)
    }


def within_zones(view: View, request: Request, topology: Topology | None) -> Request:
    """The same, with no node for a group below hosts of which no zone has room for the group."""
    known = view.derive(zones)

    def narrowed_group(group: Group) -> Group:
        level = group.required
        if level is None or level_of_nodes(level, topology) == level:
            return group
        asked = _least(group)
        full = sorted(
            node for node, have in known.items() if have and not any(_fits(asked, one) for one in have)
        )
        if not full:
            return group
        other = Term((Requirement(NAME_FIELD, Operator.NOT_IN, tuple(full)),))
        return group.mapped(lambda pods: replace(pods, filter=narrowed(pods.filter, [(other,)])))

    return replace(request, root=request.root.mapped(groups=narrowed_group)) if known else request


def _least(member: Member) -> Resources:
    """The least that must be placed at once; nothing where some members will do."""
    if isinstance(member, PodSet):
        pods = max(member.least - len(member.bound), 0)
        return Resources({name: amount * pods for name, amount in member.resources.items()})
    total = Resources()
    if member.least == len(member.members):
        for each in member.members:
            total += _least(each)
    return total


def _fits(asked: Resources, zone: Resources) -> bool:
    """Whether a zone has what it has any of; what no zone lists is no matter of zones."""
    return all(asked.get(name, 0) <= amount for name, amount in zone.items())
