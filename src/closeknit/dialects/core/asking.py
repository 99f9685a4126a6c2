"""What requests of claims ask for: so many devices at once, of the first kind that a node has.

On a node with devices of several kinds that a request accepts, one kind is counted: the first of which enough
are free. Where one device of any kind will do, all of them count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.resource_nvidia_com_v1beta1 import ComputeDomain
from closeknit.dialects.core.devices import (
    Id,
    Query,
    alternatives,
    channel_claim,
    devices_of,
    matched,
    query_of,
)
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.taken_devices import taken_on
from closeknit.dialects.store.view import View

EVERY = 0
"""Stands for a number: all devices of a node."""


class Ask(NamedTuple):
    """What is taken at once: devices of the first of these kinds that a node has, so many of each."""

    kinds: tuple[tuple[Query, int], ...]

    def __str__(self) -> str:
        if self.kinds[0][1] == 1 and len(self.kinds) == 1:
            return str(self.kinds[0][0])
        return " or ".join(f"{'all' if count == EVERY else count} {query}" for query, count in self.kinds)


class Served(NamedTuple):
    """What serves an ask on a node."""

    devices: frozenset[Id]
    number: int
    """How many of them it takes at once."""


Places: TypeAlias = Mapping[str, Served]
"""By node, what serves an ask there."""


def one_of(query: Query) -> Ask:
    """One device of a query."""
    return Ask(((query, 1),))


def ask_of(request: wire.DeviceRequest) -> tuple[Ask, int]:
    """What a request of a claim asks for, and how often: one by one where a device does not imply others."""
    several = alternatives(request)
    kinds = tuple(
        (query_of(each), EVERY if each.allocation_mode == "All" else each.count) for each in several
    )
    (query, count), *others = kinds
    return (Ask(kinds), 1) if others or count == EVERY else (one_of(query), count)


def asks(view: View) -> frozenset[Ask]:
    """All that claims, templates and classes in sight ask for."""
    return frozenset(_asks(view))


def _asks(view: View) -> Iterator[Ask]:
    specs = [each.content.spec for each in view.of(wire.ResourceClaim)]
    specs += [each.content.spec.spec for each in view.of(wire.ResourceClaimTemplate)]
    specs += [channel_claim(each.content) for each in view.of(ComputeDomain)]
    for spec in specs:
        for request in spec.devices.requests:
            yield ask_of(request)[0]
    for stored in view.of(wire.DeviceClass):
        if stored.content.spec.extended_resource_name and not binds(view):
            yield one_of(Query(stored.name, resource=stored.content.spec.extended_resource_name))


def places(view: View, ask: Ask) -> Places | None:
    """What serves an ask on every node that has enough for it; None where that cannot be said."""
    kinds = [(_by_node(view, query), count) for query, count in ask.kinds]
    if any(view.derive(matched, query).problem is not None for query, _ in ask.kinds):
        return None
    nodes = dict.fromkeys(node for by_node, _ in kinds for node in by_node)
    found: dict[str, Served] = {}
    for node in nodes:
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


def _by_node(view: View, query: Query) -> dict[str, frozenset[Id]]:
    every, found = view.derive(devices_of), dict[str, set[Id]]()
    for each in view.derive(matched, query).devices:
        found.setdefault(every[each].node, set()).add(each)
    return {node: frozenset(devices) for node, devices in found.items()}
