"""What parts of a PodCliqueSet tell of themselves in their status, and what is read from it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from closeknit.apis.grove_keys import MANAGED_BY, OPERATOR, PART_OF
from closeknit.dialects.family import Condition
from closeknit.dialects.store.objects import Stored

BREACHED = "MinAvailableBreached"
CURRENT = "currentPodCliqueSetGenerationHash"
"""The field of a scaling group's status that says of which templates it speaks."""
_SUFFICIENT = "SufficientReadyPods"
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_USUAL_DELAY = timedelta(hours=4)


def status_of(stored: Stored[Any]) -> Mapping[str, Any]:
    """The status of an object as it was last read."""
    return stored.written.get("status") or {}


def count(stored: Stored[Any] | None, field: str) -> int:
    """A number of a status; 0 where there is none."""
    found = status_of(stored).get(field) if stored is not None else None
    return found if isinstance(found, int) else 0


def condition_of(stored: Stored[Any], kind: str) -> Mapping[str, Any]:
    """A condition of a status; empty where there is none."""
    conditions = status_of(stored).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), {})


def generation_of(stored: Stored[Any]) -> int:
    """The number of an object's specification."""
    return int(stored.written["metadata"].get("generation") or 1)


def is_looked_at(stored: Stored[Any]) -> bool:
    """Whether a status speaks of the present specification."""
    return count(stored, "observedGeneration") == generation_of(stored)


def breached(stored: Stored[Any], *, enough: bool, ready: str, least: str) -> Condition:
    """Whether fewer parts are ready than must be; nobody misses what was never there."""
    if enough:
        return Condition(BREACHED, "False", _SUFFICIENT, f"{ready} of at least {least} ready.")
    before = condition_of(stored, BREACHED)
    was_there = before.get("status") == "True" or before.get("reason") == _SUFFICIENT
    if was_there:
        return Condition(BREACHED, "True", "InsufficientReadyPods", f"{ready} of at least {least} ready.")
    return Condition(BREACHED, "False", "NotYetReady", f"{ready} of at least {least} ready so far.")


def breached_since(stored: Stored[Any]) -> datetime | None:
    """Since when fewer are ready than must be; None while enough are."""
    found = condition_of(stored, BREACHED)
    if found.get("status") != "True":
        return None
    try:
        moment = datetime.fromisoformat(str(found.get("lastTransitionTime", "")))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def termination_delay(pod_clique_set: Stored[Any]) -> timedelta:
    """How long fewer may be ready before a gang is ended and made anew."""
    template = (pod_clique_set.written.get("spec") or {}).get("template") or {}
    return _duration(template.get("terminationDelay")) or _USUAL_DELAY


def _duration(text: object) -> timedelta | None:
    """A duration as Go writes it, such as ``1h30m``; None for anything else."""
    if not isinstance(text, str):
        return None
    seconds, number, unit = 0.0, "", ""
    for char in f"{text}0":
        if char.isdigit() or char == ".":
            if unit:
                if unit not in _UNITS or not number:
                    return None
                seconds, number, unit = seconds + float(number) * _UNITS[unit], "", ""
            number += char
        else:
            unit += char
    return timedelta(seconds=seconds) if number == "0" and seconds else None


def selector_of(pod_clique_set: str, label: str = "", value: str = "") -> str:
    """A selector of the pods of a set, or of some of them."""
    found = {MANAGED_BY: OPERATOR, PART_OF: pod_clique_set, **({label: value} if label else {})}
    return ",".join(f"{key}={each}" for key, each in found.items())
