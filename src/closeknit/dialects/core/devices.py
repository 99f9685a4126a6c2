"""Devices of resource slices, counted per node for each way in which claims select them.

A *query* is what one request of a claim selects. Devices are counted as resources: one for each query, and
one for each union of queries that overlap. By Hall's theorem every pod of a node can be given devices of
its own exactly when no union is asked for more often than it has devices, so counting is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.resource_nvidia_com_v1beta1 import CHANNEL_CLASS, ComputeDomain
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.selectors import SelectorError, check, selected
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import claims as sentences

GROUP = "resource.k8s.io"
CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""With a class behind it, the name under which Kubernetes lets pods ask for devices like for a resource."""
FOR_EXTENDED_RESOURCE = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that was made for a pod that asks for devices like for a resource."""
MOST_UNIONS = 64
"""How many unions of queries that overlap are counted; beyond them devices are parted, which is told."""

Id: TypeAlias = tuple[str, str, str]
"""A device: driver, pool, name. ("", "", name) stands for what nodes list of a resource."""


class Query(NamedTuple):
    """Which devices are asked for."""

    device_class: str
    selectors: tuple[str, ...] = ()
    """Beside those of the class."""
    tolerations: tuple[core_v1.Toleration, ...] = ()
    resource: str = ""
    """The resource that stands for the class; empty for those who claim devices."""

    def __str__(self) -> str:
        tolerating = " tolerating taints" if self.tolerations else ""
        where = f" where {' and '.join(self.selectors)}" if self.selectors else ""
        return self.resource or f"{CLASS_PREFIX}{self.device_class}{where}{tolerating}"


@dataclass(frozen=True, slots=True)
class Offered:
    """A device, and the node that has it; empty where several can use it."""

    node: str
    driver: str
    device: wire.BasicDevice


@dataclass(frozen=True, slots=True)
class Matched:
    """The devices of a query, or why they cannot be counted."""

    devices: frozenset[Id] = frozenset()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """Devices as resources."""

    takes: Mapping[Query, tuple[str, ...]] = field(default_factory=dict)
    """The resources that each device of a query takes one of."""
    offers: Mapping[str, Resources] = field(default_factory=dict)
    """By node, all its devices, whoever has them."""
    standing_for: Mapping[str, Query] = field(default_factory=dict)
    """By resource that stands for a class of devices, its query."""
    standing_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By resource that stands for a class, the other resources of which its pods take one as well."""
    names: Mapping[Id, tuple[str, ...]] = field(default_factory=dict)
    """By device, the resources that it is one of."""
    rough: bool = False
    """Whether too many queries overlap, so that some devices are kept for one of them alone."""


def query_of(given: wire.ExactDeviceRequest) -> Query:
    """What a request of a claim selects."""
    selectors = tuple(sorted({each.cel.expression for each in given.selectors}))
    tolerations = tuple(sorted(given.tolerations, key=lambda each: (each.key, each.value, each.effect)))
    return Query(given.device_class_name, selectors, tolerations)


def alternatives(given: wire.DeviceRequest) -> list[wire.ExactDeviceRequest]:
    """What a request accepts, the best first; most accept one thing alone."""
    return given.first_available or [given.exactly or given]


def chosen(view: View, request: wire.DeviceRequest) -> wire.ExactDeviceRequest:
    """What is counted of a request: of several things that it accepts, the first of which there are any."""
    several = alternatives(request)
    there = (each for each in several if view.derive(matched, query_of(each)).devices)
    return several[0] if len(several) == 1 else next(there, several[0])


def channel_claim(domain: ComputeDomain) -> wire.ResourceClaimSpec:
    """The claim of a pod of a ComputeDomain: one channel, or all of a node."""
    mode = "All" if domain.spec.channel.allocation_mode == "All" else "ExactCount"
    channel = wire.ExactDeviceRequest(device_class_name=CHANNEL_CLASS, allocation_mode=mode)
    request = wire.DeviceRequest(name="channel", exactly=channel)
    return wire.ResourceClaimSpec(devices=wire.DeviceClaim(requests=[request]))


def devices_of(view: View) -> Mapping[Id, Offered]:
    """All devices of complete pools in their newest generation."""
    pools: dict[tuple[str, str], list[wire.ResourceSliceSpec]] = {}
    for stored in view.of(wire.ResourceSlice):
        given = stored.content.spec
        pools.setdefault((given.driver, given.pool.name), []).append(given)
    found: dict[Id, Offered] = {}
    for (driver, pool), slices in sorted(pools.items()):
        newest = max(each.pool.generation for each in slices)
        parts = [each for each in slices if each.pool.generation == newest]
        if len(parts) < max(each.pool.resource_slice_count for each in parts):
            continue
        for part in parts:
            for device in part.devices:
                basic = device.basic or device
                found[driver, pool, device.name] = Offered(basic.node_name or part.node_name, driver, basic)
    return found


