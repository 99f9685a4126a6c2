"""Short ways to write Kueue's Workloads in tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from closeknit.apis import kueue_keys as keys
from tests.unit.dialects.kueue.kit import HOST, K, node, template

NODES = (node("n1", "b", "r1"), node("n2", "b", "r1"), node("n3", "b", "r2"))
"""Two hosts of a rack, and one of another."""


def pod_set(count: int = 4, name: str = "main", gpus: int = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "count": count, "template": template(gpus), **fields}


def workload(
    *sets: dict[str, Any],
    name: str = "waits",
    owner: tuple[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    version: str = "v1beta2",
    replaces: str = "",
    **spec: Any,
) -> str:
    metadata: dict[str, Any] = {"name": name}
    if replaces:
        metadata["annotations"] = {keys.REPLACES: replaces}
    if owner is not None:
        kind, whose = owner
        group = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Pod": "v1"}[kind]
        reference = {"apiVersion": group, "kind": kind, "name": whose, "uid": "u"}
        metadata["ownerReferences"] = [{**reference, "controller": kind != "Pod"}]
    return json.dumps(
        {
            "apiVersion": f"{K}{version}",
            "kind": "Workload",
            "metadata": metadata,
            "spec": {"podSets": list(sets) or [pod_set()], "queueName": "team", **spec},
            "status": dict(status or {}),
        }
    )


def hosts(counts: Mapping[str, int]) -> dict[str, Any]:
    """An assignment to hosts in today's form."""
    piece = {
        "domainCount": len(counts),
        "valuesPerLevel": [{"individual": {"roots": list(counts)}}],
        "podCounts": {"individual": list(counts.values())},
    }
    return {"levels": [HOST], "slices": [piece]}


def admission(assignment: Mapping[str, Any] | None, count: int = 4, name: str = "main") -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "count": count, "flavors": {"nvidia.com/gpu": "tas"}}
    if assignment is not None:
        made["topologyAssignment"] = assignment
    return {"admission": {"clusterQueue": "research", "podSetAssignments": [made]}}
