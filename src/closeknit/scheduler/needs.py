"""What a request still needs: whether its minimum runs, and how much room a node's surroundings must have.

``needs`` states conditions that every placement of the request fulfils. So a change that leaves all of
them unfulfilled cannot make the request placeable, and nobody has to search to know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from closeknit.hub.neighbours import Apart, binding
from closeknit.hub.nodes import NodeFilter
from closeknit.hub.request import Group, HostPort, Member, PodSet, Request, satisfied
from closeknit.hub.resources import Resources

if TYPE_CHECKING:
    from closeknit.engine import Engine

__all__ = ["Around", "Need", "likeness", "needs", "needs_others", "satisfied", "shape_of", "share"]

Shape: TypeAlias = tuple[Resources, NodeFilter, frozenset[HostPort]]
"""What one pod takes and which nodes it accepts."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the domain of a level that holds the node must have room for."""

    level: str | None
    """None stands for the whole cluster."""
    wanted: tuple[tuple[PodSet, int], ...]
    """How many pods of each shape, the shape of the node's own pod first."""
    near: tuple[str, ...] = ()
    """The domain must hold one of these nodes as well, where pods run already; empty for any domain."""


@dataclass(frozen=True, slots=True)
class Need:
    """What must hold around a node before a placement can put a pod of one pod set on it."""

    pods: PodSet
    topology: str | None
    around: tuple[Around, ...]
    """Finest domain first; the last one is the cluster."""

    def met(self, engine: Engine, node: str) -> bool:
        """Whether all of it holds around this node."""
        return engine.fits(self.pods, node) > 0 and all(
            engine.room(pods, node, self.topology, each.level, each.near) >= count
            for each in self.around
            for pods, count in each.wanted
        )


def shape_of(pods: PodSet) -> Shape:
    """What tells the pods of one set from others, as far as nodes are concerned."""
    return pods.resources, pods.filter, pods.host_ports


def needs_others(request: Request) -> bool:
    """Whether pods must be near others or spread, so that others of their placement may be needed."""
    return any(
        binding(rule) and not isinstance(rule, Apart)
        for pods in request.root.pod_sets()
        for rule in pods.neighbour.rules
    )


def share(group: Group) -> float:
    """The part of the pods asked for that runs, from 0 to 1."""
    sets = list(group.pod_sets())
    asked = sum(pods.count for pods in sets)
    return sum(len(pods.bound) for pods in sets) / asked if asked else 1.0


def needs(request: Request) -> tuple[Need, ...]:
    """Per kind of pod still to place, what must hold around a node that one of them gets; each need once.

    In a placement that uses a node for a pod of a set, all that the groups around the set must have lies
    in the node's own domains. Each shape is counted by itself, which makes the conditions weaker and
    never wrong.
    """
    shapes: dict[Shape, PodSet] = {}
    around: dict[str, tuple[_Group, ...]] = {}
    found: dict[Need, None] = {}
    for pods in request.root.pod_sets():
        shapes.setdefault(shape_of(pods), pods)
    for member, parent in request.root.walk():
        outer = around[parent.name] if parent is not None else ()
        if isinstance(member, Group):
            counts = not outer or member.required is not None
            around[member.name] = (_counted(member, shapes), *outer) if counts else outer
        elif member.open:
            own = shapes[shape_of(member)]
            least = max(member.least - len(member.bound), 1)
            found[Need(own, request.topology, tuple(group.around(own, least) for group in outer))] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group that keeps its pods in one domain, or the request as a whole."""

    level: str | None
    fewest: Mapping[PodSet, int]
    """Pods of each shape that must still be placed; a shape is told by the first set that has it."""
    near: tuple[str, ...]

    def around(self, own: PodSet, least: int) -> Around:
        """What its domain needs where it gets pods like these, at least so many."""
        others = ((pods, count) for pods, count in self.fewest.items() if pods is not own)
        return Around(self.level, ((own, max(self.fewest.get(own, 0), least)), *others), self.near)


def _counted(group: Group, shapes: Mapping[Shape, PodSet]) -> _Group:
    bound = (node for pods in group.pod_sets() for node in pods.bound) if group.required is not None else ()
    fewest = {pods: count for shape, pods in shapes.items() if (count := _fewest(group, shape))}
    return _Group(group.required, fewest, tuple(dict.fromkeys(bound)))


def _fewest(member: Member, shape: Shape) -> int:
    """How many pods of a shape must still be placed whatever is chosen among the members."""
    if isinstance(member, PodSet):
        return max(member.least - len(member.bound), 0) if shape_of(member) == shape else 0
    return sum(sorted(_fewest(inner, shape) for inner in member.members)[: member.least])


def likeness(root: Group, *, by_labels: bool) -> tuple[object, ...]:
    """Equal for requests that can be placed in the same clusters: all but the names.

    Labels of pods count where the request has rules about pods, and ``by_labels``: where running pods have.
    """
    seen = by_labels or any(pods.neighbour.rules for pods in root.pod_sets())

    def look(member: Member) -> tuple[object, ...]:
        if isinstance(member, PodSet):
            bound, neighbour = tuple(sorted(member.bound)), member.neighbour if seen else None
            return (member.count, member.least, *shape_of(member), bound, neighbour)
        inner = tuple(look(each) for each in member.members)
        return (member.required, member.preferred, member.least, inner)

    return look(root)
