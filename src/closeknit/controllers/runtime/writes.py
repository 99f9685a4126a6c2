"""What a controller wants written, as data.

A write that changes nothing is not sent: what is there already is compared with it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from closeknit.hub.keys import Key


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply of all fields that the controller wants; fields that it no longer names go away."""

    body: Mapping[str, Any]
    keeps: tuple[tuple[str, ...], ...] = ()
    """Paths of fields that are the controller's at the creation only, such as replicas that are scaled."""

    @property
    def key(self) -> Key:
        """The object's key."""
        return key_of(self.body)


@dataclass(frozen=True, slots=True)
class Create:
    """An object that is never changed afterwards. One of its name that exists already is left alone."""

    body: Mapping[str, Any]

    @property
    def key(self) -> Key:
        """The object's key."""
        return key_of(self.body)


@dataclass(frozen=True, slots=True)
class Patch:
    """A merge patch: objects are merged, everything else is replaced, None removes."""

    key: Key
    body: Mapping[str, Any]
    subresource: str = ""
    uid: str = ""
    """Only an object with this uid is patched; another is looked at first."""
    resource_version: str = ""
    """Only this version is patched, as is due where a list is replaced that others write too."""


@dataclass(frozen=True, slots=True)
class SetStatus:
    """These fields of a status, each as a whole; None for a field that should not be there.

    It is written to the version that was decided about. Not for pods, which others write too: patch those.
    """

    key: Key
    fields: Mapping[str, Any]
    can_wait: bool = False
    """Whether it only counts what there is. It is then written when other writes of its decision were seen,
    which it counts as well; it is put off once at most, and not where one of them failed."""


@dataclass(frozen=True, slots=True)
class Delete:
    """An object that should go; one that is going already is not asked again."""

    key: Key
    uid: str = ""
    """Only an object with this uid is deleted."""
    foreground: bool = False
    """Whether what it owns goes first."""
    grace: int | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    """A pod that should go unless a disruption budget forbids it now; it is asked again later."""

    key: Key
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Tell:
    """An event about an object. Told once for as long as decisions repeat it."""

    key: Key
    reason: str
    message: str
    warning: bool = False
    action: str = "Reconcile"


Write: TypeAlias = Apply | Create | Patch | SetStatus | Delete | Evict | Tell


@dataclass(frozen=True, slots=True)
class Decision:
    """What should be written now, and when to look again even if nothing changes.

    Neighbours of one type are sent together; a write of another type waits for those before it, and is not
    sent where one of them failed. A status is: it tells what was observed.
    """

    writes: tuple[Write, ...] = ()
    again_at: datetime | None = None


NOTHING = Decision()


def key_of(body: Mapping[str, Any]) -> Key:
    """The key of an object that is plain data."""
    group, _, _ = str(body["apiVersion"]).rpartition("/")
    metadata = body["metadata"]
    return Key(group, body["kind"], metadata.get("namespace", ""), metadata["name"])
