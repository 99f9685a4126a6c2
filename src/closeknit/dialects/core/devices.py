"""Devices of resource slices, and which of them claims select.

A *query* is what one request of a claim selects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.resource_nvidia_com_v1beta1 import CHANNEL_CLASS, ComputeDomain
from closeknit.dialects.core.notes import binds
from closeknit.dialects.core.selectors import SelectorError, check, selected
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import claims as sentences

GROUP = "resource.k8s.io"
CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""With a class behind it, the name under which Kubernetes lets pods ask for devices like for a resource."""
FOR_EXTENDED_RESOURCE = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that was made for a pod that asks for devices like for a resource."""

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


def tainted_too(query: Query) -> Query:
    """The same devices with those that have taints which the query does not tolerate."""
    return query._replace(tolerations=(core_v1.Toleration(operator="Exists"),))


def query_of(given: wire.ExactDeviceRequest) -> Query:
    """What a request of a claim selects."""
    selectors = tuple(sorted({each.cel.expression for each in given.selectors}))
    tolerations = tuple(sorted(given.tolerations, key=lambda each: (each.key, each.value, each.effect)))
    return Query(given.device_class_name, selectors, tolerations)


def alternatives(given: wire.DeviceRequest) -> Sequence[wire.ExactDeviceRequest]:
    """What a request accepts, the best first; most accept one thing alone."""
    return given.first_available or (given.exactly or given,)


def channel_claim(domain: ComputeDomain) -> wire.ResourceClaimSpec:
    """The claim of a pod of a ComputeDomain: one channel, or all of a node."""
    mode = "All" if domain.spec.channel.allocation_mode == "All" else "ExactCount"
    channel = wire.ExactDeviceRequest(device_class_name=CHANNEL_CLASS, allocation_mode=mode)
    request = wire.DeviceRequest(name="channel", exactly=channel)
    return wire.ResourceClaimSpec(devices=wire.DeviceClaim(requests=(request,)))


def complete_pools(view: View) -> Mapping[tuple[str, str], tuple[wire.ResourceSliceSpec, ...]]:
    """By driver and name, the slices of complete pools in their newest generation."""
    pools: dict[tuple[str, str], list[wire.ResourceSliceSpec]] = {}
    for stored in view.of(wire.ResourceSlice):
        given = stored.content.spec
        pools.setdefault((given.driver, given.pool.name), []).append(given)
    found: dict[tuple[str, str], tuple[wire.ResourceSliceSpec, ...]] = {}
    for key, slices in sorted(pools.items()):
        newest = max(each.pool.generation for each in slices)
        parts = tuple(each for each in slices if each.pool.generation == newest)
        if len(parts) >= max(each.pool.resource_slice_count for each in parts):
            found[key] = parts
    return found


def devices_of(view: View) -> Mapping[Id, Offered]:
    """All devices of complete pools."""
    found: dict[Id, Offered] = {}
    for (driver, pool), parts in view.derive(complete_pools).items():
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
        if device.allow_multiple_allocations:
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
