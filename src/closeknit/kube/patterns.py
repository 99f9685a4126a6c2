"""Regular expressions that users write: read and matched by RE2, as Kubernetes does.

Python's engine backtracks: `^(a+)+$` takes twice as long for each further letter. RE2 takes a time that is at
most its length times the states of the pattern, in a bounded amount of memory. It has no look-around and no
backreferences, and neither has Go's engine, so an API server refuses such patterns, too. Expressions in our
own source may stay with `re`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

LONGEST: Final = 16 * 1024
"""How many characters a pattern may have; those of published definitions have 150 at most."""
_SHOWN: Final = 200
"""How many characters of what is wrong are shown: it has the pattern in it."""
_REMEMBERED: Final = 128
"""Matches of longer texts are not remembered, which would take their memory."""

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True


class PatternError(ValueError):
    """A text that is no pattern."""


def check(pattern: str) -> None:
    """Raise PatternError, with what is wrong, for text that is no pattern."""
    _compiled(pattern)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    if len(pattern) > LONGEST:
        raise PatternError(f"it has more than {LONGEST} characters")
    try:
        return re2.compile(pattern, _OPTIONS)
    except UnicodeEncodeError:
        raise PatternError("it has half of a surrogate pair") from None
    except re2.error as error:
        reason = error.args[0] if error.args else b""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(text[:_SHOWN]) from None


def matches(pattern: str, text: str) -> bool:
    """Whether a text has a pattern in it. Nothing matches what is no pattern."""
    return _remembered(pattern, text) if len(text) <= _REMEMBERED else _search(pattern, text)


def most_steps(pattern: str, text: str) -> int:
    """How many steps a match takes at most: a step for each state of the pattern at each place of the
    text.
    """
    try:
        return int(_compiled(pattern).programsize) * (len(text) + 1)
    except PatternError:
        return 0


@lru_cache(maxsize=8192)
def _remembered(pattern: str, text: str) -> bool:
    return _search(pattern, text)


def _search(pattern: str, text: str) -> bool:
    try:
        return _compiled(pattern).search(text) is not None
    except (PatternError, UnicodeEncodeError):
        return False
