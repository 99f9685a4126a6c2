"""Whether a write would change anything, as far as the objects that were read tell."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from closeknit.apis.closeknit_keys import APPLIED
from closeknit.controllers.runtime.writes import Apply, Create, Delete, Evict, Patch, SetStatus, Write
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Entry
from closeknit.hub.problems import InvalidError
from closeknit.hub.quantities import parse

_EMPTY: tuple[Any, ...] = (None, "", 0, False, [], {}, ())
"""What servers leave out where it is the default."""
_SORTED = msgspec.json.Encoder(order="sorted", enc_hook=dict)
"""Writes equal bodies as equal bytes."""


def is_needed(write: Write, entry: Entry | None) -> bool:
    """Whether a write should be sent, given the object that it is about as it was last read."""
    going = entry is not None and is_going(entry)
    match write:
        case Apply():
            if not isinstance(entry, Stored) or not entry.written:
                return True
            # What is going away is made anew when it has gone.
            return not going and not is_applied(write, entry)
        case Create():
            return entry is None
        case Patch(body=body, resource_version=version):
            if not isinstance(entry, Stored) or not entry.written:
                return True
            # What was made from one version says all that a list should hold, and so what should leave it.
            return changes(entry.written, body) if version else not covers(entry.written, body)
        case SetStatus(fields=fields):
            if not isinstance(entry, Stored):
                return False
            status = entry.written.get("status") or {}
            return any(status.get(name) != value for name, value in fields.items())
        case Delete(uid=uid) | Evict(uid=uid):
            return entry is not None and not going and (not uid or uid_of(entry) in ("", uid))
        case _:
            return True


def is_applied(write: Apply, entry: Stored[Any]) -> bool:
    """Whether an object is as it was last wanted, and wanted so still."""
    applied = entry.content.metadata.annotations.get(APPLIED)
    body = without(write.body, write.keeps)
    return bool(applied == digest(body)) and covers(entry.written, body)


def without(body: Mapping[str, Any], paths: Iterable[tuple[str, ...]]) -> Mapping[str, Any]:
    """The object without the fields at some paths."""
    for path in paths:
        first, *rest = path
        if first in body:
            inner = {**body}
            value = inner.pop(first)
            body = {**inner, first: without(value, [tuple(rest)])} if rest else inner
    return body


def is_going(entry: Entry) -> bool:
    """Whether an object was deleted and waits for its finalizers or its grace period."""
    return isinstance(entry, Stored) and bool(entry.content.metadata.deletion_timestamp)


def uid_of(entry: Entry) -> str:
    """The uid of an object; empty where it could not be read."""
    return str(entry.content.metadata.uid) if isinstance(entry, Stored) else ""


def digest(body: Mapping[str, Any]) -> str:
    """A short text that differs where two bodies do."""
    return hashlib.sha256(_SORTED.encode(body)).hexdigest()[:16]


def covers(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; a server may add to it, and writes quantities its own way."""
    if found == wanted:
        return True
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return False
        return all(
            covers(found[name], value) if name in found else value in _EMPTY for name, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple) and len(found) == len(wanted) and all(map(covers, found, wanted))
        )
    return _same_quantity(found, wanted)


def changes(found: Mapping[str, Any], patch: Mapping[str, Any]) -> bool:
    """Whether a merge patch makes an object another."""
    return any(
        changes(before, value)
        if isinstance(value, Mapping) and isinstance(before := found.get(name), Mapping)
        else found.get(name) != value
        for name, value in patch.items()
    )


def _same_quantity(found: Any, wanted: Any) -> bool:
    if isinstance(found, bool) or isinstance(wanted, bool):
        return False
    if not isinstance(found, str | int | float) or not isinstance(wanted, str | int | float):
        return False
    try:
        return parse(found) == parse(wanted)
    except InvalidError:
        return False
