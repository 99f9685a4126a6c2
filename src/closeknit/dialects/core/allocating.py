"""Choosing devices for claims: which ones, and what is written into a claim that gets them.

Devices are chosen from the same reading that counts them, so where a pod was placed by counting there are
enough. Claims on one node are given theirs together: where selectors overlap, one that has a choice leaves
to another what only that one can take. Of equal choices those go first that fewest others could use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.wire import plain
from closeknit.dialects.core.counting import counted
from closeknit.dialects.core.devices import (
    GROUP,
    Id,
    Query,
    alternatives,
    devices_of,
    query_of,
    tainted_too,
)
from closeknit.dialects.core.matched_devices import matched
from closeknit.dialects.core.matching import matching
from closeknit.dialects.core.partitions import parts
from closeknit.dialects.core.taken_devices import taken_on
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import claims as sentences

MOST_TRIES = 1000
"""How many ways to serve claims that accept several kinds of devices are tried on a node."""


@dataclass(frozen=True, slots=True)
class _Option:
    """One kind of devices that a request accepts, and those that would do, the best first."""

    name: str
    """Of the request, and of the kind where it accepts several."""
    asked: wire.ExactDeviceRequest
    count: int
    free: Mapping[Id, Id]
    """By what each counts as: those that share counters count as one."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """A request of a claim, and what it accepts, the best first."""

    claim: Key
    options: Sequence[_Option]

    @property
    def loosely(self) -> Sequence[Sequence[Id]]:
        """What its devices are chosen from, whichever option is taken."""
        every = dict.fromkeys(part for option in self.options for part in option.free)
        return [tuple(every)] * min(option.count for option in self.options)


@dataclass(slots=True)
class _Claim:
    """What a claim gets."""

    stored: Stored[wire.ResourceClaim]
    results: list[dict[str, Any]] = field(default_factory=list)
    classes: dict[str, list[str]] = field(default_factory=dict)
    """By class, the requests that were served from it."""


def allocations(
    view: View, node: str, claims: Iterable[Key], being_given: frozenset[Id] = frozenset()
) -> tuple[dict[Key, Mapping[str, Any]], list[Problem]]:
    """What is written as ``status.allocation`` of claims that have none, all of whose pods run on a node.

    ``being_given`` are devices that others get of which the view does not know yet. Problems where devices
    are missing; nothing is then to be written.
    """
    served = {key: _Claim(stored) for key in claims if (stored := view.get(key)) is not None}
    wishes: list[_Wish] = []
    missing: dict[Problem, None] = {}
    taken = taken_on(view, node) | being_given
    for key, claim in served.items():
        for request in claim.stored.content.spec.devices.requests:
            options = tuple(_options(view, node, request, taken))
            if not options:
                missing[sentences.NOT_CHOSEN.at((), node=node, name=key.name)] = None
            elif options[0].asked.admin_access:
                _serve(claim, options[0], options[0].free.values())
            else:
                wishes.append(_Wish(key, options))
    if missing:
        return {}, list(missing)
    # Who has no choice of kinds is served before those who have.
    wishes.sort(key=lambda wish: len(wish.options) > 1)
    chosen = _settled(wishes, [MOST_TRIES])
    if chosen is None:
        failing = dict.fromkeys(wish.claim.name for wish in wishes)
        return {}, [sentences.NOT_CHOSEN.at((), node=node, name=name) for name in failing]
    given = matching([tuple(option.free) for option in chosen for _ in range(option.count)])
    number = 0
    for wish, option in zip(wishes, chosen, strict=True):
        devices = [option.free[given[each]] for each in range(number, number + option.count)]
        _serve(served[wish.claim], option, devices)
        number += option.count
    return {key: _allocation(view, claim, node) for key, claim in served.items()}, []


def _options(view: View, node: str, request: wire.DeviceRequest, taken: frozenset[Id]) -> Iterator[_Option]:
    """What a request accepts of which a node has enough."""
    counts_as = view.derive(parts)
    closed = {counts_as.get(each, each) for each in taken}
    for asked in alternatives(request):
        there = view.derive(by_node, query_of(asked)).get(node, ())
        count = asked.count
        if asked.allocation_mode == "All":
            count = max(len(view.derive(by_node, tainted_too(query_of(asked))).get(node, ())), 1)
        free: dict[Id, Id] = {}
        for each in there:
            part = counts_as.get(each, each)
            if asked.admin_access and len(free) < count:
                free[each] = each
            elif part is not None and part not in closed and each not in taken and not asked.admin_access:
                free.setdefault(part, each)
        if len(free) >= count:
            name = f"{request.name}/{asked.name}" if request.first_available else request.name
            yield _Option(name, asked, count, free)


def _settled(wishes: Sequence[_Wish], tries: list[int]) -> list[_Option] | None:
    """An option for each wish, the best that leave something to all others; None where there are none."""

    def rest(at: int, chosen: list[_Option]) -> list[_Option] | None:
        if at == len(wishes):
            return chosen
        for option in wishes[at].options:
            tries[0] -= 1
            if tries[0] < 0:
                return None
            fixed = [tuple(each.free) for each in (*chosen, option) for _ in range(each.count)]
            loose = [each for wish in wishes[at + 1 :] for each in wish.loosely]
            if len(matching([*fixed, *loose])) == len(fixed) + len(loose) and (
                found := rest(at + 1, [*chosen, option])
            ):
                return found
        return None

    plain = [wish.options[0] for wish in wishes if len(wish.options) == 1]
    loose = [each for wish in wishes[len(plain) :] for each in wish.loosely]
    fixed = [tuple(each.free) for each in plain for _ in range(each.count)]
    if len(matching([*fixed, *loose])) < len(fixed) + len(loose):
        return None
    return rest(len(plain), plain)


def _serve(claim: _Claim, option: _Option, devices: Iterable[Id]) -> None:
    asked = option.asked
    claim.classes.setdefault(asked.device_class_name, []).append(option.name)
    claim.results += (
        _result(option.name, each, asked.tolerations, admin=asked.admin_access) for each in devices
    )


def by_node(view: View, query: Query) -> Mapping[str, Sequence[Id]]:
    """By node, the devices of a query; first those that fewest other queries accept."""
    every, weights = view.derive(devices_of), view.derive(counted).weights
    found: dict[str, list[Id]] = {}
    for each in sorted(
        view.derive(matched, query).devices,
        key=lambda each: (len(weights.get(each, ())), each[:2], len(each[2]), each[2]),
    ):
        found.setdefault(every[each].node, []).append(each)
    return found


def _result(
    request: str, device: Id, tolerations: Iterable[core_v1.Toleration], *, admin: bool = False
) -> dict[str, Any]:
    driver, pool, name = device
    made: dict[str, Any] = {"request": request, "driver": driver, "pool": pool, "device": name}
    if admin:
        made["adminAccess"] = True
    if written := [_without_blanks(each) for each in tolerations]:
        made["tolerations"] = written
    return made


def _without_blanks(toleration: core_v1.Toleration) -> dict[str, Any]:
    written: dict[str, Any] = plain(toleration)
    return {name: value for name, value in written.items() if value not in ("", None)}


def _allocation(view: View, claim: _Claim, node: str) -> Mapping[str, Any]:
    devices: dict[str, Any] = {"results": claim.results}
    if config := [*_class_config(view, claim), *_claim_config(claim)]:
        devices["config"] = config
    field_of_node = {"key": NAME_FIELD, "operator": "In", "values": [node]}
    return {
        "devices": devices,
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field_of_node]}]},
    }


def _class_config(view: View, claim: _Claim) -> Iterator[dict[str, Any]]:
    """What classes tell drivers of their devices."""
    for name, requests in claim.classes.items():
        stored = view.get(Key(GROUP, "DeviceClass", "", name))
        for each in stored.content.spec.config if stored is not None else ():
            yield {"source": "FromClass", "requests": requests, **each}


def _claim_config(claim: _Claim) -> Iterator[dict[str, Any]]:
    """What the claim tells drivers of requests that were served."""
    served = {name for names in claim.classes.values() for name in names}
    known = served | {name.partition("/")[0] for name in served}
    for each in claim.stored.content.spec.devices.config:
        meant = each.get("requests") or ()
        assert isinstance(meant, list | tuple)
        if not meant or known.intersection(meant):
            yield {"source": "FromClaim", **each}
