"""Which schemas a definition may have.

Each object of a kind is checked by its schema, so what a schema may not have is refused when the definition
is written: keywords of a wrong type, types that do not exist, patterns that RE2 does not read, defaults that
the schema itself does not allow.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from closeknit.kube import patterns
from closeknit.kube.embedded.checking import Findings, bad_value, required, settle
from closeknit.kube.embedded.schema import parse
from closeknit.kube.errors import Cause

_Check: TypeAlias = tuple[Callable[[Any], bool], str]
"""What a keyword's value must satisfy, and how that is worded."""


def schema_problems(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Everything that is wrong with the schema of a version."""
    malformed = list(_malformed(schema, path))
    yield from malformed
    if malformed:
        return
    if schema.get("type") != "object":
        yield bad_value(f"{path}.type", schema.get("type", ""), "must be object at the root")
    yield from _unstructured(schema, path)
    yield from _wrong_defaults(schema, path)


def _unstructured(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Where a schema leaves open what a value is without saying so."""
    open_ended = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if not schema.get("type") and not open_ended:
        yield required(f"{path}.type", "must not be empty for specified object fields")
    for name, part in (schema.get("properties") or {}).items():
        yield from _unstructured(part, f"{path}.properties[{name}]")
    for word in ("items", "additionalProperties"):
        if isinstance(part := schema.get(word), Mapping):
            yield from _unstructured(part, f"{path}.{word}")


def _wrong_defaults(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """The defaults that their own schema does not allow."""
    if (default := schema.get("default")) is not None:
        found = Findings()
        settle(parse(schema), copy.deepcopy(default), f"{path}.default", found)
        yield from found.causes
    for where, part in _parts(schema):
        yield from _wrong_defaults(part, path + where)


def _malformed(schema: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """The keywords, in all parts, whose values are of a wrong type. One that is null counts as absent."""
    for word, value in schema.items():
        if value is not None and (check := _KEYWORDS.get(word)) is not None and not check[0](value):
            yield bad_value(f"{path}.{word}", value, check[1])
    if isinstance(pattern := schema.get("pattern"), str):
        try:
            patterns.check(pattern)
        except patterns.PatternError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield bad_value(f"{path}.pattern", pattern, detail)
    for where, part in _parts(schema):
        yield from _malformed(part, path + where)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas directly within a schema, each with its path in it."""
    for word in _MAPS_OF_SCHEMAS:
        if isinstance(parts := schema.get(word), Mapping):
            for name, part in parts.items():
                if isinstance(part, Mapping):
                    yield f".{word}[{name}]", part
    for word in (*_SCHEMAS, "additionalProperties"):
        if isinstance(part := schema.get(word), Mapping):
            yield f".{word}", part
    for word in _LISTS_OF_SCHEMAS:
        if isinstance(listed := schema.get(word), list):
            for index, part in enumerate(listed):
                if isinstance(part, Mapping):
                    yield f".{word}[{index}]", part


_MAPS_OF_SCHEMAS: Final = ("properties", "patternProperties", "definitions")
_LISTS_OF_SCHEMAS: Final = ("allOf", "anyOf", "oneOf")
_SCHEMAS: Final = ("items", "not")


def _one_of(*allowed: str) -> _Check:
    return lambda value: isinstance(value, str) and value in allowed, f"must be one of {', '.join(allowed)}"


def _is_number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


_SCHEMA: Final[_Check] = (lambda value: isinstance(value, Mapping), "must be a schema")
_MAP_OF_SCHEMAS: Final[_Check] = (
    lambda value: isinstance(value, Mapping) and all(isinstance(part, Mapping) for part in value.values()),
    "must be a map of schemas",
)
_LIST_OF_SCHEMAS: Final[_Check] = (
    lambda value: isinstance(value, list) and all(isinstance(part, Mapping) for part in value),
    "must be a list of schemas",
)
_STRINGS: Final[_Check] = (
    lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "must be a list of strings",
)
_STRING: Final[_Check] = (lambda value: isinstance(value, str), "must be a string")
_NUMBER: Final[_Check] = (_is_number, "must be a number")
_COUNT: Final[_Check] = (
    lambda value: value.__class__ is int and value >= 0,
    "must be a whole number of at least 0",
)
_TRUTH: Final[_Check] = (lambda value: value.__class__ is bool, "must be true or false")

_KEYWORDS: Final[Mapping[str, _Check]] = {
    "type": _one_of("array", "boolean", "integer", "number", "object", "string"),
    "x-kubernetes-list-type": _one_of("atomic", "map", "set"),
    "x-kubernetes-map-type": _one_of("atomic", "granular"),
    "enum": (lambda value: isinstance(value, list), "must be a list"),
    "additionalProperties": (
        lambda value: value.__class__ is bool or isinstance(value, Mapping),
        "must be a schema, true or false",
    ),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "must be a number above 0"),
    **dict.fromkeys(_SCHEMAS, _SCHEMA),
    **dict.fromkeys(_MAPS_OF_SCHEMAS, _MAP_OF_SCHEMAS),
    **dict.fromkeys(_LISTS_OF_SCHEMAS, _LIST_OF_SCHEMAS),
    **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), _STRINGS),
    **dict.fromkeys(("pattern", "format", "title", "description"), _STRING),
    **dict.fromkeys(("minimum", "maximum"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength"), _COUNT),
    **dict.fromkeys(("minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(("nullable", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"), _TRUTH),
    **dict.fromkeys(("x-kubernetes-int-or-string", "x-kubernetes-embedded-resource"), _TRUTH),
    "x-kubernetes-preserve-unknown-fields": _TRUTH,
}
