"""JSON merge patches, JSON patches and strategic merge patches. None of them changes what it is given.

What a patch may cost is bounded by what was sent and what was stored: the bytes that a JSON patch copies and
the items that it moves in lists are counted, lists are merged by an index of their keys, and what JSON
patches build may not nest deeper than what a client may send.
"""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from closeknit.kube.embedded.schema import ANYTHING, Schema, canonical_json
from closeknit.kube.errors import BadRequestError, InvalidObjectError, RequestTooLargeError
from closeknit.kube.numbers import digits
from closeknit.text.nesting import DEEPEST, is_deeper

MAX_OPERATIONS: Final = 10_000
MAX_COPIED: Final = 3 * 1024 * 1024
"""How many bytes of JSON the copies of one JSON patch may have in all; kube-apiserver's limit, too."""
MAX_SHIFTED: Final = 10_000_000
"""How many items of lists one JSON patch may shift by inserting and removing before them."""

MAX_OBJECT: Final = 6 * 1024 * 1024
"""Bytes as JSON that no patch makes an object exceed. One that is sent whole is bounded by the request."""

_encode: Final = msgspec.json.Encoder().encode


def bounded(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What a patch makes of an object, unless that is too large: patches could add to it for ever."""
    size = len(_encode(new))
    if size > MAX_OBJECT and size > len(_encode(old)):
        raise RequestTooLargeError(
            f"The patched object has {size} bytes, and the limit for it is {MAX_OBJECT} bytes."
        )
    return new


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396, of what was read from JSON."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = merge_patch(result.get(name), value)
        else:
            result[name] = value
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902. An operation that cannot be carried out refuses all of them."""
    if not isinstance(operations, (list, tuple)):
        raise BadRequestError("A JSON patch is a list of operations, each with `op` and `path`.")
    if len(operations) > MAX_OPERATIONS:
        raise RequestTooLargeError(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    patching = _Patching(copy.deepcopy(target))
    try:
        for index, operation in enumerate(operations):
            if not isinstance(operation, Mapping) or not isinstance(operation.get("path"), str):
                raise BadRequestError(
                    f"Operation {index} of the JSON patch needs a string `path` and an `op`."
                )
            patching.operate(operation)
        too_deep = is_deeper(_encode(patching.document))
    except RecursionError:
        too_deep = True
    if too_deep:
        raise _refused(f"the patched object nests deeper than {DEEPEST} lists and objects")
    return patching.document


class _Patching:
    """A document under the operations of one patch, and what they have cost so far."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self._copied = 0
        self._shifted = 0

    def operate(self, operation: Mapping[str, Any]) -> None:
        """Carry out one operation."""
        op, path = operation.get("op"), operation["path"]
        match op:
            case "add":
                self._put(path, copy.deepcopy(_value(operation)), insert=True)
            case "replace":
                _find(self.document, path)
                self._put(path, copy.deepcopy(_value(operation)), insert=False)
            case "remove":
                self._remove(path)
            case "test":
                if _find(self.document, path) != _value(operation):
                    raise _refused(f"testing path {path} failed: the value is another one")
            case "copy" | "move":
                source = operation.get("from")
                if not isinstance(source, str):
                    raise BadRequestError(f"The operation {op} of a JSON patch needs `from`.")
                value = _find(self.document, source)
                if op == "copy":
                    value = self._copy_of(value)
                elif path == source:
                    return
                elif path.startswith(f"{source}/"):
                    raise _refused(f"{source or 'the whole object'} cannot be moved into itself")
                else:
                    self._remove(source)
                self._put(path, value, insert=True)
            case _:
                raise BadRequestError(
                    f"Unknown operation {op!r} in a JSON patch. Use add, remove, replace, move, copy or test."
                )

    def _copy_of(self, value: Any) -> Any:
        """A copy, unless the copies of this patch get too large: each may double the document."""
        raw = _encode(value)
        self._copied += len(raw)
        if self._copied > MAX_COPIED:
            raise _refused(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied}, exceeding the limit {MAX_COPIED}"
            )
        return msgspec.json.decode(raw)

    def _shift(self, container: list[Any], index: int) -> int:
        """Note that the items from an index on are moved, and return the index."""
        self._shifted += len(container) - index
        if self._shifted > MAX_SHIFTED:
            raise _refused(f"the patch moves more than {MAX_SHIFTED} items of lists. Send the changed list.")
        return index

    def _put(self, path: str, value: Any, *, insert: bool) -> None:
        steps = _steps(path)
        if not steps:
            self.document = value
            return
        container, last = _container(self.document, steps, path), steps[-1]
        if isinstance(container, dict):
            container[last] = value
        elif isinstance(container, list):
            if last == "-":
                container.append(value)
            elif insert:
                container.insert(self._shift(container, _index(container, last, path, end=1)), value)
            else:
                container[_index(container, last, path)] = value
        else:
            raise _refused(f"the path {path} does not exist")

    def _remove(self, path: str) -> None:
        steps = _steps(path)
        if not steps:
            raise _refused("the whole object cannot be removed by a patch")
        container = _container(self.document, steps, path)
        _step(container, steps[-1], path)
        if isinstance(container, list):
            del container[self._shift(container, _index(container, steps[-1], path))]
        else:
            del container[steps[-1]]


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise BadRequestError(f"The operation {operation.get('op')} of a JSON patch needs `value`.")
    return operation["value"]


def _refused(detail: str) -> InvalidObjectError:
    return InvalidObjectError(f"the server rejected our request due to an error in our request: {detail}")


def _steps(path: str) -> list[str]:
    if path == "":
        return []
    if not path.startswith("/"):
        raise BadRequestError(f"The path {path!r} of a JSON patch must begin with '/'.")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _step(container: Any, step: str, path: str) -> Any:
    if isinstance(container, dict):
        if step in container:
            return container[step]
    elif isinstance(container, list):
        return container[_index(container, step, path)]
    raise _refused(f"the path {path} does not exist")


def _index(container: list[Any], step: str, path: str, *, end: int = 0) -> int:
    if (index := digits(step)) is None or index >= len(container) + end:
        raise _refused(f"the path {path} does not exist: the list has {len(container)} items")
    return index


def _find(document: Any, path: str) -> Any:
    for step in _steps(path):
        document = _step(document, step, path)
    return document


def _container(document: Any, steps: list[str], path: str) -> Any:
    for step in steps[:-1]:
        document = _step(document, step, path)
    return document


# Strategic merge: what a merge patch does, and lists by their keys, with directives that begin with `$`.

_DELETED: Final = object()
_ORDER: Final = "$setElementOrder/"
_DELETE_ITEMS: Final = "$deleteFromPrimitiveList/"


def strategic_merge(schema: Schema, target: Any, patch: Any) -> Any:
    """Merge a patch by a kind's schema: a list with keys is merged item by item, any other is replaced."""
    if not isinstance(patch, Mapping):
        raise BadRequestError("A strategic merge patch is an object.")
    return _merge_object(schema, target if isinstance(target, dict) else {}, patch)


def _merge_object(schema: Schema, target: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    directive = patch.get("$patch")
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise BadRequestError(f"Unknown $patch directive {directive!r}. Use merge, replace or delete.")
    result = dict(target)
    retained = patch.get("$retainKeys")
    if isinstance(retained, list):
        kept = {name for name in retained if isinstance(name, str)}
        result = {name: value for name, value in result.items() if name in kept}
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        part = schema.child(name) or ANYTHING
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            earlier = result.get(name)
            result[name] = _merge_object(part, earlier if isinstance(earlier, dict) else {}, value)
        elif isinstance(value, list):
            result[name] = _merge_list(part, result.get(name), value, patch.get(_ORDER + name))
        else:
            result[name] = value
    _delete_items(result, patch)
    _order_only(schema, result, patch)
    return result


def _delete_items(result: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for directive, doomed in patch.items():
        if directive.startswith(_DELETE_ITEMS) and isinstance(doomed, list):
            name = directive.removeprefix(_DELETE_ITEMS)
            items = result.get(name)
            if not isinstance(items, list):
                continue
            keys = {canonical_json(item) for item in doomed}
            left = [item for item in items if canonical_json(item) not in keys]
            result[name] = left
            if not left:
                del result[name]


def _order_only(schema: Schema, result: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Put lists that the patch orders and does not otherwise change in that order."""
    for directive, order in patch.items():
        name = directive.removeprefix(_ORDER)
        if directive.startswith(_ORDER) and name not in patch and isinstance(result.get(name), list):
            result[name] = _ordered(schema.child(name) or ANYTHING, result[name], order)


def _merge_list(schema: Schema, target: Any, patch: list[Any], order: Any) -> list[Any]:
    current = list(target) if isinstance(target, list) else []
    if schema.list_type == "set":
        present = {canonical_json(item) for item in current}
        merged = [*current, *(item for item in patch if canonical_json(item) not in present)]
        return _ordered(schema, merged, order)
    key = schema.list_keys[0] if schema.list_keys else ""
    items = [item for item in patch if isinstance(item, Mapping)]
    if not key or any(item.get("$patch") == "replace" and len(item) == 1 for item in items):
        return [item for item in patch if not (isinstance(item, Mapping) and set(item) == {"$patch"})]
    # By the JSON of the key: to look through the list for each item would take hours for what 3 MiB can name.
    places: dict[bytes, deque[int]] = defaultdict(deque)
    for index, item in enumerate(current):
        if isinstance(item, Mapping):
            places[canonical_json(item.get(key))].append(index)
    for item in items:
        if key not in item:
            raise BadRequestError(f"map: {dict(item)} does not contain declared merge key: {key}")
        at = places[canonical_json(item[key])]
        if item.get("$patch") == "delete":
            if at:
                current[at.popleft()] = _DELETED
        elif not at:
            at.append(len(current))
            current.append(_merge_object(schema.items or ANYTHING, {}, item))
        else:
            current[at[0]] = _merge_object(schema.items or ANYTHING, current[at[0]], item)
    return _ordered(schema, [item for item in current if item is not _DELETED], order)


def _ordered(schema: Schema, items: list[Any], order: Any) -> list[Any]:
    """Items in the order that the patch wishes; others keep their place behind the one they followed."""
    if not isinstance(order, list):
        return items
    key = schema.list_keys[0] if schema.list_keys else ""

    def name(item: Any) -> bytes:
        return canonical_json(item.get(key) if isinstance(item, Mapping) else item)

    ranks: dict[bytes, int] = {}
    for rank, item in enumerate(order):
        ranks.setdefault(name(item), rank)
    ranked: list[tuple[int, Any]] = []
    last = -1
    for item in items:
        last = ranks.get(name(item), last)
        ranked.append((last, item))
    return [item for _, item in sorted(ranked, key=lambda pair: pair[0])]
