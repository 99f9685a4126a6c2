"""Words for what was found, and whether it is a slip of the pen."""

from __future__ import annotations

import difflib
from typing import Any

from closeknit.hub.problems import shown

_NAMES = {dict: "a mapping", list: "a list", str: "a string", bool: "a truth value", type(None): "nothing"}


def is_slip(written: str, meant: str) -> bool:
    """Whether one is so near the other that it can hardly be a word of its own."""
    return difflib.SequenceMatcher(None, written.casefold(), meant.casefold()).ratio() > 0.85


def found(value: Any) -> str:
    """Name a value that has the wrong type; only scalars are quoted, a list would drown the sentence."""
    kind = _NAMES.get(type(value), "a number")
    if isinstance(value, bool):
        return f"{str(value).lower()}, {kind},"
    return f"{shown(value)}, {kind}," if isinstance(value, str | int | float) else kind
