"""Paths to a field, as a user would type them: ``spec.subGroups[1].parent``."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def within(path: str, *steps: str | int) -> str:
    """The path of something inside; a number is a place in a list.

    A key that is not a plain word, such as a label's, is quoted in brackets.
    """
    for step in steps:
        if isinstance(step, int):
            path = f"{path}[{step}]"
        elif not _WORD.fullmatch(step):
            path = f'{path}["{_cut(step)}"]'
        else:
            path = f"{path}.{_cut(step)}" if path else _cut(step)
    return path


def join(outer: str, inner: str) -> str:
    """The path of ``inner``, which was counted from ``outer``."""
    if not outer or not inner:
        return outer or inner
    return f"{outer}{inner}" if inner.startswith("[") else f"{outer}.{inner}"


def path_of(steps: Iterable[str | int]) -> str:
    """The path that these steps lead to, from the top of a document."""
    return within("", *steps)


def _cut(key: str) -> str:
    # A label's key has at most 317 characters; whatever is longer is a mistake or malice.
    short = key if len(key) <= 320 else f"{key[:80]}…"
    return short if short.isprintable() else ascii(short)[1:-1]
