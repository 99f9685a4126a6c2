"""Checks of values against a structural schema, worded as Kubernetes words them.

Schemas come from users, too, and a small one can ask for much: a default of a megabyte in each item of a
list, thousands of alternatives, a pattern whose thousand states are followed through a long text. So what
definitions ask for is counted in steps (states of patterns, bytes of defaults, values compared), and ended at
``MAX_STEPS``.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from closeknit.kube.embedded.amounts import canonical
from closeknit.kube.embedded.schema import Schema, canonical_json, filled
from closeknit.kube.errors import BadRequestError, Cause
from closeknit.kube.patterns import matches, most_steps

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
DUPLICATE: Final = "FieldValueDuplicate"
UNSUPPORTED: Final = "FieldValueNotSupported"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
FORBIDDEN: Final = "FieldValueForbidden"


def required(path: str, detail: str = "") -> Cause:
    """A field that must be given."""
    return Cause(path, "Required value" + (f": {detail}" if detail else ""), REQUIRED)


def bad_value(path: str, value: Any, detail: str) -> Cause:
    """A value that breaks a rule."""
    return Cause(path, f"Invalid value: {quoted(value)}: {detail}", INVALID)


def not_supported(path: str, value: Any, allowed: list[str]) -> Cause:
    """A value that is none of those allowed."""
    listed = ", ".join(json.dumps(one) for one in allowed[:_MOST_LISTED])
    return Cause(path, f"Unsupported value: {quoted(value)}: supported values: {listed}", UNSUPPORTED)


def forbidden(path: str, detail: str) -> Cause:
    """A field that may not be set, or not be changed."""
    return Cause(path, f"Forbidden: {detail}", FORBIDDEN)


def duplicate(path: str, value: Any) -> Cause:
    """A second one of what may be there once."""
    return Cause(path, f"Duplicate value: {quoted(value)}", DUPLICATE)


def quoted(value: Any) -> str:
    """A value as Kubernetes' messages show it, cut so that it cannot flood a log."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= 400 else f"{text[:400]}…"


MAX_STEPS: Final = 100_000_000
"""How many steps one walk may take; about a second of the costliest pattern, which no published one is
near.
"""
_PART: Final = 1_000
"""Steps of a further part of a schema, which takes about as long as so many states of a pattern."""
_COMPARISON: Final = 50
_MOST_LISTED: Final = 100
"""How many of the values that are allowed a message lists."""
MAX_CAUSES: Final = 1_000
"""How many of the things that are wrong with an object are kept."""


class Causes(list[Cause]):
    """The first `MAX_CAUSES` things that are wrong: each costs memory, and 3 MiB can have a million of
    them.
    """

    def append(self, cause: Cause) -> None:
        """Keep it, if there is a place."""
        if len(self) < MAX_CAUSES:
            super().append(cause)

    def extend(self, causes: Iterable[Cause]) -> None:
        """Keep those that there is a place for, and compute no others."""
        super().extend(islice(causes, MAX_CAUSES - len(self)))


class Budget:
    """Counts the steps of a walk."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0

    def spend(self, steps: int) -> None:
        """Count; raises BadRequestError once there are too many."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise BadRequestError(
                f"To check the object by the schema of its definition takes more than {MAX_STEPS} steps. "
                "Simplify the definition, or make the object smaller."
            )


class Findings:
    """What a walk has found."""

    __slots__ = ("budget", "canonical", "causes", "complete", "unknown")

    def __init__(
        self, *, canonical: bool = False, complete: bool = True, budget: Budget | None = None
    ) -> None:
        self.budget = budget or Budget()
        self.unknown: list[str] = []
        """Paths of fields that no schema knows."""
        self.causes = Causes()
        self.canonical = canonical
        """Whether quantities are put into one spelling."""
        self.complete = complete
        """Whether it is a whole object: what is left out gets its default, and what is empty goes."""


