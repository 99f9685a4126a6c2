"""Choosing devices for claims: which ones, and what is written into a claim that gets them.

Devices are chosen from the same reading that counts them, so where a pod was placed by counting there are
enough. Claims on one node are given theirs together: where selectors overlap, one that has a choice leaves
to another what only that one can take. Of equal choices those go first that fewest others could use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.dialects.core.allocated import taken_on
from closeknit.dialects.core.devices import GROUP, Id, Query, chosen, counted, devices_of, matched, query_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import claims as sentences

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps a claim that has devices from being deleted; kube-scheduler sets the same."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """One device that a request needs, and those that would do, the best first."""

    claim: Key
    request: str
    candidates: Sequence[Id]


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
    choices: list[_Choice] = []
    tolerating: dict[tuple[Key, str], list[core_v1.Toleration]] = {}
    missing: dict[Problem, None] = {}
    taken = taken_on(view, node) | being_given
    for key, claim in served.items():
        for request in claim.stored.content.spec.devices.requests:
            exact = chosen(view, request)
            name = f"{request.name}/{exact.name}" if request.first_available else request.name
            claim.classes.setdefault(exact.device_class_name, []).append(name)
            tolerating[key, name] = exact.tolerations
            there = view.derive(by_node, query_of(exact)).get(node, ())
            every, admin = exact.allocation_mode == "All", exact.admin_access
            count = max(len(there), 1) if every else exact.count
            free = there if admin else [each for each in there if each not in taken]
            if len(free) < count:
                missing[sentences.NOT_CHOSEN.at((), node=node, name=key.name)] = None
            elif admin:
                claim.results += (_result(name, each, exact.tolerations, admin=True) for each in free[:count])
            else:
                choices += [_Choice(key, name, free)] * count
    given = _matching(choices) if not missing else {}
    for number, choice in enumerate(choices):
        if number in given:
            tolerations = tolerating[choice.claim, choice.request]
            served[choice.claim].results.append(_result(choice.request, given[number], tolerations))
        else:
            missing[sentences.NOT_CHOSEN.at((), node=node, name=choice.claim.name)] = None
    if missing:
        return {}, list(missing)
    return {key: _allocation(view, claim, node) for key, claim in served.items()}, []


def by_node(view: View, query: Query) -> Mapping[str, Sequence[Id]]:
    """By node, the devices of a query; first those that fewest other queries accept."""
    every, names = view.derive(devices_of), view.derive(counted).names
    found: dict[str, list[Id]] = {}
    for each in sorted(
        view.derive(matched, query).devices,
        key=lambda each: (len(names.get(each, ())), each[:2], len(each[2]), each[2]),
    ):
        found.setdefault(every[each].node, []).append(each)
    return found


def _matching(choices: Sequence[_Choice]) -> dict[int, Id]:
    """A device of its own for each choice, as many as can have one: augmenting paths."""
    owner: dict[Id, int] = {}

    def give(number: int, tried: set[Id]) -> bool:
        candidates = choices[number].candidates
        for each in candidates:
            if each not in owner:
                owner[each] = number
                return True
        for each in candidates:
            if each not in tried:
                tried.add(each)
                if give(owner[each], tried):
                    owner[each] = number
                    return True
        return False

    # Who has the least choice goes first, so that most find theirs at once.
    for number in sorted(range(len(choices)), key=lambda each: len(choices[each].candidates)):
        give(number, set())
    return {number: device for device, number in owner.items()}


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
    written: dict[str, Any] = msgspec.to_builtins(toleration)
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


# ------------------------------------------------------------------------------------- writing


@dataclass(frozen=True, slots=True)
class Reservation:
    """A claim with devices, and the pods that are to use them."""

    claim: Key
    uid: str
    devices: frozenset[Id]
    pods: tuple[tuple[str, str], ...]
    """Name and uid of each."""
    allocation: Mapping[str, Any] | None = field(default=None, hash=False, compare=False)
    """What is to be written; None where the claim has these devices already."""
    exclusive: frozenset[Id] = frozenset()
    """Of these devices, those that are given to nobody else."""
    takes_time: ClassVar = False
    """Whether others have to do their part before it is ready."""


MOST_CONSUMERS = 256
"""How many pods a claim can be reserved for: as many as Kubernetes writes into one."""


def reserving(claim: Mapping[str, Any], wanted: Reservation) -> Mapping[str, Any] | str:
    """What to write into the status of a claim as the server has it, or why it cannot be.

    Nothing, as an empty mapping, where it says so already.
    """
    if claim["metadata"].get("deletionTimestamp"):
        return f"ResourceClaim {wanted.claim.name} is being deleted."
    status = claim.get("status") or {}
    allocation, reserved = status.get("allocation"), list(status.get("reservedFor") or ())
    change: dict[str, Any] = {}
    if allocation is not None:
        if written_devices(allocation) != wanted.devices:
            return f"ResourceClaim {wanted.claim.name} has got other devices."
    elif wanted.allocation is None:
        return f"ResourceClaim {wanted.claim.name} has lost its devices."
    else:
        change["allocation"] = wanted.allocation
    known = {each.get("uid") for each in reserved}
    if more := [
        {"resource": "pods", "name": name, "uid": uid} for name, uid in wanted.pods if uid not in known
    ]:
        if len(reserved) + len(more) > MOST_CONSUMERS:
            return (
                f"ResourceClaim {wanted.claim.name} is reserved for {MOST_CONSUMERS} pods, the most allowed."
            )
        change["reservedFor"] = [*reserved, *more]
    return change


def letting_go(claim: Mapping[str, Any], had: Reservation) -> Mapping[str, Any] | None:
    """What to write into the status of a claim so that pods no longer use it; None for nothing.

    Its devices are given back where nobody else uses them.
    """
    status = claim.get("status") or {}
    reserved = list(status.get("reservedFor") or ())
    ours = {uid for _, uid in had.pods}
    others = [each for each in reserved if each.get("uid") not in ours]
    change: dict[str, Any] = {}
    if len(others) < len(reserved):
        change["reservedFor"] = others or None
    allocation = status.get("allocation")
    if had.allocation is not None and allocation is not None and not others:
        change |= {"allocation": None} if written_devices(allocation) == had.devices else {}
    return change or None


def written_devices(allocation: Mapping[str, Any], *, exclusive: bool = False) -> frozenset[Id]:
    """The devices of an allocation as it is written; only those that are given to nobody else, if asked."""
    results = (allocation.get("devices") or {}).get("results") or ()
    return frozenset(
        (each["driver"], each["pool"], each["device"])
        for each in results
        if not (exclusive and each.get("adminAccess"))
    )
