"""Devices counted per node as resources, for each way in which claims ask for them.

There is a resource for each ask, and one for each union of asks that overlap. By Hall's theorem every pod of
a node can be given devices of its own exactly when no union is asked for more often than it has devices, so
counting is exact. Where asks take different numbers on different nodes, devices are weighed: a device of
which two are taken at once weighs half as much as one that is taken alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.asking import EVERY, Ask, asks
from closeknit.dialects.core.devices import Id, devices_of
from closeknit.dialects.core.partitions import parts
from closeknit.dialects.core.places import Places, first_kind, places
from closeknit.dialects.store.view import View
from closeknit.hub.resources import Resources

MOST_UNIONS = 64
"""How many unions of asks that overlap are counted; beyond them devices are parted, which is told."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Devices as resources."""

    takes: Mapping[Ask, Mapping[str, int]] = field(default_factory=dict)
    """The resources that each ask takes, and how much of them."""
    offers: Mapping[str, Resources] = field(default_factory=dict)
    """By node, all its devices, whoever has them."""
    standing_for: Mapping[str, Ask] = field(default_factory=dict)
    """By resource that stands for a class of devices, what it asks for."""
    standing_in: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By resource that stands for a class, the other resources that its pods take as well."""
    weights: Mapping[Id, Mapping[str, int]] = field(default_factory=dict)
    """By device, the resources that it counts as."""
    narrowed: Mapping[Ask, Ask] = field(default_factory=dict)
    """Asks that could not be counted whole, and the one kind by which they are."""
    rough: bool = False
    """Whether too many asks overlap, so that some devices are kept for one of them alone."""

    def taken_by(self, ask: Ask) -> Mapping[str, int]:
        """What an ask takes; one that nothing can serve takes a resource that nobody offers."""
        return self.takes.get(self.narrowed.get(ask, ask)) or {str(ask): 1}


@dataclass(frozen=True, slots=True)
class _Weighed:
    """Asks whose devices overlap, as one resource."""

    devices: frozenset[Id]
    takes: Mapping[Ask, int]
    weights: Mapping[str, int]
    """By node, what a device weighs there; 1 where it is not listed."""


def counted(view: View) -> Counted:
    """All devices, as resources that nodes offer and asks take."""
    if not view.of(wire.ResourceSlice):
        return Counted()
    wanted = sorted(view.derive(asks), key=str)
    found = {ask: there for ask in wanted if (there := places(view, ask)) is not None}
    sets, weighed, rough = _weighed(found)
    narrowed: dict[Ask, Ask] = {}
    if unequal := [ask for ask in found if any(ask in each for each in weighed if isinstance(each, list))]:
        for ask in unequal:
            del found[ask]
            if len(ask.kinds) > 1 and (one := first_kind(view, ask)).kinds[0][1] != EVERY:
                narrowed[ask] = one
                found[one] = places(view, one) or {}
        sets, weighed, rough = _weighed(found)
    unions = [each for each in weighed if isinstance(each, _Weighed)]
    return _as_resources(view, sets, unions, narrowed, rough=rough)


def _weighed(
    found: Mapping[Ask, Places],
) -> tuple[dict[Ask, frozenset[Id]], list[_Weighed | list[Ask]], bool]:
    """The devices of each ask, and all unions: weighed, or a list of asks of which none can be weighed."""
    sets = {ask: _devices(ask, there) for ask, there in found.items()}
    unions = _unions(frozenset(sets.values()))
    rough = unions is None
    if unions is None:
        unions = _parted(sets)
    made: list[_Weighed | list[Ask]] = []
    for union in unions:
        within = {ask: found[ask] for ask, devices in sets.items() if devices and devices <= union}
        scale = _scale(within)
        made.append(
            [ask for ask, there in within.items() if len({each.number for each in there.values()}) > 1]
            if scale is None
            else _Weighed(union, *scale)
        )
    return sets, made, rough


def _devices(ask: Ask, there: Places) -> frozenset[Id]:
    own = {("", "", query.resource) for query, _ in ask.kinds if query.resource}
    return frozenset(own).union(*(each.devices for each in there.values()))


def _scale(within: Mapping[Ask, Places]) -> tuple[dict[Ask, int], dict[str, int]] | None:
    """How much each ask takes, and what a device weighs by node, so that each takes the same everywhere.

    None where no weights do: where one ask takes two devices here and one there, another one everywhere.
    """
    numbers = {ask: {each.number for each in there.values()} or {1} for ask, there in within.items()}
    if all(len(each) == 1 for each in numbers.values()):
        return {ask: each.pop() for ask, each in numbers.items()}, {}
    alike: dict[tuple[int, ...], list[str]] = {}
    for node in dict.fromkeys(node for there in within.values() for node in there):
        counts = (there[node].number if node in there else 0 for there in within.values())
        alike.setdefault(tuple(counts), []).append(node)
    weights: dict[tuple[int, ...], Fraction] = {}
    for start in alike:
        if start not in weights and not _spread(start, alike, weights):
            return None
    whole = lcm(*(each.denominator for each in weights.values()))
    takes = {
        ask: next((int(weights[counts] * whole) * counts[i] for counts in alike if counts[i]), 1)
        for i, ask in enumerate(within)
    }
    return takes, {node: int(weights[counts] * whole) for counts, nodes in alike.items() for node in nodes}


def _spread(
    start: tuple[int, ...],
    alike: Mapping[tuple[int, ...], list[str]],
    weights: dict[tuple[int, ...], Fraction],
) -> bool:
    """Weigh all nodes that share an ask with these, directly or by way of others; whether that can be."""
    weights[start] = Fraction(1)
    pending = [start]
    while pending:
        one = pending.pop()
        for other in alike:
            for mine, theirs in zip(one, other, strict=True):
                if mine and theirs:
                    weight = weights[one] * mine / theirs
                    if other not in weights:
                        weights[other] = weight
                        pending.append(other)
                    if weights[other] != weight:
                        return False
    return True


def _as_resources(
    view: View,
    sets: Mapping[Ask, frozenset[Id]],
    unions: Sequence[_Weighed],
    narrowed: Mapping[Ask, Ask],
    *,
    rough: bool,
) -> Counted:
    names = _names(sets, unions)
    takes = {
        ask: {name: each.takes[ask] for name, each in zip(names, unions, strict=True) if ask in each.takes}
        for ask in sets
    }
    standing_for = {query.resource: ask for ask in sets for query, _ in ask.kinds if query.resource}
    standing_in = {
        resource: {name: count for name, count in takes[ask].items() if name != resource}
        for resource, ask in standing_for.items()
    }
    every, counts_as = view.derive(devices_of), view.derive(parts)
    members: dict[Id, list[Id]] = {}
    for device, part in counts_as.items():
        members.setdefault(part or device, []).append(device)
    weights: dict[Id, dict[str, int]] = {}
    offers: dict[str, dict[str, int]] = {}
    for name, union in zip(names, unions, strict=True):
        for each in union.devices:
            devices = members.get(each, (each,))
            if devices[0] in every:
                node = every[devices[0]].node
                weight = union.weights.get(node, 1)
                for device in devices:
                    weights.setdefault(device, {})[name] = weight
                there = offers.setdefault(node, {})
                there[name] = there.get(name, 0) + weight
    whole = {node: Resources(own) for node, own in offers.items()}
    return Counted(takes, whole, standing_for, standing_in, weights, narrowed, rough)


def _unions(sets: frozenset[frozenset[Id]]) -> list[frozenset[Id]] | None:
    """The sets, and all unions of those that overlap; None where these are too many."""
    found = {each for each in sets if each}
    pending = list(found)
    while pending:
        one = pending.pop()
        for other in list(found):
            if one & other and (union := one | other) not in found:
                found.add(union)
                pending.append(union)
                if len(found) > MOST_UNIONS + len(sets):
                    return None
    return sorted(found, key=sorted)


def _parted(sets: dict[Ask, frozenset[Id]]) -> list[frozenset[Id]]:
    """Give every device to one ask alone, the smallest first; ``sets`` is changed."""
    taken: set[Id] = set()
    for ask in sorted(sets, key=lambda each: (len(sets[each]), str(each))):
        sets[ask] -= taken
        taken |= sets[ask]
    return sorted({each for each in sets.values() if each}, key=sorted)


def _names(sets: Mapping[Ask, frozenset[Id]], unions: Sequence[_Weighed]) -> list[str]:
    """What each union is called: by the ask that is all of it, or by all asks within."""
    names: list[str] = []
    for union in unions:
        same = [str(ask) for ask in union.takes if sets[ask] == union.devices]
        within = sorted(map(str, union.takes))
        names.append(min(same, key=lambda name: (len(name), name)) if same else " or ".join(within))
    return names
