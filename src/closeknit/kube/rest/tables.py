"""Tables: objects as the server would have them printed, with the columns of their kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from closeknit.kube.errors import InternalServerError, Status, error_of
from closeknit.kube.port import ChangeType

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
"""A server that knows no tables answers with the objects themselves."""


class Column(msgspec.Struct, frozen=True):
    """One column."""

    name: str
    type: str = "string"
    priority: int = 0
    """Above 0 for columns that only a wide table shows."""


class Row(msgspec.Struct, frozen=True):
    """One object: a cell for each column."""

    cells: list[Any]
    object: dict[str, Any] = {}
    """At least its metadata."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Name, namespace, labels and so on."""
        found = self.object.get("metadata")
        return found if isinstance(found, dict) else {}


class _Metadata(msgspec.Struct, frozen=True):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    token: str = msgspec.field(name="continue", default="")


class _Table(msgspec.Struct, frozen=True):
    kind: str = ""
    metadata: _Metadata = _Metadata()
    columns: list[Column] = msgspec.field(name="columnDefinitions", default=[])
    rows: list[Row] | None = None


class Table(msgspec.Struct, frozen=True):
    """Some or all objects of a list."""

    columns: list[Column]
    """Empty in a watch after its first event."""
    rows: list[Row]
    resource_version: str = ""
    """Where a watch goes on from."""
    token: str = ""
    """What to pass for the next page; empty on the last one."""


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


def read(answer: bytes | msgspec.Raw) -> Table:
    """The table that a server answered with, or one made from the objects that it answered with."""
    try:
        found = msgspec.json.decode(answer, type=_Table)
        if found.kind == "Table":
            rows = found.rows or []
            return Table(found.columns, rows, found.metadata.resource_version, found.metadata.token)
        document = msgspec.json.decode(answer, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InternalServerError(f"The server answered with something that is no table: {error}") from error
    items = document.get("items")
    objects = items if isinstance(items, list) else [document]
    columns = [Column("Name"), Column("Created At")]
    return Table(columns, list(_plain(objects)), found.metadata.resource_version, found.metadata.token)


def _plain(objects: Iterable[Any]) -> Iterable[Row]:
    for each in objects:
        metadata = each.get("metadata") if isinstance(each, dict) else None
        if isinstance(metadata, dict):
            yield Row([metadata.get("name", ""), metadata.get("creationTimestamp", "")], each)


def read_event(line: bytes) -> tuple[ChangeType | None, Table]:
    """What happened, and the table of the object that it happened to; None for a bookmark."""
    try:
        event = msgspec.json.decode(line, type=_Event)
    except msgspec.DecodeError as error:
        raise InternalServerError(f"The watch sent something that is no event: {error}") from error
    if event.type == "ERROR":
        raise error_of(Status.read(msgspec.json.decode(event.object), code=500))
    if event.type == "BOOKMARK":
        return None, read(event.object)
    if event.type not in ChangeType.__members__:
        raise InternalServerError(f"The watch sent something that is no event: {event.type[:80]!r}")
    return ChangeType(event.type), read(event.object)
