"""Objects by which pods claim devices and volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.filters.cases import Object

DRIVER = "gpu.example.com"


def device_class(name: str, *selectors: str, resource: str = "") -> Object:
    """A class of devices, by expressions."""
    more = {"extendedResourceName": resource} if resource else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": each}} for each in selectors], **more},
    }


def resource_slice(
    node_name: str, devices: Sequence[Mapping[str, Any]], driver: str = DRIVER, **pool: int
) -> Object:
    """The devices of a node: each by its name, its attributes and whatever else it says."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1, **pool},
            "devices": list(devices),
        },
    }


def partitioned(node_name: str, driver: str = DRIVER) -> list[Object]:
    """A device of a node that can be given whole or in three parts: the counters, and all devices."""

    def using(slices: int) -> Object:
        used = {"counterSet": "gpu-0", "counters": {"slices": {"value": str(slices)}}}
        return {"consumesCounters": [used]}

    devices = [device("whole", **using(4)), *(device(f"part-{i}", "part", **using(1)) for i in range(3))]
    counters = resource_slice(node_name, [], driver, resourceSliceCount=2)
    counters["metadata"]["name"] += "-counters"
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "gpu-0", "counters": {"slices": {"value": "4"}}}]
    return [counters, resource_slice(node_name, devices, driver, resourceSliceCount=2)]


def device(name: str, model: str = "a", memory: str = "40Gi", **more: Any) -> Object:
    """A device of a model, with so much memory."""
    return {
        "name": name,
        "attributes": {"model": {"string": model}, "version": {"version": "2.10.0"}},
        "capacity": {"memory": {"value": memory}},
        **more,
    }


def claim(
    name: str, *requests: Object, allocated: Sequence[tuple[str, str]] = (), template: bool = False
) -> Object:
    """A claim, or a template of claims; ``allocated`` are pools, named like their nodes, and devices."""
    spec: Object = {"devices": {"requests": list(requests)}}
    made: Object = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate" if template else "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": spec} if template else spec,
    }
    if allocated:
        results = [
            {"request": "main", "driver": DRIVER, "pool": pool, "device": each} for pool, each in allocated
        ]
        field = {"key": "metadata.name", "operator": "In", "values": [allocated[0][0]]}
        made["status"] = {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
            }
        }
    return made


def request(
    class_name: str, count: int = 1, *selectors: str, name: str = "main", every: bool = False
) -> Object:
    """So many devices of a class, or every one of a node."""
    exactly: Object = {"deviceClassName": class_name}
    exactly |= {"allocationMode": "All"} if every else {"allocationMode": "ExactCount", "count": count}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    return {"name": name, "exactly": exactly}


def given_by(driver: str, allocated: Object) -> Object:
    """A claim whose devices are those of another driver."""
    for each in allocated["status"]["allocation"]["devices"]["results"]:
        each["driver"] = driver
    return allocated


def either(*kinds: tuple[str, int], name: str = "main") -> Object:
    """The first that can be had of several classes, with so many devices of each."""
    listed = [{"name": each, "deviceClassName": each, "count": count} for each, count in kinds]
    return {"name": name, "firstAvailable": listed}


def either_of(class_name: str, count: int, *selectors: str) -> Object:
    """So many devices of a class that the first of these expressions selects that can be had."""
    listed = [
        {"name": f"kind-{i}", "deviceClassName": class_name, "count": count,
         "selectors": [{"cel": {"expression": each}}]}
        for i, each in enumerate(selectors)
    ]  # fmt: skip
    return {"name": "main", "firstAvailable": listed}


def claiming(*names: str) -> Object:
    """The spec of a pod with claims."""
    claims = [{"name": f"claim-{i}", "resourceClaimName": each} for i, each in enumerate(names)]
    return {"resourceClaims": claims}


def volume(name: str, claim_name: str = "", **more: Any) -> Object:
    """A volume of a driver, bound to a claim where one is named."""
    bound = (
        {"claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
                      "name": claim_name}}
        if claim_name
        else {}
    )  # fmt: skip
    labels = more.pop("labels", {})
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "disk.example.com", "volumeHandle": name},
            **bound,
            **more,
        },
        "status": {"phase": "Bound" if claim_name else "Available"},
    }


def volume_claim(
    name: str, volume_name: str = "", class_name: str = "", mode: str = "ReadWriteOnce"
) -> Object:
    """A claim to a volume, bound where one is named."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume_name else {}
    made: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "accessModes": [mode],
            "resources": {"requests": {"storage": "5Gi"}},
            "storageClassName": class_name,
        },
    }
    if volume_name:
        made["spec"]["volumeName"] = volume_name
        made["status"] = {"phase": "Bound"}
    return made


def selecting(claimed: Object, **labels: str) -> Object:
    """A claim to one of the volumes with these labels."""
    return {**claimed, "spec": {**claimed["spec"], "selector": {"matchLabels": labels}}}


def storage_class(name: str, provisioner: str = "disk.example.com", *zones: str) -> Object:
    """A class whose volumes are bound when their pod is placed."""
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}] if zones else []
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": allowed,
    }


def csi_node(name: str, count: int, driver: str = "disk.example.com") -> Object:
    """How many volumes of a driver a node takes."""
    listed = {"name": driver, "nodeID": name, "allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [listed]},
    }


def mounting(*names: str) -> Object:
    """The spec of a pod with volumes of claims."""
    return {"volumes": [{"name": f"v-{i}", "persistentVolumeClaim": {"claimName": each}}
                        for i, each in enumerate(names)]}  # fmt: skip


def on_nodes(*names: str) -> Object:
    """A volume that some nodes reach."""
    terms = [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(names)}]}
    ]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
GPUS = device_class("gpus", f"device.driver == '{DRIVER}'")
LARGE = f"device.capacity['{DRIVER}'].memory.compareTo(quantity('60Gi')) >= 0"
NEW = f"device.attributes['{DRIVER}'].version.isGreaterThan(semver('2.9.0'))"
MODEL_B = f"device.attributes['{DRIVER}'].model == 'b'"
PART = f"device.attributes['{DRIVER}'].model == 'part'"
TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
