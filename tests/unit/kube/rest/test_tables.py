"""Tables, as servers send them and as they are made where a server knows none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from closeknit.kube.errors import GoneError, InternalServerError
from closeknit.kube.port import ChangeType
from closeknit.kube.rest.tables import Column, read, read_event

TABLE: dict[str, Any] = {
    "kind": "Table",
    "apiVersion": "meta.k8s.io/v1",
    "metadata": {"resourceVersion": "7", "continue": "next", "remainingItemCount": 3},
    "columnDefinitions": [
        {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
        {"name": "IP", "type": "string", "format": "", "description": "", "priority": 1},
    ],
    "rows": [{"cells": ["a", None], "object": {"metadata": {"name": "a", "namespace": "n"}}}],
}


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


def test_a_table_has_columns_rows_and_where_to_go_on() -> None:
    table = read(encoded(TABLE))

    assert table.columns == [Column("Name"), Column("IP", priority=1)]
    assert [(row.cells, row.metadata["namespace"]) for row in table.rows] == [(["a", None], "n")]
    assert (table.resource_version, table.token) == ("7", "next")


def test_an_empty_table_may_have_no_rows_at_all() -> None:
    assert read(encoded({**TABLE, "rows": None})).rows == []


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            {"kind": "ThingList", "metadata": {}, "items": [{"metadata": {"name": "a"}}]}, id="a list"
        ),
        pytest.param({"kind": "Thing", "metadata": {"name": "a"}}, id="one object"),
    ],
)
def test_objects_of_a_server_that_knows_no_tables_are_shown_by_name(document: Any) -> None:
    table = read(encoded(document))

    assert [column.name for column in table.columns] == ["Name", "Created At"]
    assert [row.cells for row in table.rows] == [["a", ""]]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InternalServerError) as refused:
        read(b"<html>")

    assert isinstance(refused.value.__cause__, msgspec.DecodeError)


@pytest.mark.parametrize(
    ("word", "change"), [("ADDED", ChangeType.ADDED), ("DELETED", ChangeType.DELETED), ("BOOKMARK", None)]
)
def test_an_event_says_what_happened(word: str, change: ChangeType | None) -> None:
    found, table = read_event(encoded({"type": word, "object": TABLE}))

    assert (found, table.resource_version) == (change, "7")


def test_an_error_ends_a_watch() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}

    with pytest.raises(GoneError, match="too old"):
        read_event(encoded({"type": "ERROR", "object": status}))


@pytest.mark.parametrize(
    ("line", "cause"),
    [(b"{", msgspec.DecodeError), (b'{"type": "SOMETHING", "object": {}}', type(None))],
    ids=["{", '{"type": "SOMETHING", "object": {}}'],
)
def test_what_is_no_event_is_refused(line: bytes, cause: type[Exception | None]) -> None:
    with pytest.raises(InternalServerError) as refused:
        read_event(line)

    assert isinstance(refused.value.__cause__, cause)
