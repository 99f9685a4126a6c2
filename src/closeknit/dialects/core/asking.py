"""What requests of claims ask for: so many devices at once, of the first kind that a node has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.resource_nvidia_com_v1beta1 import ComputeDomain
from closeknit.dialects.core.devices import Query, alternatives, channel_claim, query_of
from closeknit.dialects.core.notes import binds
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


def asks(view: View, *, still: bool = False) -> frozenset[Ask]:
    """All that claims, templates and classes in sight ask for; or all that has not got its devices."""
    return frozenset(_asks(view, still=still))


def _asks(view: View, *, still: bool) -> Iterator[Ask]:
    claims = (each.content for each in view.of(wire.ResourceClaim))
    specs = [each.spec for each in claims if not still or each.status.allocation is None]
    specs += [each.content.spec.spec for each in view.of(wire.ResourceClaimTemplate)]
    specs += [channel_claim(each.content) for each in view.of(ComputeDomain)]
    for spec in specs:
        for request in spec.devices.requests:
            yield ask_of(request)[0]
    for stored in view.of(wire.DeviceClass):
        if stored.content.spec.extended_resource_name and not binds(view):
            yield one_of(Query(stored.name, resource=stored.content.spec.extended_resource_name))
