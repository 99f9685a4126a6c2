"""Durations as Go writes them: ``90s``, ``1h30m``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import core as sentences

_DURATION = re.compile(
    r"(?P<sign>[-+]?)(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)",
    re.ASCII,
)
_PARTS = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration_problems(path: Path, value: str, *, negative: bool = False) -> Iterator[Problem]:
    """Why a text is no duration, or one that is not allowed."""
    found = _DURATION.fullmatch(value)
    if found is None:
        yield sentences.NOT_A_DURATION.at(path, value=value)
    elif found["sign"] == "-" and not negative:
        yield sentences.NEGATIVE_DURATION.at(path, value=value)


def seconds(duration: str) -> float | None:
    """How long a duration is; None where there is none, or where it is not one."""
    if not duration or _DURATION.fullmatch(duration) is None:
        return None
    long = sum(float(number) * _SECONDS[unit] for number, unit in _PARTS.findall(duration))
    return -long if duration.startswith("-") else long
