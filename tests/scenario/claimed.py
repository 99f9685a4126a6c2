"""Clusters with devices, and an auditor of what claims have got that reads only the API."""

from __future__ import annotations

from typing import Any

from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS, RESOURCE_CLAIMS
from tests.filters.claims import DRIVER, device, device_class, resource_slice
from tests.scenario import bound
from tests.unit.scheduler.objects import node, topology

HOST = "kubernetes.io/hostname"
CLASS = device_class("gpu.example", f"device.driver == '{DRIVER}'")


def racks(number: int = 2, hosts: int = 2, devices: int = 4) -> list[bound.Json]:
    """Racks of hosts with so many devices each, and the class of all of them."""
    found: list[bound.Json] = [topology("rack", HOST), CLASS]
    for i in range(number * hosts):
        made = node(f"n{i}", 0, rack=f"r{i // hosts}")
        made["metadata"]["labels"][HOST] = f"n{i}"
        found.append(made)
        found.append(resource_slice(f"n{i}", [device(f"gpu-{j}") for j in range(devices)]))
    return found


async def claims(api: KubernetesApi) -> list[bound.Json]:
    return (await api.list(RESOURCE_CLAIMS)).items


def results(obj: bound.Json) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = obj["status"]["allocation"]["devices"]["results"]
    return found


async def check(api: KubernetesApi) -> None:
    """No device is given twice; each claim that pods use is reserved for them, where its devices are."""
    pods = {each["metadata"]["uid"]: each for each in (await api.list(PODS)).items}
    seen: set[tuple[str, str, str]] = set()
    reserved: set[tuple[str, str]] = set()
    for each in await claims(api):
        status = each.get("status") or {}
        if not status.get("allocation"):
            assert not status.get("reservedFor")
            continue
        assert "resource.kubernetes.io/delete-protection" in each["metadata"]["finalizers"]
        for result in results(each):
            identity = (result["driver"], result["pool"], result["device"])
            assert identity not in seen
            seen.add(identity)
            for consumer in status.get("reservedFor") or ():
                reserved.add((each["metadata"]["name"], consumer["uid"]))
                if consumer["uid"] in pods:
                    assert pods[consumer["uid"]]["spec"].get("nodeName") in (None, result["pool"])
    for uid, each in pods.items():
        if each["spec"].get("nodeName"):
            made = each.get("status", {}).get("resourceClaimStatuses") or ()
            listed = [*(each["spec"].get("resourceClaims") or ()), *made]
            for name in filter(None, (one.get("resourceClaimName") for one in listed)):
                assert (name, uid) in reserved
