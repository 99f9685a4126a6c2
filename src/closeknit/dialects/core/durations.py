"""Durations as Go's ``time.ParseDuration`` reads them: ``90s``, ``1h30m``, ``-1.5h``, ``0``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import core as sentences

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = rf"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)({'|'.join(_NANOSECONDS)})"
_DURATION = re.compile(rf"([-+]?)(?:0|((?:{_PART})+))")
_PARTS = re.compile(_PART)
_LONGEST = 2**63
"""Nanoseconds, as many as fit into a Go ``time.Duration``; one less if positive."""
_DIGITS = 19
"""Of ``_LONGEST``. More before the point are too many in any unit, more behind it change nothing."""


def duration_problems(path: Path, value: str, *, negative: bool = False) -> Iterator[Problem]:
    """Why a text is no duration, or one that is not allowed."""
    nanoseconds = _nanoseconds(value)
    if nanoseconds is None:
        yield sentences.NOT_A_DURATION.at(path, value=value)
    elif nanoseconds < 0 and not negative:
        yield sentences.NEGATIVE_DURATION.at(path, value=value)


def seconds(duration: str) -> float | None:
    """The length of a duration; None for a text that is empty or not a duration."""
    nanoseconds = _nanoseconds(duration)
    return None if nanoseconds is None else nanoseconds / 10**9


def _nanoseconds(text: str) -> int | None:
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign, parts = match[1], match[2] or ""
    total = 0
    for number, unit in _PARTS.findall(parts):
        whole, _, fraction = number.partition(".")
        whole, fraction = whole.lstrip("0"), fraction[:_DIGITS]
        if len(whole) > _DIGITS:
            return None
        total += int(whole or "0") * _NANOSECONDS[unit]
        total += int(fraction or "0") * _NANOSECONDS[unit] // 10 ** len(fraction)
    if total > _LONGEST - (sign != "-"):
        return None
    return -total if sign == "-" else total
