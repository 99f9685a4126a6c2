"""The shapes of the built-in kinds, read from ``shapes.txt`` into structural schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from closeknit.kube.embedded.schema import Schema, parse

_QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_PLAIN: Final[Mapping[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time", "x-micro": True},
    "bytes": {"type": "string", "format": "byte"},
    "quantity": {"x-kubernetes-int-or-string": True, "x-quantity": True, "pattern": _QUANTITY},
    "intstr": {"x-kubernetes-int-or-string": True},
    "object": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_LINE: Final = re.compile(r"  (\w+)(!?) ((?:\[\]|\{\})?)(\w+)(.*)")


@cache
def documents() -> dict[str, dict[str, Any]]:
    """Every shape by its name, as an OpenAPI schema. Shapes within shapes are the same objects."""
    shapes: dict[str, dict[str, Any]] = {}
    text = resources.files(__package__).joinpath("shapes.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for line in lines:
        if not line.startswith(" "):
            shapes[line] = {"type": "object", "properties": {}, "x-name": line, "x-numbers": {}}
    current: dict[str, Any] = {}
    for line in lines:
        if not line.startswith(" "):
            current = shapes[line]
            continue
        match = _LINE.fullmatch(line)
        assert match is not None, line
        name, needed, form, kind, rest = match.groups()
        attributes = rest.split()
        if attributes and attributes[-1].startswith("@"):
            current["x-numbers"][int(attributes.pop()[1:])] = name
        field = _field(form, shapes.get(kind) or _PLAIN[kind], attributes)
        if form and not needed:
            # As in Kubernetes' own types, a list or a map that is empty is not there.
            field["x-sparse"] = True
        current["properties"][name] = field
        if needed:
            current.setdefault("required", []).append(name)
    return shapes


def _field(form: str, inner: dict[str, Any], attributes: list[str]) -> dict[str, Any]:
    field: dict[str, Any]
    if form == "[]":
        field = {"type": "array", "items": inner, "x-kubernetes-list-type": "atomic"}
    elif form == "{}":
        field = {"type": "object", "additionalProperties": inner}
    elif attributes:
        field = dict(inner)
    else:
        return inner
    for attribute in attributes:
        _attribute(field, attribute)
    return field


def _attribute(field: dict[str, Any], attribute: str) -> None:
    word, given, value = attribute.partition("=")
    match word:
        case "":
            field["default"] = value if field.get("type") == "string" else json.loads(value)
        case "key":
            field["x-kubernetes-list-type"] = "map"
            field["x-kubernetes-list-map-keys"] = value.split(",")
            # Here a key tells items apart for those who write; being there once is a rule's to ask.
            field["x-repeatable"] = True
        case "set":
            field["x-kubernetes-list-type"] = "set"
            field["x-repeatable"] = True
        case "atomic":
            field["x-kubernetes-map-type"] = "atomic"
        case "enum":
            field["enum"] = value.split("|")
        case "min" | "max":
            field[f"{word}imum"] = int(value)
        case _:
            raise ValueError(f"shapes.txt: unknown attribute {word}{given}{value}")


@cache
def metadata_schema() -> Schema:
    """The schema of ``metadata``, the same for every kind."""
    return parse(documents()["ObjectMeta"])


@cache
def kind_document(shape: str) -> dict[str, Any]:
    """The schema of a whole object of a built-in kind."""
    body = documents()[shape]
    common = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": documents()["ObjectMeta"],
    }
    return {**body, "properties": {**common, **body["properties"]}}


@cache
def kind_schema(shape: str) -> Schema:
    """The schema of a whole object of a built-in kind, parsed."""
    return parse(kind_document(shape))
