"""Which devices serve what claims ask for, on every node that has enough of them.

On a node with devices of several kinds that a request accepts, one kind is counted: the first of which enough
are free. Where one device of any kind will do, all of them count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from closeknit.dialects.core.asking import EVERY, Ask
from closeknit.dialects.core.devices import Id, Query, devices_of, tainted_too
from closeknit.dialects.core.matched_devices import matched
from closeknit.dialects.core.partitions import parts
from closeknit.dialects.core.taken_devices import taken_on
from closeknit.dialects.store.view import View


class Served(NamedTuple):
    """What serves an ask on a node."""

    devices: frozenset[Id]
    number: int
    """How many of them it takes at once."""


Places: TypeAlias = Mapping[str, Served]
"""By node, what serves an ask there."""


def places(view: View, ask: Ask) -> Places | None:
    """What serves an ask on every node that has enough for it; None where that cannot be said."""
    if any(view.derive(matched, query).problem is not None for query, _ in ask.kinds):
        return None
    kinds = [(_by_node(view, query, count), count) for query, count in ask.kinds]
    found: dict[str, Served] = {}
    for node in dict.fromkeys(node for by_node, _ in kinds for node in by_node):
        several = [
            Served(there, len(there) if count == EVERY else count)
            for by_node, count in kinds
            if len(there := by_node.get(node, frozenset())) >= max(count, 1)
        ]
        if several:
            found[node] = several[0] if len(several) == 1 else _chosen(view, node, several)
    return found


def first_kind(view: View, ask: Ask) -> Ask:
    """The ask with one kind alone: the first of which there are any devices."""
    there = (each for each in ask.kinds if view.derive(matched, each[0]).devices)
    return Ask((next(there, ask.kinds[0]),))


def _chosen(view: View, node: str, several: list[Served]) -> Served:
    if all(each.number == 1 for each in several):
        return Served(frozenset[Id]().union(*(each.devices for each in several)), 1)
    taken = taken_on(view, node)
    free = (each for each in several if len(each.devices - taken) >= each.number)
    return next(free, several[0])


def _by_node(view: View, query: Query, count: int) -> dict[str, frozenset[Id]]:
    """By node, the devices of a query as they count; for who wants all, where each of them can be had."""
    every, counts_as, found = view.derive(devices_of), view.derive(parts), dict[str, set[Id]]()
    out_of_reach: set[str] = set()
    wanted = query if count != EVERY else tainted_too(query)
    accepted = view.derive(matched, query).devices
    for each in view.derive(matched, wanted).devices:
        node, part = every[each].node, counts_as.get(each, each)
        if part is not None and each in accepted:
            found.setdefault(node, set()).add(part)
        if part != each or each not in accepted:
            out_of_reach.add(node)
    if count == EVERY:
        found = {node: devices for node, devices in found.items() if node not in out_of_reach}
    return {node: frozenset(devices) for node, devices in found.items()}