def settle(schema: Schema, value: Any, path: str, found: Findings, before: Any = None) -> Any:
    """Make a value what it is stored as, in place, and note all that is wrong with it: one walk for all.

    Unknown fields and nulls that mean nothing go, defaults come, and every value is checked.
    ``before`` is what stood here, settled by the same schema: what a value shares with it is passed over.
    """
    if value is None and (schema.nullable or (schema.preserve and not schema.type)):
        return value
    if schema.int_or_string:
        if value.__class__ is float and schema.has_quantities and found.complete:
            # A quantity may be written as any number.
            value = repr(value)
        if (
            found.canonical
            and schema.has_quantities
            and (spelled := _spelled(schema.document["pattern"], value))
        ):
            return spelled
        if value.__class__ is not int and not isinstance(value, str):
            found.causes.append(_wrong_type(path, value, "integer,string"))
            return value
    elif schema.type and not _IS[schema.type](value):
        found.causes.append(_wrong_type(path, value, schema.type))
        return value
    if schema.enum is not None:
        _check_enum(schema.enum, value, path, found)
    if value.__class__ is dict:
        _settle_object(schema, value, path, found, before if before.__class__ is dict else _NOTHING)
    elif value.__class__ is list:
        _settle_list(schema, value, path, found)
    if schema.limited:
        _check_limits(schema.document, value, path, found)
    return value


def _check_enum(enum: Sequence[Any], value: Any, path: str, found: Findings) -> None:
    if value not in enum:
        found.causes.append(not_supported(path, value, [str(one) for one in enum[:_MOST_LISTED]]))
    if len(enum) > _MOST_LISTED:
        # To compare a value takes some dozen times as long as a state of a pattern.
        found.budget.spend(_COMPARISON * len(enum))


def _spelled(pattern: str, value: Any) -> str:
    """A quantity in the one spelling that is kept; empty where it is none."""
    if value.__class__ is int or (value.__class__ is str and matches(pattern, value)):
        return canonical(value)
    return ""


_META: Final = ("apiVersion", "kind", "metadata")


_NOTHING: Final[dict[str, Any]] = {}


def _settle_object(
    schema: Schema, value: dict[str, Any], path: str, found: Findings, before: dict[str, Any] = _NOTHING
) -> None:
    properties, additional = schema.properties, schema.additional
    doomed: list[str] | None = None
    for name, item in value.items():
        if before and item is not None and before.get(name) is item:
            continue
        part = properties.get(name) or additional
        if part is None:
            if schema.preserve or not schema.type or (schema.embedded and name in _META):
                continue
            found.unknown.append(f"{path}.{name}" if path else name)
        elif item.__class__ is part.plain:
            continue
        elif part.sparse and not item and (item is None or (found.complete and _IS[part.type](item))):
            pass
        elif part.simple and item.__class__ is dict:
            earlier = before.get(name) if before else None
            where = f"{path}.{name}" if path else name
            _settle_object(part, item, where, found, earlier if earlier.__class__ is dict else _NOTHING)
            continue
        elif item is not None or part.nullable or (part.preserve and not part.type):
            settled = settle(part, item, f"{path}.{name}" if path else name, found, before.get(name))
            if settled is not item:
                value[name] = settled
            continue
        if doomed is None:
            doomed = []
        doomed.append(name)
    for name in doomed or ():
        del value[name]
    if schema.defaulted or schema.required:
        _complete(schema, value, path, found)


def _complete(schema: Schema, value: dict[str, Any], path: str, found: Findings) -> None:
    for name, part in schema.defaulted if found.complete else ():
        if name not in value:
            if not found.canonical:
                found.budget.spend(part.default_size)
            value[name] = filled(part)
    for name in schema.required:
        if name not in value:
            found.causes.append(required(f"{path}.{name}" if path else name))


