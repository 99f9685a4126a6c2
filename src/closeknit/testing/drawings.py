"""Clusters drawn as text, what is left free on them, and requests outlined the same way."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU, HOSTNAME, draw, parse
from closeknit.hub.neighbours import Neighbour
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import Group, Member, Request
from closeknit.hub.resources import Resources

__all__ = ["GPU", "HOSTNAME", "draw", "free", "outline", "parse"]


def free(cluster: Cluster) -> dict[str, Resources]:
    """What each node has left, by its name; less than nothing where it is overcommitted.

    A node that lists no ``pods`` has no entry for them, since it takes any number.
    """
    left = {node.name: node.allocatable for node in cluster.nodes}
    counted = {node.name for node in cluster.nodes if "pods" in node.allocatable}
    for holding in cluster.holdings:
        used = holding.resources * holding.pods
        if holding.node in counted:
            used += Resources({"pods": holding.pods})
        left[holding.node] -= used
    return left


def outline(request: Request) -> str:
    """A request as indented lines, for a person to read."""
    return "".join(f"{line}\n" for line in _outlined(request.root, 0))


def _outlined(member: Member, depth: int) -> Iterator[str]:
    words = [f"{member.name}:"]
    if isinstance(member, Group):
        words += [f"required={member.required}"] if member.required is not None else []
        words += [f"preferred={member.preferred}"] if member.preferred is not None else []
        words += [f"minimum={member.minimum} of {len(member.members)}"] if member.minimum is not None else []
        yield "  " * depth + " ".join(words)
        for inner in member.members:
            yield from _outlined(inner, depth + 1)
        return
    words.append(f"{member.count} x {member.resources}")
    words += [f"minimum={member.minimum}"] if member.minimum is not None else []
    words += [f"running on {', '.join(member.bound)}"] if member.bound else []
    words += [f"port {port}" for port in sorted(member.host_ports)]
    words += [str(member.filter)] if member.filter != NodeFilter() else []
    words += [str(member.neighbour)] if member.neighbour != Neighbour() else []
    yield "  " * depth + " ".join(words)
