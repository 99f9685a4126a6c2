"""resource.k8s.io/v1: devices that drivers offer, and claims to them.

The shapes also take what v1beta1 and v1beta2 write in other places; see ``DeviceRequest`` and ``Device``.
"""

from __future__ import annotations

from msgspec import field

from closeknit.apis.core_v1 import NodeSelector, Toleration
from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int64, OpenWire, Quantity


class CelSelector(OpenWire, frozen=True, kw_only=True):
    """An expression of one device."""

    expression: str = ""


class DeviceSelector(OpenWire, frozen=True, kw_only=True):
    """Which devices are meant."""

    cel: CelSelector = CelSelector()


class DeviceClassSpec(OpenWire, frozen=True, kw_only=True):
    """Which devices belong to a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[dict[str, object], ...] = ()
    extended_resource_name: str = ""


class DeviceClass(KubernetesObject, frozen=True, kw_only=True):
    """Devices under a name that claims can ask for."""

    spec: DeviceClassSpec = DeviceClassSpec()


class ExactDeviceRequest(OpenWire, frozen=True, kw_only=True):
    """So many devices of a class."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = "ExactCount"
    count: Int64 = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: dict[str, object] = {}


class DeviceRequest(ExactDeviceRequest, frozen=True, kw_only=True):
    """What a claim asks for: exactly this, or the first of several that can be had.

    v1beta1 writes the fields of ``exactly`` in the request itself.
    """

    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] = ()


class DeviceConstraint(OpenWire, frozen=True, kw_only=True):
    """What devices of several requests must have in common, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class DeviceClaim(OpenWire, frozen=True, kw_only=True):
    """All devices of a claim."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[dict[str, object], ...] = ()


class ResourceClaimSpec(OpenWire, frozen=True, kw_only=True):
    """What a claim asks for."""

    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(OpenWire, frozen=True, kw_only=True):
    """A device that a claim has got."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False


class AllocatedDevices(OpenWire, frozen=True, kw_only=True):
    """All devices that a claim has got."""

    results: tuple[AllocatedDevice, ...] = ()


class Allocation(OpenWire, frozen=True, kw_only=True):
    """What a claim has got, and from which nodes it can be used."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None


class Consumer(OpenWire, frozen=True, kw_only=True):
    """Who may use what a claim has got."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(OpenWire, frozen=True, kw_only=True):
    """How far a claim has come."""

    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()


class ResourceClaim(KubernetesObject, frozen=True, kw_only=True):
    """Devices for the pods that name it."""

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(OpenWire, frozen=True, kw_only=True):
    """The claim that every pod gets."""

    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubernetesObject, frozen=True, kw_only=True):
    """A claim for each pod that names it."""

    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class ResourcePool(OpenWire, frozen=True, kw_only=True):
    """The pool that a slice is a part of, and how many parts there are."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 1


class Attribute(OpenWire, frozen=True, kw_only=True):
    """A value of one type."""

    whole: Int64 | None = field(name="int", default=None)
    flag: bool | None = field(name="bool", default=None)
    string: str | None = None
    version: str | None = None


class Capacity(OpenWire, frozen=True, kw_only=True):
    """An amount that a device has."""

    value: Quantity = 0


class DeviceTaint(OpenWire, frozen=True, kw_only=True):
    """A mark that keeps claims from a device."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Counter(OpenWire, frozen=True, kw_only=True):
    """An amount that devices share."""

    value: Quantity = 0


class CounterSet(OpenWire, frozen=True, kw_only=True):
    """Amounts that devices of a pool share."""

    name: str = ""
    counters: dict[str, Counter] = {}


class CounterConsumption(OpenWire, frozen=True, kw_only=True):
    """What a device takes of a set of counters."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}


class BasicDevice(OpenWire, frozen=True, kw_only=True):
    """What is known of a device."""

    attributes: dict[str, Attribute] = {}
    capacity: dict[str, Capacity] = {}
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    consumes_counters: tuple[CounterConsumption, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class Device(BasicDevice, frozen=True, kw_only=True):
    """A device. v1beta1 writes all but its name under ``basic``."""

    name: str = ""
    basic: BasicDevice | None = None


class ResourceSliceSpec(OpenWire, frozen=True, kw_only=True):
    """Devices of one driver, and where they can be used."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubernetesObject, frozen=True, kw_only=True):
    """Devices that a driver offers."""

    spec: ResourceSliceSpec = ResourceSliceSpec()
