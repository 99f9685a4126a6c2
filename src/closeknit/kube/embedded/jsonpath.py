"""The part of JSON path that printer columns use: fields, indexes, ``*`` and ``?(@.field=="value")``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_STEP: Final = re.compile(
    r"""\.?\[\?\(@\.(?P<by>[\w.\-/]+)\s*==\s*["'](?P<value>[^"']*)["']\)\]"""
    r"""|\.?\[["'](?P<quoted>[^"']+)["']\]"""
    r"""|\.?\[(?P<index>[0-9]{1,9}|\*)\]"""
    r"""|\.(?P<field>(?:[^.\[\\]|\\.)+)"""
)


def reader(path: str) -> Callable[[Mapping[str, Any]], Any]:
    """A function that finds the first value at a path, or None."""
    steps: list[Callable[[list[Any]], list[Any]]] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return lambda _: None
        steps.append(_step(match))
        position = match.end()

    def read(obj: Mapping[str, Any]) -> Any:
        found: list[Any] = [obj]
        for step in steps:
            found = step(found)
        return found[0] if found else None

    return read


def _step(match: re.Match[str]) -> Callable[[list[Any]], list[Any]]:
    if by := match["by"]:
        wanted = match["value"]
        return lambda found: [
            item
            for value in found
            if isinstance(value, list)
            for item in value
            if isinstance(item, Mapping) and str(item.get(by)) == wanted
        ]
    if index := match["index"]:
        if index == "*":
            return lambda found: [item for value in found if isinstance(value, list) for item in value]
        at = int(index)
        return lambda found: [value[at] for value in found if isinstance(value, list) and len(value) > at]
    name = match["quoted"] or match["field"].replace("\\", "")
    return lambda found: [value[name] for value in found if isinstance(value, Mapping) and name in value]
