"""meta/v1: what every object carries."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.wire import OpenWire, Wire, words


class OwnerReference(Wire, frozen=True, kw_only=True):
    """Who made an object, and would take it away."""

    unused: ClassVar = frozenset({"blockOwnerDeletion"})

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """Names, labels and the like."""

    unused: ClassVar = words("""
        deletionGracePeriodSeconds finalizers generateName generation managedFields resourceVersion
        selfLink
    """)

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(OpenWire, frozen=True, kw_only=True):
    """How far an object has come, as its controller says."""

    type: str = ""
    status: str = ""


class KubernetesObject(Wire, frozen=True, kw_only=True):
    """A whole object: what it is, what it is called, and whatever its kind adds."""

    api_version: str
    kind: str
    metadata: ObjectMeta


class ObjectWithStatus(KubernetesObject, frozen=True, kw_only=True):
    """An object whose status is there for its own controller, and is not read here."""

    unused: ClassVar = frozenset({"status"})
