"""Kubernetes' protobuf, as far as it must be read: kubectl sends new objects of built-in kinds in it.

Answers are JSON, which every such client takes as well.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from closeknit.kube.embedded.shapes import documents
from closeknit.kube.errors import BadRequestError, UnsupportedMediaTypeError

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_ALWAYS_WRITTEN: Final = frozenset(
    {
        *("generation", "globalDefault", "hostIPC", "hostNetwork", "hostPID", "hostPort"),
        *("readOnly", "ready", "restartCount", "stdin", "stdinOnce", "tty", "unschedulable"),
    }
)
"""Fields that a sender writes even where nobody set them: false and 0 say nothing there."""


def decode(body: bytes) -> dict[str, Any]:
    """An object from its envelope, which says what kind it is."""
    if not body.startswith(_MAGIC):
        raise BadRequestError(
            "The body is no protobuf of Kubernetes: it does not begin with 'k8s' and a zero byte."
        )
    try:
        envelope = dict(_fields(body[len(_MAGIC) :]))
        identity = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
        raw = _bytes(envelope.get(2, b""))
        api_version, kind = identity.get(1, ""), identity.get(2, "")
        shape = "NewEvent" if (api_version, kind) == ("events.k8s.io/v1", "Event") else kind
        document = documents().get(shape)
        if document is None:
            raise UnsupportedMediaTypeError(f"{kind or 'This kind'} cannot be read from protobuf. Send JSON.")
        numbers = {1: "metadata", **document["x-numbers"]}
        if "gracePeriodSeconds" in document["properties"]:
            numbers = document["x-numbers"]
        properties = {"metadata": documents()["ObjectMeta"], **document["properties"]}
        whole = {**document, "properties": properties, "x-numbers": numbers}
        return {"apiVersion": api_version, "kind": kind, **_message(whole, raw, kind)}
    except (IndexError, ValueError, OverflowError, OSError, RecursionError) as problem:
        # A time that the platform cannot tell is an OSError.
        raise BadRequestError(f"The protobuf in the body is damaged: {problem}.") from None


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values, as they come."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        match tag & 7:
            case 0:
                value, at = _varint(raw, at)
                yield tag >> 3, value
            case 2:
                size, at = _varint(raw, at)
                if at + size > len(raw):
                    raise ValueError("a field is longer than its message")
                yield tag >> 3, raw[at : at + size]
                at += size
            case 1 | 5 as form:
                at += 8 if form == 1 else 4
            case form:
                raise ValueError(f"a field has the unknown form {form}")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


def _message(document: Mapping[str, Any], raw: bytes, path: str) -> dict[str, Any]:
    """A message by its shape. What is not set is left out, as JSON leaves it out."""
    found: dict[str, Any] = {}
    numbers, properties = document["x-numbers"], document["properties"]
    for number, value in _fields(raw):
        name = numbers.get(number)
        if name is None:
            raise UnsupportedMediaTypeError(
                f"{path} has a field (number {number}) that cannot be read from protobuf. Send JSON."
            )
        part = properties[name]
        where = f"{path}.{name}"
        if name == "managedFields":
            continue
        if part.get("type") == "array":
            found.setdefault(name, []).append(_value(part["items"], value, where))
        elif "additionalProperties" in part:
            entry = dict(_fields(_bytes(value)))
            key = _text(entry.get(1, b""))
            found.setdefault(name, {})[key] = _value(part["additionalProperties"], entry.get(2, b""), where)
        else:
            item = _value(part, value, where)
            if item in ("", None) or (not item and name in _ALWAYS_WRITTEN):
                continue
            found[name] = item
    return found


def _value(part: Mapping[str, Any], value: int | bytes, path: str) -> Any:
    if "x-numbers" in part:
        return _message(part, _bytes(value), path)
    if part.get("x-quantity"):
        return _text(dict(_fields(_bytes(value))).get(1, b""))
    if part.get("x-kubernetes-int-or-string"):
        either = dict(_fields(_bytes(value)))
        return _text(either.get(3, b"")) if either.get(1) else _signed(either.get(2, 0))
    if part.get("format") == "date-time":
        return _moment(_bytes(value), micro=bool(part.get("x-micro")))
    if part.get("format") == "byte":
        return base64.b64encode(_bytes(value)).decode()
    match part.get("type"):
        case "string":
            return _text(value)
        case "boolean":
            return bool(value)
        case "integer":
            return _signed(value)
        case _:
            raise UnsupportedMediaTypeError(f"{path} cannot be read from protobuf. Send JSON.")


def _moment(raw: bytes, *, micro: bool) -> str | None:
    parts = dict(_fields(raw))
    if not parts:
        return None
    moment = datetime.fromtimestamp(_signed(parts.get(1, 0)), UTC)
    if micro:
        moment = moment.replace(microsecond=_signed(parts.get(2, 0)) // 1000)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _signed(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("a number was expected")
    return value - 2**64 if value >= 2**63 else value


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a message or a text was expected")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode("utf-8")
