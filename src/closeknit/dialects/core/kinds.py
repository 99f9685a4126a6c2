"""The kinds that all families need and none owns, their neighbours, and what servers add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from closeknit.apis import core_v1, scheduling_k8s_io_v1
from closeknit.dialects.wire.kinds import Kind

KINDS = (
    Kind("", "Node", ("v1",), core_v1.Node, namespaced=False),
    Kind("", "Pod", ("v1",), core_v1.Pod),
    Kind("scheduling.k8s.io", "PriorityClass", ("v1",), scheduling_k8s_io_v1.PriorityClass, namespaced=False),
)

PASSED_OVER = {
    "": frozenset(
        {
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        }
    ),
    "scheduling.k8s.io": frozenset({"CompositePodGroup", "PodGroup", "Workload"}),
}
"""Known kinds of the same API groups that nobody here reads."""


_BY_SERVERS = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"})


def without_server_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what API servers add."""
    return {key: value for key, value in metadata.items() if key not in _BY_SERVERS}


def owner_references(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    """The field ``ownerReferences`` with one controller, which cannot be named without a uid."""
    if not uid:
        return {}
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {"ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}
