"""From a wire shape to the structural schema of a custom resource definition.

A schema says what the shape says: fields, their types, and which must be given. What the
shape leaves to the rules of its dialect, such as the pattern of a name, is laid over it from
a table of limits. Fields that are known and not used stay open, so that nothing that a
user wrote is lost; everything else that is unknown is refused or pruned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias, get_args, get_origin

import msgspec

from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.wire import Int32, Quantity, Wire

Schema: TypeAlias = dict[str, Any]
Limits: TypeAlias = Mapping[type[Wire], Mapping[str, Mapping[str, Any]]]
"""By shape and field (its name on the wire, empty for the whole), what is laid over the schema."""

OPEN = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"
_DECIMAL = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = rf"^(\+|-)?{_DECIMAL}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_DECIMAL}))?$"
"""What Kubernetes takes for a quantity where it is written as a string."""


def schema_of(shape: type[Wire], *limits: Limits) -> Schema:
    """The schema of a whole object: ``metadata`` is the server's to check, and its status is open.

    Limits are laid over it one after the other.
    """
    schema = _object(shape, limits)
    schema["properties"]["metadata"] = {"type": "object"}
    if "status" in schema["properties"]:
        schema["properties"]["status"] = {"type": "object", OPEN: True}
    return schema


def laid_over(schema: Mapping[str, Any], limits: Mapping[str, Any]) -> Schema:
    """The schema with limits added at any depth; a limit that is None takes a part away."""
    merged = dict(schema)
    for key, value in limits.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = laid_over(merged[key], value)
        else:
            merged[key] = value
    return merged


def _schema(kind: Any, limits: tuple[Limits, ...]) -> Schema:
    if isinstance(kind, type) and issubclass(kind, Wire):
        return _object(kind, limits)
    if kind in (Quantity, Quantity | None):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY, _EITHER: True}
    if kind == int | float:
        return {"type": "number"}
    if type(None) in get_args(kind):
        inner = tuple(inner for inner in get_args(kind) if inner is not type(None))
        return _schema(inner[0], limits) if len(inner) == 1 else {OPEN: True}
    match get_origin(kind):
        case origin if origin is Annotated:
            return _whole_number(kind)
        case origin if origin is list:
            return {"type": "array", "items": _schema(get_args(kind)[0], limits)}
        case origin if origin is dict:
            return _mapping(get_args(kind)[1], limits)
        case _:
            return {"type": _PLAIN[kind]} if kind in _PLAIN else {OPEN: True}


_PLAIN: Mapping[Any, str] = {str: "string", bool: "boolean"}


def _whole_number(kind: Any) -> Schema:
    _, meta = get_args(kind)
    _, widest = get_args(Int32)
    schema: Schema = {"type": "integer", "format": "int32" if meta.le <= widest.le else "int64"}
    if meta.ge > widest.ge:
        schema["minimum"] = meta.ge
    if meta.le < widest.le:
        schema["maximum"] = meta.le
    return schema


def _mapping(inner: Any, limits: tuple[Limits, ...]) -> Schema:
    if inner is object:
        return {"type": "object", OPEN: True}
    return {"type": "object", "additionalProperties": _schema(inner, limits)}


def _object(shape: type[Wire], limits: tuple[Limits, ...]) -> Schema:
    schema: Schema = {
        "description": " ".join((shape.__doc__ or "").split()),
        "type": "object",
        "properties": dict(sorted(_properties(shape, limits))),
    }
    required = sorted(field.encode_name for field in msgspec.structs.fields(shape) if field.required)
    # Every object says what it is; Kubernetes sees to that before any schema is asked.
    required = [name for name in required if name not in ("apiVersion", "kind", "metadata")]
    if required:
        schema["required"] = required
    if shape.open_ended or shape is ObjectMeta:
        schema[OPEN] = True
    return _limited(schema, shape, "", limits)


def _properties(shape: type[Wire], limits: tuple[Limits, ...]) -> Iterator[tuple[str, Schema]]:
    for field in msgspec.structs.fields(shape):
        name = field.encode_name
        yield name, _limited(_schema(field.type, limits), shape, name, limits)
    for name in shape.unused:
        yield name, _limited({OPEN: True}, shape, name, limits)


def _limited(schema: Schema, shape: type[Wire], name: str, limits: tuple[Limits, ...]) -> Schema:
    for each in limits:
        schema = laid_over(schema, each.get(shape, {}).get(name, {}))
    return schema
