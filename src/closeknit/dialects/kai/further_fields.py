"""Fields of a PodGroup that say nothing about placement, and what KAI refuses or passes over there.

The author of a Job writes some of them as labels and annotations, from which they are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from closeknit.dialects.wire.spelling import found
from closeknit.hub.problems import Problem, as_told, shown, suggestion

PREEMPTIBILITIES = ("preemptible", "non-preemptible")
BACKOFFS = (-1, 1)
_DURATION = re.compile(
    r"(?P<sign>[-+]?)(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)",
    re.ASCII,
)
_DURATIONS = ("preemptionDelay", "stalenessGracePeriod")


def wrong(field: str, written: str) -> str:
    """Why a field cannot have this text; empty where it can."""
    if field == "preemptibility":
        known = written in PREEMPTIBILITIES
        return "" if known else f"{shown(written)} is not known. {suggestion(written, PREEMPTIBILITIES)}"
    duration = _DURATION.fullmatch(written)
    if duration is None:
        return f"{shown(written)} is not a duration. Write it as in 90s or 1h30m."
    # Less than no time stands for never, which only the grace period can be.
    if duration["sign"] == "-" and field == "preemptionDelay":
        return f"{shown(written)} is negative. Write zero or more, as in 90s."
    return ""


def _plain(value: object) -> str:
    return found(value).partition(",")[0]


def field_problems(written: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with these fields of a PodGroup, as it was written."""
    spec = written.get("spec")
    if not isinstance(spec, dict):
        return
    for field in ("preemptibility", *_DURATIONS):
        value = spec.get(field)
        if isinstance(value, str):
            message = wrong(field, value)
            if message and (value or field == "preemptibility"):
                yield as_told(f"spec.{field}", message)
        elif value is not None:
            yield as_told(f"spec.{field}", f"Found {found(value)} where a string is expected.")
    backoff = spec.get("schedulingBackoff")
    if backoff is not None and (type(backoff) is not int or backoff not in BACKOFFS):
        yield as_told("spec.schedulingBackoff", f"{_plain(backoff)} is not known. Allowed are -1 and 1.")
    marked = spec.get("markUnschedulable")
    if marked is not None and not isinstance(marked, bool):
        yield as_told("spec.markUnschedulable", f"Found {found(marked)} where true or false is expected.")
