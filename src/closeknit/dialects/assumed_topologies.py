"""The levels of a topology that files name and do not have: taken from what is asked for.

Files that are validated or translated often hold the workload alone, and its topology is in the cluster. What
it asks for tells which levels there are, and which lies within which as far as requests nest. Nothing is
placed by that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from closeknit.apis.wire import Wire
from closeknit.dialects.core.levels import Part
from closeknit.dialects.family import Described
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.topology import HOSTNAME, Level, Topology


@dataclass(frozen=True, slots=True)
class Asked:
    """Levels that somebody asks for, each within those before it."""

    topology: str
    levels: tuple[Level, ...]


def with_assumed(
    view: View, found: Described, shapes: Iterable[type[Wire]], asked: Iterable[Asked]
) -> Described:
    """The same with the topologies asked for, where none of these shapes is in sight and may be elsewhere."""
    if not view.partial or any(view.keys(shape) for shape in shapes):
        return found
    assumed = {name: topology for name, topology in _assumed(asked).items() if name not in found.topologies}
    return replace(found, topologies={**found.topologies, **assumed}, assumed=frozenset(assumed))


def chains(parts: Mapping[str, Part]) -> Iterator[tuple[str, ...]]:
    """The levels that parts within parts name: what a part requires lies within what is required around it.

    What it prefers lies within what it requires.
    """
    required: dict[str | None, tuple[str, ...]] = {None: ()}
    for name, part in parts.items():
        above = required[part.parent]
        required[name] = (*above, *filter(None, [part.required]))
        yield tuple(filter(None, (*required[name], part.preferred)))


def _assumed(asked: Iterable[Asked]) -> dict[str, Topology]:
    by_name: dict[str, list[Sequence[Level]]] = {}
    for each in asked:
        if each.levels:
            by_name.setdefault(each.topology, []).append(each.levels)
    return {name: Topology(name, _in_order(given)) for name, given in sorted(by_name.items())}


def _in_order(given: Sequence[Sequence[Level]]) -> tuple[Level, ...]:
    """All levels, each after those that lie around it; where requests contradict each other, as they come."""
    levels = {level.label: level for chain in given for level in chain}
    order: TopologicalSorter[str] = TopologicalSorter()
    for chain in given:
        labels = list(dict.fromkeys(level.label for level in chain))
        for depth, label in enumerate(labels):
            order.add(label, *labels[:depth])
    # Hosts are the finest, unless somebody asks for a part of one.
    within = {label for chain in given for label in _below_hosts([level.label for level in chain])}
    order.add(HOSTNAME, *(label for label in levels if label != HOSTNAME and label not in within))
    try:
        labels = [label for label in order.static_order() if label in levels]
    except CycleError:
        labels = list(levels)
    return tuple(levels[label] for label in labels)


def _below_hosts(labels: list[str]) -> list[str]:
    return labels[labels.index(HOSTNAME) + 1 :] if HOSTNAME in labels else []
