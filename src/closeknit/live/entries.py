"""Objects as an API server hands them out, as entries of a store.

Who schedules wants what an object asks for; who writes objects wants them whole.

Fields that nobody here knows are passed over: the server has accepted them. An object that has the wrong
shape all the same becomes an ``Unreadable`` entry, and never keeps others from being read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.apis.wire import Wire
from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.dialects.store.store import Entry
from closeknit.dialects.wire.decoding import decode
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.failures import ObjectFailure
from closeknit.hub.keys import Key
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import ObjectName

_NOISE = frozenset({"generation", "managedFields", "resourceVersion", "selfLink"})
"""Metadata that changes with every write and means nothing here."""

_encode = msgspec.json.Encoder(enc_hook=dict).encode
_NULL = b"null"


def entry_of(kind: Kind, api_version: str, obj: Any) -> Entry:
    """An object of a kind: a value of its wire type, or plain data."""
    if isinstance(obj, Wire):
        content: Any = obj
        metadata = content.metadata
        return Stored(*_identity(kind, api_version, metadata.namespace, metadata.name), content)
    plain = {field: value for field, value in obj.items() if field not in kind.shape.unused}
    plain["metadata"] = {field: value for field, value in obj["metadata"].items() if field not in _NOISE}
    if OUTCOME in (annotations := obj["metadata"].get("annotations") or {}):
        # What we tell about an object ourselves changes nothing: it is as if it had never been told.
        others = {key: text for key, text in annotations.items() if key != OUTCOME}
        plain["metadata"]["annotations"] = others or None
    plain = _without_nulls(plain)
    metadata = plain["metadata"]
    key, name = _identity(kind, api_version, metadata.get("namespace", ""), metadata["name"])
    content, problems = decode(kind.shape, plain, lenient=True)
    if content is None:
        return Unreadable(key, name, kind.shape, problems)
    return Stored(key, name, content, problems, plain if kind.verbatim else {})


def whole_entry_of(kind: Kind, api_version: str, obj: Any) -> Entry:
    """An object of a kind with all that the server says of it, in ``written``; pods and nodes without."""
    if isinstance(obj, Wire):
        return entry_of(kind, api_version, obj)
    metadata = obj["metadata"]
    if "managedFields" in metadata:
        metadata = {field: value for field, value in metadata.items() if field != "managedFields"}
    plain = _without_nulls({**obj, "metadata": metadata})
    key, name = _identity(kind, api_version, metadata.get("namespace", ""), metadata["name"])
    content, problems = decode(kind.shape, plain, lenient=True)
    if content is None:
        return Unreadable(key, name, kind.shape, problems)
    return Stored(key, name, content, problems, plain, live=True)


def safely(
    read: Callable[[Kind, str, Any], Entry], kind: Kind, api_version: str, key: Key, obj: Any
) -> Entry:
    """The entry of an object; one that cannot be worked with is unreadable, and others are read."""
    try:
        return read(kind, api_version, obj)
    except Exception as error:  # noqa: BLE001 (one object must not keep the others from being read)
        said = f"{type(error).__name__}: {error}"
        wrong = sentences.NOT_UNDERSTOOD.at((), kind=kind.kind, error=said)
        return Unreadable(
            key, ObjectName(api_version, kind.kind, key.namespace, key.name), kind.shape, (wrong,)
        )


def unreadable(kind: Kind, api_version: str, key: Key, failure: ObjectFailure) -> Unreadable:
    """The entry of an object that cannot be worked with."""
    problem = sentences.NOT_UNDERSTOOD.at((), kind=kind.kind, error=failure.error)
    return Unreadable(
        key, ObjectName(api_version, kind.kind, key.namespace, key.name), kind.shape, (problem,)
    )


def key_of(kind: Kind, namespace: str, name: str) -> Key:
    """The key of an object of a kind."""
    return Key(kind.group, kind.kind, namespace if kind.namespaced else "", name)


def _identity(kind: Kind, api_version: str, namespace: str, name: str) -> tuple[Key, ObjectName]:
    key = key_of(kind, namespace, name)
    return key, ObjectName(api_version, kind.kind, key.namespace, name)


def _without_nulls(value: Any) -> Any:
    """The same with nothing where Kubernetes writes null, which means the same."""
    # Nulls are rare, and to look for the word takes a tenth of the time that a copy does.
    return _walked(value) if _NULL in _encode(value) else value


def _walked(value: Any) -> Any:
    if isinstance(value, Mapping):
        # Most values are scalars, and a call for each would take most of the time.
        return {
            field: inner if isinstance(inner, (str, int)) else _walked(inner)
            for field, inner in value.items()
            if inner is not None
        }
    if isinstance(value, list):
        return [_walked(inner) for inner in value]
    return value
