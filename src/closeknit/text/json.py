"""Read JSON text, one value or several in a row. Its numbers mean what they mean in YAML."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from closeknit.hub.problems import Problem
from closeknit.text.scalars import resolved
from closeknit.text.tree import DEEPEST

_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def load(text: str) -> list[tuple[Any, tuple[Problem, ...]]] | None:
    """The documents, none of which has a problem; or None for what is not clean JSON.

    None is no verdict: the caller goes on to read the text as YAML, which
    contains JSON, and which tells what is wrong with line and column.
    """
    start = _past_space(text, 0)
    if text[start : start + 1] not in ("{", "["):
        return None
    decoder = json.JSONDecoder(
        object_pairs_hook=_mapping, parse_constant=_refuse, parse_int=resolved, parse_float=resolved
    )
    found: list[tuple[Any, tuple[Problem, ...]]] = []
    while start < len(text):
        try:
            content, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return None
        if _too_deep(content):
            return None
        found.append((content, ()))
        start = _past_space(text, end)
    if _SURROGATE.search(text) and not all(_encodable(content) for content, _ in found):
        return None
    return found


def _past_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("A key stands twice.")
    if None in mapping.values():
        return {key: value for key, value in mapping.items() if value is not None}
    return mapping


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON.")


def _too_deep(content: Any) -> bool:
    row = [content] if type(content) is dict or type(content) is list else []
    for _ in range(DEEPEST):
        if not row:
            return False
        row = [
            inner
            for outer in row
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
    return bool(row)


def _encodable(content: Any) -> bool:
    """Whether all strings can be written again: half of a surrogate pair cannot."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
