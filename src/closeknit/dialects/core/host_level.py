"""What a request asks for, with single nodes as the finest level.

A topology of Grove may go on below hosts. KAI and Kueue take no level there, and a placement tells nothing
apart below a node: whoever asks to share one of those levels asks to share a node.
"""

from __future__ import annotations

from dataclasses import replace

from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.topology import HOSTNAME, Topology


def level_of_nodes(label: str, topology: Topology | None) -> str:
    """The label itself, or that of nodes where it lies below them."""
    if topology is None or topology.index(label) is None:
        return label
    return label if topology.down_to_nodes().index(label) is not None else HOSTNAME


def down_to_nodes(request: Request, topology: Topology | None) -> Request:
    """The same request in the words of ``topology.down_to_nodes()``."""
    if topology is None or topology.down_to_nodes() is topology:
        return request

    def meant(label: str | None) -> str | None:
        return level_of_nodes(label, topology) if label is not None else None

    def coarsened(member: Member) -> Member:
        return member if isinstance(member, PodSet) else group(member)

    def group(given: Group) -> Group:
        members = tuple(coarsened(member) for member in given.members)
        return replace(
            given, members=members, required=meant(given.required), preferred=meant(given.preferred)
        )

    return replace(request, root=group(request.root))