def _settle_list(schema: Schema, value: list[Any], path: str, found: Findings) -> None:
    if (items := schema.items) is not None:
        for index, item in enumerate(value):
            if items.simple and item.__class__ is dict:
                _settle_object(items, item, f"{path}[{index}]", found)
            elif item.__class__ is not items.plain:
                settled = settle(items, item, f"{path}[{index}]", found)
                if settled is not item:
                    value[index] = settled
    if schema.unique and len(value) > 1:
        _check_unique(schema, value, path, found.causes)


def _wrong_type(path: str, value: Any, wanted: str) -> Cause:
    found = _type_name(value)
    where = path or "<root>"
    return Cause(
        path, f'Invalid value: "{found}": {where} in body must be of type {wanted}: "{found}"', TYPE_INVALID
    )


def _misread(path: str, value: Any, form: str) -> Cause:
    detail = f"{path} in body must be of type {form}: {quoted(value)}"
    return Cause(path, f"Invalid value: {quoted(value)}: {detail}", TYPE_INVALID)


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if value.__class__ is bool:
        return "boolean"
    names = {dict: "object", list: "array", str: "string", int: "integer", float: "number"}
    return names.get(value.__class__, "object")


_IS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: value.__class__ is dict,
    "array": lambda value: value.__class__ is list,
    "string": lambda value: value.__class__ is str,
    "boolean": lambda value: value.__class__ is bool,
    "integer": lambda value: value.__class__ is int or (value.__class__ is float and value.is_integer()),
    "number": lambda value: value.__class__ is int or value.__class__ is float,
}


def _check_unique(schema: Schema, value: list[Any], path: str, causes: list[Cause]) -> None:
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        key: Any = item
        if schema.list_type == "map":
            if not isinstance(item, dict):
                continue
            key = {name: item[name] for name in schema.list_keys if name in item}
        identity = canonical_json(key)
        if identity in seen:
            causes.append(duplicate(f"{path}[{index}]", key))
        seen.add(identity)


def _check_limits(limits: Mapping[str, Any], value: Any, path: str, found: Findings) -> None:
    causes = found.causes
    if value.__class__ is str:
        _check_text(limits, value, path, found)
    elif value.__class__ is int or value.__class__ is float:
        _check_number(limits, value, path, causes)
    elif value.__class__ is list:
        _check_size(limits, len(value), path, causes, ("minItems", "maxItems", "items"))
        if limits.get("uniqueItems") and len({canonical_json(item) for item in value}) < len(value):
            causes.append(Cause(path, f"Duplicate value: {quoted(value)}", DUPLICATE))
    elif value.__class__ is dict:
        _check_size(limits, len(value), path, causes, ("minProperties", "maxProperties", "properties"))
    for part in limits.get("allOf") or ():
        _check_part(part, value, path, found)
    if alternatives := limits.get("anyOf"):
        _check_alternatives(alternatives, value, path, found, limits)
    if (one := limits.get("oneOf")) and sum(_fits(part, value, path, found) for part in one) != 1:
        causes.append(bad_value(path, value, f"{path} in body must validate one and only one schema (oneOf)"))
    if (no := limits.get("not")) and _fits(no, value, path, found):
        causes.append(bad_value(path, value, f"{path} in body must not validate the schema (not)"))


def _check_alternatives(
    alternatives: list[Mapping[str, Any]],
    value: Any,
    path: str,
    found: Findings,
    limits: Mapping[str, Any],
) -> None:
    if limits.get("x-kubernetes-int-or-string"):
        return
    if not any(_fits(part, value, path, found) for part in alternatives):
        detail = f"{path} in body must validate at least one schema (anyOf)"
        found.causes.append(bad_value(path, value, detail))


