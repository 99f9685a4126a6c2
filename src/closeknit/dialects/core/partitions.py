"""Devices that share counters, such as a GPU and its partitions.

A device can be given while the counters that it consumes are left. What claims have got is subtracted first;
a device for which too little is left counts as none. Where all others that are still asked for can be given
together, each counts as itself. Where they cannot, those that share counters count as one device: one of them
is given, and then it is seen what is left. That is never too much, and less than there is for several pods at
once. Those of several nodes that cannot be given together count as none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.asking import asks
from closeknit.dialects.core.devices import Id, complete_pools, devices_of
from closeknit.dialects.core.matched_devices import matched
from closeknit.dialects.core.taken_devices import BY_POOL, taken_by
from closeknit.dialects.store.view import View
from closeknit.hub import quantities
from closeknit.hub.problems import InvalidError

Amounts: TypeAlias = Mapping[tuple[str, str], Fraction]
"""By set and name of a counter, how much."""


def parts(view: View) -> Mapping[Id, Id | None]:
    """By device that shares counters, what it counts as; None for nothing."""
    found: dict[Id, Id | None] = {}
    pools = {
        pool: tuple(by_name.values())
        for pool, by_name in view.derive(complete_pools).items()
        if any(
            (device.basic or device).consumes_counters for each in by_name.values() for device in each.devices
        )
    }
    wanted = view.derive(_wanted_devices) if pools else frozenset()
    for pool, slices in pools.items():
        found.update(_parts_of(view, pool, slices, wanted))
    return found


def shared(part: Id | None, device: Id) -> bool:
    """Whether a device counts as one with others."""
    return part is not None and part != device


def _wanted_devices(view: View) -> frozenset[Id]:
    """All devices that somebody may still get."""
    queries = {query for ask in asks(view, still=True) for query, _ in ask.kinds}
    return frozenset[Id]().union(*(view.derive(matched, query).devices for query in queries))


def _parts_of(
    view: View, pool: tuple[str, str], slices: Iterable[wire.ResourceSliceSpec], wanted: frozenset[Id]
) -> Iterator[tuple[Id, Id | None]]:
    consumed = {
        (*pool, device.name): _consumed((device.basic or device).consumes_counters)
        for part in slices
        for device in part.devices
    }
    left = _consumed(
        wire.CounterConsumption(counter_set=each.name, counters=each.counters)
        for part in slices
        for each in part.shared_counters
    )
    if any(amounts.keys() - left.keys() for amounts in consumed.values()):
        # Kubernetes uses nothing of a pool that speaks of counters which it does not have.
        yield from ((each, None) for each in consumed)
        return
    every = view.derive(devices_of)
    taken = {device for claim in view.found(BY_POOL, pool) for device in taken_by(claim.content)}
    for each in sorted(taken & consumed.keys()):
        yield each, each
        for counter, amount in consumed[each].items():
            left[counter] -= amount
    fitting: dict[Id, Amounts] = {}
    for each in sorted(consumed.keys() - taken):
        if _fits(consumed[each], left):
            fitting[each] = consumed[each]
        else:
            yield each, None
    for name, devices in _sharing(fitting).items():
        asked: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for each in devices & wanted:
            for counter, amount in fitting[each].items():
                asked[counter] += amount
        one_node = len({every[each].node for each in devices}) == 1
        together = (*pool, f"counters of {name}") if one_node else None
        yield from ((each, each if _fits(asked, left) else together) for each in sorted(devices))


def _sharing(fitting: Mapping[Id, Amounts]) -> dict[str, set[Id]]:
    """Devices that share a set of counters, directly or by way of others, under the name of one set."""
    groups: list[tuple[set[str], set[Id]]] = []
    for each, amounts in fitting.items():
        sets, devices = {one for one, _ in amounts}, {each}
        if not sets:
            continue
        apart = []
        for group in groups:
            if group[0] & sets:
                sets |= group[0]
                devices |= group[1]
            else:
                apart.append(group)
        groups = [*apart, (sets, devices)]
    return {min(sets): devices for sets, devices in groups}


def _consumed(given: Iterable[wire.CounterConsumption]) -> dict[tuple[str, str], Fraction]:
    return {
        (one.counter_set, name): _exact(counter) for one in given for name, counter in one.counters.items()
    }


def _fits(amounts: Amounts, left: Amounts) -> bool:
    return all(amount <= left[counter] for counter, amount in amounts.items())


def _exact(counter: wire.Counter) -> Fraction:
    try:
        return quantities.parse(counter.value)
    except InvalidError:
        return Fraction(0)
