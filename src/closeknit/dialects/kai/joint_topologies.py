"""Several topologies in one PodGroup, where their levels nest into one tree.

Which level lies within which is read from the nodes: one nests in another if all nodes with one value of its
label have one value of the other's. Where neither nests in the other, there is no one tree, and the PodGroup
is refused. Read from files alone: on a cluster, every new node could change the tree of past decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from closeknit.apis.core_v1 import Node
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.store.view import View
from closeknit.hub.topology import HOSTNAME, Level, Topology


def joint_name(names: Iterable[str]) -> str:
    """The name of the tree that several topologies make together; no topology has a plus in its name."""
    return "+".join(sorted(set(names)))


def joint_topologies(view: View, known: Mapping[str, Topology]) -> Iterator[Topology]:
    """The trees that PodGroups speak of who name more than one topology."""
    if view.schedulers is not None:
        return
    wanted: dict[str, tuple[str, ...]] = {}
    for group in view.of(PodGroup):
        spec = group.content.spec
        given = {each.topology_constraint.topology for each in spec.sub_groups or spec.subgroups or ()}
        names = tuple(sorted((given | {spec.topology_constraint.topology}) - {""}))
        if len(names) > 1 and all(name in known for name in names):
            wanted[joint_name(names)] = names
    nodes = [node.content.metadata.labels for node in view.of(Node)] if wanted else []
    for name, names in wanted.items():
        joint = _joint(name, [known[each] for each in names], nodes)
        if joint is not None:
            yield joint


def _joint(name: str, parts: Sequence[Topology], nodes: Sequence[Mapping[str, str]]) -> Topology | None:
    """The levels of all parts as one list, each within those before it; None where there is no such list."""
    levels: dict[str, Level] = {}
    order: TopologicalSorter[str] = TopologicalSorter()
    together: set[frozenset[str]] = set()
    for part in parts:
        for depth, level in enumerate(part.levels):
            levels.setdefault(level.label, Level(level.label))
            order.add(level.label, *part.labels[:depth])
            together.update(frozenset((level.label, above)) for above in part.labels[:depth])
    for one in levels:
        for other in levels:
            if one >= other or frozenset((one, other)) in together:
                continue
            within = other != HOSTNAME and _nests(one, other, nodes)
            around = one != HOSTNAME and _nests(other, one, nodes)
            if not within and not around:
                return None
            if within != around:
                order.add(*((one, other) if within else (other, one)))
    try:
        return Topology(name, tuple(levels[label] for label in order.static_order()))
    except CycleError:
        return None


def _nests(inner: str, outer: str, nodes: Sequence[Mapping[str, str]]) -> bool:
    """Whether each domain of one label lies in one domain of another."""
    found: dict[str, str] = {}
    both = (each for each in nodes if inner in each and outer in each)
    return all(found.setdefault(each[inner], each[outer]) == each[outer] for each in both)