def _check_part(part: Mapping[str, Any], value: Any, path: str, found: Findings) -> None:
    """Check against a part of ``allOf`` and its like, which holds limits only."""
    causes = found.causes
    found.budget.spend(_PART + _COMPARISON * len(part.get("properties") or ()))
    kind = part.get("type")
    if isinstance(kind, str) and kind in _IS and not _IS[kind](value):
        causes.append(_wrong_type(path, value, kind))
        return
    if (enum := part.get("enum")) is not None:
        _check_enum(enum, value, path, found)
    if isinstance(value, dict):
        causes.extend(required(f"{path}.{name}") for name in part.get("required") or () if name not in value)
        for name, inner in (part.get("properties") or {}).items():
            if name in value:
                _check_part(inner, value[name], f"{path}.{name}", found)
    _check_limits(part, value, path, found)


def _fits(part: Mapping[str, Any], value: Any, path: str, found: Findings) -> bool:
    inner = Findings(budget=found.budget)
    _check_part(part, value, path, inner)
    return not inner.causes


def _check_text(limits: Mapping[str, Any], value: str, path: str, found: Findings) -> None:
    causes = found.causes
    if (pattern := limits.get("pattern")) is not None:
        if not found.canonical:
            found.budget.spend(most_steps(pattern, value))
        if not matches(pattern, value):
            reason = TYPE_INVALID if limits.get("x-quantity") else INVALID
            detail = f"{path} in body should match '{pattern}'"
            causes.append(Cause(path, f"Invalid value: {quoted(value)}: {detail}", reason))
    if (least := limits.get("minLength")) is not None and len(value) < least:
        causes.append(bad_value(path, value, f"{path} in body should be at least {least} chars long"))
    if (most := limits.get("maxLength")) is not None and len(value) > most:
        causes.append(Cause(path, f"Too long: may not be more than {most} bytes", "FieldValueTooLong"))
    form = limits.get("format")
    if form is not None and (reads := _FORMATS.get(form)) is not None and not _read(reads, value):
        causes.append(_misread(path, value, form))


def _read(reads: Callable[[str], object], value: str) -> bool:
    try:
        reads(value)
    except (ValueError, binascii.Error):
        return False
    return True


def _instant(text: str) -> object:
    if "T" not in text:
        raise ValueError(text)
    return datetime.fromisoformat(text)


_FORMATS: Final[Mapping[str, Callable[[str], object]]] = {
    "date-time": _instant,
    "byte": lambda text: base64.b64decode(text, validate=True),
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "cidr": ipaddress.ip_network,
}


def _check_number(limits: Mapping[str, Any], value: float, path: str, causes: list[Cause]) -> None:
    least, most = limits.get("minimum"), limits.get("maximum")
    if least is not None:
        if limits.get("exclusiveMinimum") and value <= least:
            causes.append(bad_value(path, value, f"{path} in body should be greater than {least}"))
        elif value < least:
            causes.append(
                bad_value(path, value, f"{path} in body should be greater than or equal to {least}")
            )
    if most is not None:
        if limits.get("exclusiveMaximum") and value >= most:
            causes.append(bad_value(path, value, f"{path} in body should be less than {most}"))
        elif value > most:
            causes.append(bad_value(path, value, f"{path} in body should be less than or equal to {most}"))
    if (step := limits.get("multipleOf")) and value % step:
        causes.append(bad_value(path, value, f"{path} in body should be a multiple of {step}"))
    bits = {"int32": 31, "int64": 63}.get(limits.get("format") or "")
    if bits is not None and not -(2**bits) <= value < 2**bits:
        causes.append(_misread(path, value, limits["format"]))


def _check_size(
    limits: Mapping[str, Any], size: int, path: str, causes: list[Cause], words: tuple[str, str, str]
) -> None:
    low, high, noun = words
    if (least := limits.get(low)) is not None and size < least:
        causes.append(bad_value(path, size, f"{path} in body should have at least {least} {noun}"))
    if (most := limits.get(high)) is not None and size > most:
        causes.append(Cause(path, f"Too many: {size}: must have at most {most} items", "FieldValueTooMany"))
