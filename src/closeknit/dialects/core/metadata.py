"""The metadata of objects that are written: who owns them, and nothing that only a server may say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
