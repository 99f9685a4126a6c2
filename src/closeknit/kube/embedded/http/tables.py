"""Tables, which ``kubectl get`` prints: columns of each kind, and one row an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from closeknit.kube.embedded.http.columns import AGE, BUILTIN, NAME
from closeknit.kube.embedded.http.spans import since
from closeknit.kube.embedded.kinds import Column, Kind
from closeknit.kube.embedded.store import Record


def table(
    kind: Kind,
    version: str,
    records: Iterable[Record],
    *,
    now: datetime,
    include: str = "Metadata",
    headers: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Records as a Table."""
    columns = columns_of(kind, version)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": dict(metadata or {}),
        "columnDefinitions": [_definition(column) for column in columns] if headers else [],
        "rows": [
            {
                "cells": [_cell(column, record.obj, now) for column in columns],
                **_included(kind, version, record.obj, include),
            }
            for record in records
        ],
    }


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": "string" if column.type == "date" else column.type,
        "format": "name" if column.name == "Name" else column.format,
        "description": column.description or f"{column.name} of the object.",
        "priority": column.priority,
    }


def _included(kind: Kind, version: str, obj: dict[str, Any], include: str) -> dict[str, Any]:
    if include == "Metadata":
        return {"object": partial(obj)}
    return {"object": kind.read_as(obj, version)} if include == "Object" else {}


def partial(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _cell(column: Column, obj: Mapping[str, Any], now: datetime) -> Any:
    value = column.read(obj)
    if column.type == "date":
        return since(value, now)
    if value is None:
        return "" if column.type == "string" else None
    if column.type == "string" and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value


def columns_of(kind: Kind, version: str) -> tuple[Column, ...]:
    """The columns of a kind, its name first."""
    if kind.key in BUILTIN:
        return BUILTIN[kind.key]
    return (NAME, *(kind.columns.get(version) or (AGE,)))
