"""Answers: objects, lists, tables and refusals as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from aiohttp import web

from closeknit.kube.embedded.http import tables
from closeknit.kube.embedded.kinds import Kind
from closeknit.kube.embedded.listing import Found
from closeknit.kube.embedded.store import Record
from closeknit.kube.errors import REASONS, ApiError, NotAcceptableError, Status

_encode: Final = msgspec.json.Encoder().encode
_LONGEST_WARNING: Final = 256
_MOST_OF_WARNINGS: Final = 4096
"""How many characters of one warning, and of all, are sent, as by kube-apiserver: clients limit headers."""
JSON: Final = "application/json"
HEADERS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff"}
"""Sent with every answer, as kube-apiserver does: objects may be secrets, and are never to be guessed at."""


@dataclass(frozen=True, slots=True)
class Form:
    """In which form a client wants objects."""

    shape: str = ""
    """``Table``, ``PartialObjectMetadata``, ``PartialObjectMetadataList``, or empty for whole objects."""
    include: str = "Metadata"
    """What of an object goes into the row of a table."""


def form_of(accept: str, include: str) -> Form:
    """The first form in an Accept header that can be served."""
    for wish in (accept or JSON).split(","):
        media, *parameters = (part.strip() for part in wish.split(";"))
        if media not in (JSON, "application/*", "*/*"):
            continue
        given = dict(part.split("=", 1) for part in parameters if "=" in part)
        shape = given.get("as", "")
        if not shape:
            return Form()
        if given.get("g") == "meta.k8s.io" and shape in (
            "Table",
            "PartialObjectMetadata",
            "PartialObjectMetadataList",
        ):
            return Form(shape, include or "Metadata")
    raise NotAcceptableError("only the following media types are accepted: application/json")


def json_answer(value: Any, *, status: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """Anything as JSON."""
    return bytes_answer(_encode(value), status=status, warnings=warnings)


def bytes_answer(body: bytes, *, status: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """JSON that is encoded already."""
    response = web.Response(body=body, status=status, content_type=JSON, headers=HEADERS)
    left = _MOST_OF_WARNINGS
    for warning in warnings:
        text = "".join(letter if letter.isprintable() else " " for letter in warning[:_LONGEST_WARNING])
        left -= len(text)
        if left < 0:
            break
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"')
    return response


def refusal(error: ApiError) -> web.Response:
    """A Status for what went wrong."""
    return _refusal(error.status)


def unanswered(code: int, detail: str) -> web.Response:
    """A Status for what no handler saw to its end."""
    return _refusal(Status(code=code, reason=REASONS.get(code, "InternalError"), message=detail))


def _refusal(status: Status) -> web.Response:
    response = json_answer(status.wire(), status=status.code)
    if status.retry_after:
        response.headers["Retry-After"] = str(status.retry_after)
    if status.code == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def object_bytes(kind: Kind, version: str, record: Record) -> bytes:
    """A record as a client of a version sees it."""
    return record.raw if version == kind.storage else _encode(kind.read_as(record.obj, version))


def one(kind: Kind, version: str, record: Record, form: Form, now: datetime) -> bytes:
    """A record in the form that was asked for."""
    if form.shape == "Table":
        metadata = {"resourceVersion": record.obj["metadata"].get("resourceVersion", "")}
        return _encode(
            tables.table(kind, version, [record], now=now, include=form.include, metadata=metadata)
        )
    if form.shape:
        return _encode(tables.partial(record.obj))
    return object_bytes(kind, version, record)


def many(kind: Kind, version: str, found: Found, form: Form, now: datetime) -> bytes:
    """A page of records in the form that was asked for."""
    metadata: dict[str, Any] = {"resourceVersion": str(found.version)}
    if found.token:
        metadata["continue"] = found.token
        metadata["remainingItemCount"] = found.remaining
    if form.shape == "Table":
        return _encode(
            tables.table(kind, version, found.records, now=now, include=form.include, metadata=metadata)
        )
    resource = kind.resources[version]
    if form.shape:
        return _listed(
            "PartialObjectMetadataList",
            "meta.k8s.io/v1",
            metadata,
            [_encode(tables.partial(record.obj)) for record in found.records],
        )
    items = [object_bytes(kind, version, record) for record in found.records]
    return _listed(f"{resource.kind}List", resource.api_version, metadata, items)


def _listed(kind: str, api_version: str, metadata: Any, items: Sequence[bytes]) -> bytes:
    head = _encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return b"".join((head[:-1], b',"items":[', b",".join(items), b"]}"))
