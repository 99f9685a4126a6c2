"""The controllers of plain objects, for programs beside the API server; see `closeknit.hub.owners`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from closeknit.hub.owners import OwnerIdentity, possible_owners
from closeknit.kube.resources import Resource


def controllers_of(obj: Mapping[str, Any]) -> tuple[OwnerIdentity, ...]:
    """The identities that the controller of an object can have; none without a controller."""
    metadata = obj["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return possible_owners(
                str(owner.get("apiVersion", "")),
                str(owner.get("kind", "")),
                str(owner.get("uid", "")),
                str(metadata.get("namespace", "")),
            )
    return ()


def identity_of(resource: Resource, obj: Mapping[str, Any]) -> OwnerIdentity:
    """An object of a resource as its dependents name it."""
    metadata = obj["metadata"]
    return OwnerIdentity(
        resource.group, resource.kind, str(metadata.get("namespace", "")), str(metadata["uid"])
    )
