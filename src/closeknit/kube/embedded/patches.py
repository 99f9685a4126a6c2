"""JSON merge patches, JSON patches and strategic merge patches. None of them changes what it is given."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from closeknit.kube.embedded.schema import ANYTHING, Schema
from closeknit.kube.errors import BadRequestError, InvalidObjectError

MAX_OPERATIONS: Final = 10_000


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
        raise BadRequestError(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}."
        )
    result = copy.deepcopy(target)
    for index, operation in enumerate(operations):
        if not isinstance(operation, Mapping) or not isinstance(operation.get("path"), str):
            raise BadRequestError(f"Operation {index} of the JSON patch needs a string `path` and an `op`.")
        result = _operate(result, operation)
    return result


def _operate(document: Any, operation: Mapping[str, Any]) -> Any:
    op, path = operation.get("op"), operation["path"]
    match op:
        case "add":
            return _put(document, path, copy.deepcopy(_value(operation)), insert=True)
        case "replace":
            _find(document, path)
            return _put(document, path, copy.deepcopy(_value(operation)), insert=False)
        case "remove":
            return _removed(document, path)
        case "test":
            if _find(document, path) != _value(operation):
                raise _refused(f"testing path {path} failed: the value is another one")
            return document
        case "copy" | "move":
            source = operation.get("from")
            if not isinstance(source, str):
                raise BadRequestError(f"The operation {op} of a JSON patch needs `from`.")
            value = copy.deepcopy(_find(document, source))
            if op == "move":
                document = _removed(document, source)
            return _put(document, path, value, insert=True)
        case _:
            raise BadRequestError(
                f"Unknown operation {op!r} in a JSON patch. Use add, remove, replace, move, copy or test."
            )


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
    if not step.isdigit() or (number := int(step)) >= len(container) + end:
        raise _refused(f"the path {path} does not exist: the list has {len(container)} items")
    return number


def _find(document: Any, path: str) -> Any:
    for step in _steps(path):
        document = _step(document, step, path)
    return document


def _put(document: Any, path: str, value: Any, *, insert: bool) -> Any:
    steps = _steps(path)
    if not steps:
        return value
    container = document
    for step in steps[:-1]:
        container = _step(container, step, path)
    last = steps[-1]
    if isinstance(container, dict):
        container[last] = value
    elif isinstance(container, list):
        if last == "-":
            container.append(value)
        elif insert:
            container.insert(_index(container, last, path, end=1), value)
        else:
            container[_index(container, last, path)] = value
    else:
        raise _refused(f"the path {path} does not exist")
    return document


def _removed(document: Any, path: str) -> Any:
    steps = _steps(path)
    if not steps:
        raise _refused("the whole object cannot be removed by a patch")
    container = document
    for step in steps[:-1]:
        container = _step(container, step, path)
    _step(container, steps[-1], path)
    if isinstance(container, list):
        del container[_index(container, steps[-1], path)]
    else:
        del container[steps[-1]]
    return document


# Strategic merge: what a merge patch does, and lists by their keys, with directives that begin with `$`.

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
        result = {name: value for name, value in result.items() if name in retained}
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
            left = [item for item in result.get(name) or () if item not in doomed]
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
        merged = [*current, *(item for item in patch if item not in current)]
        return _ordered(schema, merged, order)
    key = schema.list_keys[0] if schema.list_keys else ""
    items = [item for item in patch if isinstance(item, Mapping)]
    if not key or any(item.get("$patch") == "replace" and len(item) == 1 for item in items):
        return [item for item in patch if not (isinstance(item, Mapping) and set(item) == {"$patch"})]
    for item in items:
        if key not in item:
            raise BadRequestError(f"map: {dict(item)} does not contain declared merge key: {key}")
        at = next((index for index, one in enumerate(current) if one.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            if at is not None:
                del current[at]
        elif at is None:
            current.append(_merge_object(schema.items or ANYTHING, {}, item))
        else:
            current[at] = _merge_object(schema.items or ANYTHING, current[at], item)
    return _ordered(schema, current, order)


def _ordered(schema: Schema, items: list[Any], order: Any) -> list[Any]:
    """Items in the order that the patch wishes; others keep their place behind the one they followed."""
    if not isinstance(order, list):
        return items
    key = schema.list_keys[0] if schema.list_keys else ""
    wished = [one.get(key) if isinstance(one, Mapping) else one for one in order]

    def name(item: Any) -> Any:
        return item.get(key) if isinstance(item, Mapping) else item

    ranked: list[tuple[int, Any]] = []
    last = -1
    for item in items:
        if name(item) in wished:
            last = wished.index(name(item))
            ranked.append((last, item))
        else:
            ranked.append((last, item))
    return [item for _, item in sorted(ranked, key=lambda pair: pair[0])]
