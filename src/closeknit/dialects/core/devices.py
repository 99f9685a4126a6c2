"""Devices of resource slices, and what claims ask of them.

A *query* is what one request of a claim selects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from closeknit.apis import core_v1
from closeknit.apis import resource_k8s_io_v1 as wire
from closeknit.apis.resource_nvidia_com_v1beta1 import CHANNEL_CLASS, ComputeDomain
from closeknit.dialects.store.view import View

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
    slice: str
    """The name of the ResourceSlice that lists it."""


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


def complete_pools(view: View) -> Mapping[tuple[str, str], Mapping[str, wire.ResourceSliceSpec]]:
    """By driver and name of a complete pool, its slices of the newest generation by their names."""
    pools: dict[tuple[str, str], dict[str, wire.ResourceSliceSpec]] = {}
    for stored in view.of(wire.ResourceSlice):
        spec = stored.content.spec
        pools.setdefault((spec.driver, spec.pool.name), {})[stored.name] = spec
    complete: dict[tuple[str, str], Mapping[str, wire.ResourceSliceSpec]] = {}
    for key, slices in sorted(pools.items()):
        newest = max(spec.pool.generation for spec in slices.values())
        current = {name: spec for name, spec in slices.items() if spec.pool.generation == newest}
        if len(current) >= max(spec.pool.resource_slice_count for spec in current.values()):
            complete[key] = current
    return complete


def devices_of(view: View) -> Mapping[Id, Offered]:
    """All devices of complete pools."""
    found: dict[Id, Offered] = {}
    for (driver, pool), slices in view.derive(complete_pools).items():
        for name, part in slices.items():
            for device in part.devices:
                basic = device.basic or device
                node = basic.node_name or part.node_name
                found[driver, pool, device.name] = Offered(node, driver, basic, name)
    return found
