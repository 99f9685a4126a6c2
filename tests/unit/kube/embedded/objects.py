"""Short ways to write objects for the embedded cluster."""

from __future__ import annotations

from typing import Any

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    Selection,
)
from closeknit.kube.resources import (
    Resource,
)

DEFAULT = Selection(namespace="default")


def config_map(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def pod(name: str, *, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"containers": [{"name": "main", "image": "busybox"}], **(spec or {})},
    }


def owned_by(owner: dict[str, Any], *, block: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
    ]


async def names(cluster: EmbeddedCluster, resource: Resource, **selection: str) -> list[str]:
    page = await cluster.list(resource, Selection(**{"namespace": "default", **selection}))
    return [item["metadata"]["name"] for item in page.items]
