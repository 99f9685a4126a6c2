"""Structural schemas: what an object of a kind may look like, parsed once, walked fast.

One mechanism serves the built-in kinds and custom resources: unknown fields
are found and dropped, defaults filled in, values checked, and lists known by
their keys, for server-side apply and for strategic merge patches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

MISSING: Final = object()
_encode: Final = msgspec.json.Encoder().encode
canonical_json: Final = msgspec.json.Encoder(order="deterministic").encode
"""A value as JSON that is the same for equal values: by it, items of lists are found without a search."""
_TYPES: Final[Mapping[str, type]] = {"string": str, "boolean": bool, "integer": int}
_LIMITS: Final = frozenset(
    {
        *("pattern", "minLength", "maxLength", "format", "minimum", "maximum", "multipleOf"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
        *("allOf", "anyOf", "oneOf", "not"),
    }
)


class Schema:
    """One node of a schema. Nodes are shared and never change."""

    __slots__ = (
        "additional",
        "default",
        "default_size",
        "defaulted",
        "document",
        "embedded",
        "enum",
        "has_defaults",
        "has_quantities",
        "int_or_string",
        "items",
        "limited",
        "list_keys",
        "list_type",
        "map_type",
        "nullable",
        "plain",
        "preserve",
        "properties",
        "required",
        "simple",
        "sparse",
        "type",
        "unique",
    )

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.type: str = document.get("type") or ""
        self.int_or_string: bool = bool(document.get("x-kubernetes-int-or-string"))
        self.preserve: bool = bool(document.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded: bool = bool(document.get("x-kubernetes-embedded-resource"))
        self.nullable: bool = bool(document.get("nullable"))
        self.required: tuple[str, ...] = tuple(document.get("required") or ())
        self.enum: list[Any] | None = document.get("enum")
        self.default: Any = document.get("default", MISSING)
        self.default_size = 0 if self.default is MISSING else len(_encode(self.default))
        """The bytes of the default as JSON, without the defaults within it."""
        self.list_type: str = document.get("x-kubernetes-list-type") or "atomic"
        self.unique: bool = self.list_type != "atomic" and not document.get("x-repeatable")
        """Whether a list refuses an item whose key is there already."""
        self.list_keys: tuple[str, ...] = tuple(document.get("x-kubernetes-list-map-keys") or ())
        self.sparse: bool = bool(document.get("x-sparse"))
        """Whether it goes where it is empty."""
        self.map_type: str = document.get("x-kubernetes-map-type") or "granular"
        self.properties: dict[str, Schema] = {}
        self.additional: Schema | None = None
        self.items: Schema | None = None
        self.has_defaults = False
        self.has_quantities = bool(document.get("x-quantity"))
        self.limited = not _LIMITS.isdisjoint(document)
        self.defaulted: tuple[tuple[str, Schema], ...] = ()
        """The fields that have defaults of their own."""
        self.plain: type | None = None
        """The type whose every value is allowed, if there is one: most checks are then one comparison."""
        self.simple = False
        """Whether it is an object of which only the fields have to be looked at."""
        if not self.limited and self.enum is None and not self.int_or_string:
            self.plain = _TYPES.get(self.type)
            self.simple = self.type == "object"

    @property
    def is_map(self) -> bool:
        """Whether keys are a user's words rather than fields."""
        return self.additional is not None

    def child(self, name: str) -> Schema | None:
        """The schema of a field or of a map's value; None where nothing is known of it."""
        found = self.properties.get(name)
        return found if found is not None else self.additional


ANYTHING: Final = Schema({"x-kubernetes-preserve-unknown-fields": True})


def parse(document: Mapping[str, Any], memo: dict[int, Schema] | None = None) -> Schema:
    """Parse a schema as a definition writes it. Parts that are one and the same object are parsed once."""
    known = {} if memo is None else memo
    if (found := known.get(id(document))) is not None:
        return found
    node = known[id(document)] = Schema(document)
    for name, part in (document.get("properties") or {}).items():
        node.properties[name] = parse(part, known)
    additional = document.get("additionalProperties")
    if isinstance(additional, Mapping):
        node.additional = parse(additional, known)
    elif additional is True:
        node.additional = ANYTHING
    if isinstance(items := document.get("items"), Mapping):
        node.items = parse(items, known)
    node.has_defaults = any(part.default is not MISSING or part.has_defaults for part in _parts(node))
    node.defaulted = tuple(
        (name, part) for name, part in node.properties.items() if part.default is not MISSING
    )
    node.has_quantities = node.has_quantities or any(part.has_quantities for part in _parts(node))
    return node


def _parts(node: Schema) -> Iterator[Schema]:
    yield from node.properties.values()
    if node.additional is not None:
        yield node.additional
    if node.items is not None:
        yield node.items


def filled(schema: Schema) -> Any:
    """A default, with the defaults within it."""
    value = schema.default
    if value.__class__ is not dict and value.__class__ is not list:
        return value
    value = copy.deepcopy(value)
    _fill(schema, value)
    return value


def _fill(schema: Schema, value: Any) -> None:
    if isinstance(value, dict):
        for name, part in schema.defaulted:
            if name not in value:
                value[name] = filled(part)
        for name, item in value.items():
            if (inner := schema.child(name)) is not None and inner.has_defaults:
                _fill(inner, item)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            _fill(schema.items, item)