def matched(view: View, query: Query) -> Matched:
    """The devices of a query."""
    stored = view.get(Key(GROUP, "DeviceClass", "", query.device_class))
    if stored is None:
        missing = sentences.NOT_IN_SIGHT.at((), kind="DeviceClass", name=query.device_class)
        return Matched(problem=missing)
    expressions = [each.cel.expression for each in stored.content.spec.selectors] + list(query.selectors)
    for each in expressions:
        if why := check(each):
            return Matched(problem=sentences.NOT_EVALUATED.at((), expression=each, why=why))
    found: list[Id] = []
    failed: set[str] = set()
    every = view.derive(devices_of)
    for identity, offered in every.items():
        if _is_tainted(offered.device, query):
            continue
        try:
            if all(selected(each, offered.driver, offered.device) for each in expressions):
                found.append(identity)
        except SelectorError:
            # kube-scheduler gives up on a node where an expression has no answer.
            failed.add(offered.node)
    found = [each for each in found if every[each].node not in failed]
    for identity in found:
        if not every[identity].node:
            return Matched(problem=sentences.NOT_LOCAL.at((), name=query.device_class))
        device = every[identity].device
        if device.consumes_counters or device.allow_multiple_allocations:
            return Matched(problem=sentences.DEVICES_SHARED.at((), name=query.device_class))
        if device.binding_conditions and binds(view):
            return Matched(problem=sentences.BINDING_CONDITIONS.at((), name=query.device_class))
    return Matched(frozenset(found))


def _is_tainted(device: wire.BasicDevice, query: Query) -> bool:
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(_tolerates(each, taint) for each in query.tolerations)
        for taint in device.taints
    )


def _tolerates(toleration: core_v1.Toleration, taint: wire.DeviceTaint) -> bool:
    return (
        (not toleration.key or toleration.key == taint.key)
        and (toleration.operator == "Exists" or toleration.value == taint.value)
        and (not toleration.effect or toleration.effect == taint.effect)
    )


def queries(view: View) -> frozenset[Query]:
    """All queries of claims, templates and classes in sight."""
    return frozenset(_queries(view))


def _queries(view: View) -> Iterator[Query]:
    specs = [each.content.spec for each in view.of(wire.ResourceClaim)]
    specs += [each.content.spec.spec for each in view.of(wire.ResourceClaimTemplate)]
    specs += [channel_claim(each.content) for each in view.of(ComputeDomain)]
    for spec in specs:
        for request in spec.devices.requests:
            yield from map(query_of, alternatives(request))
    for stored in view.of(wire.DeviceClass):
        if stored.content.spec.extended_resource_name and not binds(view):
            yield Query(stored.name, resource=stored.content.spec.extended_resource_name)


def counted(view: View) -> Counted:
    """All devices, as resources that nodes offer and queries take."""
    if not view.of(wire.ResourceSlice):
        return Counted()
    sets: dict[Query, frozenset[Id]] = {}
    for query in sorted(view.derive(queries), key=str):
        found = view.derive(matched, query)
        if found.problem is None:
            own = {("", "", query.resource)} if query.resource else set()
            sets[query] = found.devices | own
    unions = _unions(frozenset(sets.values()))
    rough = unions is None
    if unions is None:
        unions = _parted(sets)
    names = _names(sets, unions)
    takes = {
        # Who asks for devices that nobody has takes a resource that nobody offers.
        query: tuple(names[union] for union in unions if devices and devices <= union) or (str(query),)
        for query, devices in sets.items()
    }
    standing_for = {query.resource: query for query in sets if query.resource}
    standing_in = {
        resource: tuple(name for name in takes[query] if name != resource)
        for resource, query in standing_for.items()
    }
    every = view.derive(devices_of)
    of_device: dict[Id, tuple[str, ...]] = {}
    offers: dict[str, dict[str, int]] = {}
    for union, name in names.items():
        for each in union:
            if each in every:
                of_device[each] = (*of_device.get(each, ()), name)
                there = offers.setdefault(every[each].node, {})
                there[name] = there.get(name, 0) + 1
    whole = {node: Resources(own) for node, own in offers.items()}
    return Counted(takes, whole, standing_for, standing_in, of_device, rough)


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


def _parted(sets: dict[Query, frozenset[Id]]) -> list[frozenset[Id]]:
    """Give every device to one query alone, the smallest first; ``sets`` is changed."""
    taken: set[Id] = set()
    for query in sorted(sets, key=lambda each: (len(sets[each]), str(each))):
        sets[query] -= taken
        taken |= sets[query]
    return sorted({each for each in sets.values() if each}, key=sorted)


def _names(sets: Mapping[Query, frozenset[Id]], unions: list[frozenset[Id]]) -> dict[frozenset[Id], str]:
    """What each union is called: by the query that is all of it, or by all queries within."""
    names: dict[frozenset[Id], str] = {}
    for union in unions:
        same = [str(query) for query, devices in sets.items() if devices == union]
        within = [str(query) for query, devices in sets.items() if devices and devices <= union]
        names[union] = min(same, key=lambda name: (len(name), name)) if same else " or ".join(sorted(within))
    return names
