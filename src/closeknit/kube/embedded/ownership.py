"""Which manager owns which fields: sets of fields, in the nesting that ``managedFields`` has.

A set is a mapping from path elements (``f:spec``, ``k:{"name":"a"}``,
``v:"x"``) to sets. An empty mapping below an element is a member; ``.`` beside
further elements says that the path up to here is one as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from closeknit.hub.problems import InvalidError
from closeknit.kube.embedded.schema import ANYTHING, Schema
from closeknit.text import json as text

Fields: TypeAlias = dict[str, Any]

SELF: Final = "."
_UNTRACKED: Final = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_UNTRACKED_TOP: Final = frozenset({"apiVersion", "kind"})


def is_set(fields: Any) -> bool:
    """Whether what a client sent is a set of fields: nested mappings whose keys are path elements."""
    return fields.__class__ is dict and all(
        _is_element(key) and is_set(inner) for key, inner in fields.items()
    )


def _is_element(key: str) -> bool:
    if key == SELF or key.startswith("f:"):
        return True
    if not key.startswith(("k:", "v:", "i:")):
        return False
    try:
        value, _ = text.decode(key[2:].encode())
    except (InvalidError, UnicodeEncodeError):
        return False
    return isinstance(value, dict) or not key.startswith("k:")


def item_key(schema: Schema, item: Any) -> str:
    """The path element of an item of a list that is a map or a set."""
    if len(schema.list_keys) == 1 and item.__class__ is dict:
        (name,) = schema.list_keys
        if (value := item.get(name)).__class__ is str:
            return _text_key(name, value)
    if schema.list_type == "map" and isinstance(item, dict):
        parts = schema.items.properties if schema.items is not None else {}
        keys = {
            name: item.get(name, parts[name].document.get("default") if name in parts else None)
            for name in sorted(schema.list_keys)
        }
        keys = {name: value for name, value in keys.items() if value is not None}
        return "k:" + json.dumps(keys, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "v:" + json.dumps(item, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@lru_cache(maxsize=4096)
def _text_key(name: str, value: str) -> str:
    return "k:" + json.dumps({name: value}, separators=(",", ":"), ensure_ascii=False)


def is_atomic(schema: Schema, value: Any) -> bool:
    """Whether a value is owned as a whole."""
    if value.__class__ is list:
        return schema.list_type == "atomic"
    if value.__class__ is dict:
        return schema.map_type == "atomic"
    return True


def _known(schema: Schema, name: str) -> Schema:
    return schema.child(name) or ANYTHING


def applied(schema: Schema, obj: Mapping[str, Any]) -> Fields:
    """The fields that an applied configuration names."""
    return _applied(schema, _tracked(obj))


def _applied(schema: Schema, value: Any) -> Fields:
    fields: Fields = {}
    if value.__class__ is dict:
        for name, item in value.items():
            part = _known(schema, name)
            inner = {} if is_atomic(part, item) or not item else _applied(part, item)
            if inner and name not in schema.properties:
                inner[SELF] = {}
            if inner or item.__class__ is not list or is_atomic(part, item):
                fields["f:" + name] = inner
    else:
        items = schema.items or ANYTHING
        for item in value:
            inner = {} if is_atomic(items, item) else _applied(items, item)
            if inner:
                inner[SELF] = {}
            fields[item_key(schema, item)] = inner
    return fields


def _tracked(obj: Mapping[str, Any], *, status: bool = True) -> dict[str, Any]:
    kept = {name: value for name, value in obj.items() if name not in _UNTRACKED_TOP}
    if not status:
        kept.pop("status", None)
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _UNTRACKED}
    kept["metadata"] = metadata
    if not metadata:
        del kept["metadata"]
    return kept


class Comparison:
    """What differs between two objects, as sets of fields."""

    __slots__ = ("added", "changed", "removed")

    def __init__(self) -> None:
        self.added: Fields = {}
        self.changed: Fields = {}
        self.removed: Fields = {}

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.changed or self.removed)

    @property
    def written(self) -> Fields:
        """What was added or changed."""
        return union(self.added, self.changed)


def created(schema: Schema, obj: Mapping[str, Any], *, builtin: bool, status: bool) -> Fields:
    """All fields of a new object, with or without its status.

    A built-in kind has its metadata and spec from the start, if only empty ones, and the lists that its
    spec must have; so these are not members themselves.
    """
    fields: Fields = {}
    for name, value in _tracked(obj, status=status).items():
        part = _known(schema, name)
        if name == "metadata" or (builtin and name in ("spec", "status")):
            inner = everything(part, value)
            inner.pop(SELF, None)
            for each in part.required if builtin else ():
                inner.get("f:" + each, {}).pop(SELF, None)
            if inner or name != "metadata":
                fields["f:" + name] = inner
        else:
            fields["f:" + name] = everything(part, value)
    return fields


def compare(
    schema: Schema,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    builtin: bool = False,
    status: bool = True,
) -> Comparison:
    """Compare two objects of a kind, with or without their status.

    A built-in kind always has its spec and status, if only empty ones.
    """
    found = Comparison()
    old, new = _tracked(before, status=status), _tracked(after, status=status)
    if builtin:
        for name in ("metadata", "spec", "status"):
            if name in new:
                old.setdefault(name, {})
    else:
        old.setdefault("metadata", {})
    _compare_objects(schema, old, new, (found.added, found.changed, found.removed))
    for fields in (found.added, found.changed, found.removed):
        _tidy(fields)
    return found


_Sets: TypeAlias = tuple[Fields, Fields, Fields]


def _compare_objects(schema: Schema, old: Mapping[str, Any], new: Mapping[str, Any], into: _Sets) -> None:
    added, changed, removed = into
    for name, value in new.items():
        part = _known(schema, name)
        key = "f:" + name
        if name not in old:
            added[key] = everything(part, value)
        elif (earlier := old[name]) is not value and earlier != value:
            _compare_values(part, earlier, value, (added, changed, removed), key)
    for name, value in old.items():
        if name not in new:
            removed["f:" + name] = everything(_known(schema, name), value)


def _compare_values(schema: Schema, old: Any, new: Any, into: _Sets, key: str) -> None:
    if old.__class__ is not new.__class__ or is_atomic(schema, new):
        into[1][key] = {}
        return
    deeper: _Sets = ({}, {}, {})
    if new.__class__ is dict:
        _compare_objects(schema, old, new, deeper)
    else:
        _compare_lists(schema, old, new, deeper)
    for fields, inner in zip(into, deeper, strict=True):
        if inner:
            fields[key] = inner


def _compare_lists(schema: Schema, old: list[Any], new: list[Any], into: _Sets) -> None:
    added, _, removed = into
    items = schema.items or ANYTHING
    olds = {item_key(schema, item): item for item in old}
    news = {item_key(schema, item): item for item in new}
    for key, item in news.items():
        if key not in olds:
            added[key] = everything(items, item)
        elif olds[key] != item:
            _compare_values(items, olds[key], item, into, key)
    for key, item in olds.items():
        if key not in news:
            removed[key] = everything(items, item)


def everything(schema: Schema, value: Any) -> Fields:
    """All fields of a value that is new, itself included."""
    if value.__class__ is dict:
        if not value or schema.map_type == "atomic":
            return {}
        fields: Fields = {SELF: {}}
        properties, additional = schema.properties, schema.additional
        for name, item in value.items():
            # Most values are plain, and a call for each of them would be felt.
            if item.__class__ is dict or item.__class__ is list:
                fields["f:" + name] = everything(properties.get(name) or additional or ANYTHING, item)
            else:
                fields["f:" + name] = {}
        return fields
    if value.__class__ is list and value and schema.list_type != "atomic":
        items = schema.items or ANYTHING
        return {SELF: {}} | {item_key(schema, item): everything(items, item) for item in value}
    return {}


def _tidy(fields: Fields) -> None:
    for key in [key for key, inner in fields.items() if inner and set(inner) == {SELF}]:
        fields[key] = {}


def _opened(fields: Fields) -> Fields:
    return fields or {SELF: {}}


def _closed(fields: Fields) -> Fields:
    return {} if len(fields) == 1 and SELF in fields else fields


def union(one: Fields, other: Fields) -> Fields:
    """Members of either set."""
    if not one or not other:
        return one or other
    merged = dict(one)
    for key, inner in other.items():
        if key not in merged:
            merged[key] = inner
        elif key != SELF and (inner or merged[key]):
            merged[key] = _closed(union(_opened(merged[key]), _opened(inner)))
    return merged


def difference(one: Fields, other: Fields) -> Fields:
    """Members of the first set that are not in the second."""
    if not one or not other:
        return one
    left: Fields = {}
    for key, inner in one.items():
        if key not in other:
            left[key] = inner
        elif key != SELF and (rest := difference(_opened(inner), _opened(other[key]))):
            left[key] = _closed(rest)
    return left


def intersection(one: Fields, other: Fields) -> Fields:
    """Members of both sets."""
    both: Fields = {}
    for key, inner in one.items():
        if key not in other:
            continue
        if key == SELF:
            both[key] = {}
        elif shared := intersection(_opened(inner), _opened(other[key])):
            both[key] = _closed(shared)
    return both


def members(fields: Fields, prefix: str = "") -> Iterator[str]:
    """The paths of all members, as messages show them: ``.spec.containers[name="a"].image``."""
    for key in sorted(fields):
        if key == SELF:
            if prefix:
                yield prefix
            continue
        path = prefix + _shown(key)
        if fields[key]:
            yield from members(fields[key], path)
        else:
            yield path


def _shown(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        keys = json.loads(rest)
        return "[" + ",".join(f"{name}={json.dumps(value)}" for name, value in sorted(keys.items())) + "]"
    return f"[={rest}]"
