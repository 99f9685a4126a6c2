"""Expected problems that tests of every family share: fields of a wrong type, unknown fields, unknown names."""

from __future__ import annotations

from typing import Any

import msgspec

from closeknit.apis.wire import Quantity, Wire
from closeknit.dialects.wire.decoding import found as described
from closeknit.hub.problems import Meant, OneOf
from closeknit.hub.sentences import core, wire
from tests.kit.problems import Finding, finding

__all__ = ["described", "fields_of", "not_found", "unknown_field", "wrong_type"]

_EXPECTED: dict[Any, str] = {
    dict: "a mapping",
    list: "a list",
    str: "a string",
    int: "a whole number",
    Quantity: "a quantity, such as 8, 500m or 1.5Gi,",
}


def wrong_type(where: str, value: object, expected: object, *, remedy: str = "") -> Finding:
    """A field holds this value where a value of another type is expected."""
    return finding(
        wire.WRONG_TYPE, where, found=described(value), expected=_EXPECTED[expected], remedy=remedy
    )


def unknown_field(where: str, *known: str) -> Finding:
    """The last field of the path is none of the known ones, which are listed in alphabetical order."""
    field = where.rpartition(".")[2].rpartition(":")[2]
    return finding(wire.UNKNOWN_FIELD, where, field=field, remedy=Meant(field, known))


def fields_of(shape: type[Wire]) -> list[str]:
    """The names of all fields of a wire type, for types with too many to list in a test."""
    return sorted({field.encode_name for field in msgspec.structs.fields(shape)} | shape.unused)


def not_found(where: str, kind: str, name: str, *allowed: str) -> Finding:
    """A field names an object that does not exist; these do."""
    return finding(core.NOT_FOUND, where, kind=kind, name=name, remedy=OneOf.among(name, allowed))
