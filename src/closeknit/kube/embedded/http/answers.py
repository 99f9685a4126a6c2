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
from closeknit.kube.errors import ApiError, NotAcceptableError

_encode: Final = msgspec.json.Encoder().encode
JSON: Final = "application/json"


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
    response = web.Response(body=body, status=status, content_type=JSON)
    for warning in warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        response.headers.add("Warning", f'299 - "{text}"')
    return response


def refusal(error: ApiError) -> web.Response:
    """A Status for what went wrong."""
    response = json_answer(error.status.wire(), status=error.status.code)
    if error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    if error.status.code == 401:
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
