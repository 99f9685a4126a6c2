"""The texts about claims to devices and volumes that changed while a pod was being bound."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.core.binding_volumes import VolumeBinding, claiming_volume, selecting_node
from closeknit.dialects.core.reserving import Reservation, reserving
from closeknit.dialects.core.volumes import SELECTED_NODE
from closeknit.hub.keys import Key

DEVICE = {"request": "main", "driver": "gpu.example.com", "pool": "a", "device": "1"}
PODS = [{"resource": "pods", "name": f"q{i}", "uid": str(i)} for i in range(256)]
DELETED = {"deletionTimestamp": "2025-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("metadata", "status", "text"),
    [
        pytest.param(DELETED, {}, "ResourceClaim one is being deleted.", id="being deleted"),
        pytest.param(
            {},
            {"allocation": {"devices": {"results": [DEVICE]}}},
            "ResourceClaim one has got other devices.",
            id="other devices",
        ),
        pytest.param({}, {}, "ResourceClaim one has lost its devices.", id="no devices"),
        pytest.param(
            {},
            {"allocation": {"devices": {"results": []}}, "reservedFor": PODS},
            "ResourceClaim one is reserved for 256 pods, the most allowed.",
            id="too many pods",
        ),
    ],
)
def test_resource_claim(metadata: dict[str, Any], status: dict[str, Any], text: str) -> None:
    claim = Key("resource.k8s.io", "ResourceClaim", "default", "one")
    wanted = Reservation(claim, "c", frozenset(), (("p", "u"),), None)

    assert reserving({"metadata": metadata, "status": status}, wanted) == text


BINDING = VolumeBinding(Key("", "PersistentVolumeClaim", "default", "one"), "u", "a", (), "disk")


@pytest.mark.parametrize(
    ("metadata", "claim_ref", "text"),
    [
        pytest.param(DELETED, {}, "PersistentVolume disk is being deleted.", id="being deleted"),
        pytest.param({}, {"name": "two"}, "PersistentVolume disk was claimed by another.", id="claimed"),
    ],
)
def test_persistent_volume(metadata: dict[str, Any], claim_ref: dict[str, Any], text: str) -> None:
    assert claiming_volume({"metadata": metadata, "spec": {"claimRef": claim_ref}}, BINDING) == text


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        pytest.param(DELETED, "PersistentVolumeClaim one is being deleted.", id="being deleted"),
        pytest.param(
            {"annotations": {SELECTED_NODE: "b"}},
            "A volume is being made for PersistentVolumeClaim one on node b.",
            id="another node",
        ),
    ],
)
def test_persistent_volume_claim(metadata: dict[str, Any], text: str) -> None:
    assert selecting_node({"metadata": metadata}, BINDING) == text
