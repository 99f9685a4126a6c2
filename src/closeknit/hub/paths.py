"""Paths to a field: steps from the top of an object, written as a user would type them.

``("spec", "subGroups", 1, "parent")`` is written ``spec.subGroups[1].parent``.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Step: TypeAlias = str | int
"""The key of a mapping, or the index of a list."""
Path: TypeAlias = tuple[Step, ...]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Verbatim(str):
    """A step that is no key: a line and column, the name of a file or of an option. Written as it is."""

    __slots__ = ()


def text_of(path: Path) -> str:
    """The path as a user would type it; a key that is no plain word, as a label's, is quoted in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text = f"{text}[{step}]"
        elif isinstance(step, Verbatim):
            text = f"{text}{step}"
        elif not _WORD.fullmatch(step):
            text = f'{text}["{_cut(step)}"]'
        else:
            # A colon parts the name of a file from the path in it.
            text = f"{text}.{_cut(step)}" if text and not text.endswith(":") else f"{text}{_cut(step)}"
    return text.removesuffix(":")


def starts_with(path: Path, prefix: Path) -> bool:
    """Whether the path leads to or into what the prefix leads to."""
    return path[: len(prefix)] == prefix


def rebased(path: Path, old: Path, new: Path) -> Path:
    """The path with its first steps replaced; unchanged where it does not start with them."""
    return (*new, *path[len(old) :]) if starts_with(path, old) else path


def _cut(key: str) -> str:
    # A label's key has at most 317 characters; whatever is longer is a mistake or malice.
    short = key if len(key) <= 320 else f"{key[:80]}…"
    return short if short.isprintable() else ascii(short)[1:-1]
