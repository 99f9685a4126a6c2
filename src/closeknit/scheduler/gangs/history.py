"""Whether a gang has run, as the status of its PodGroup states it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

STALE = "Stale"
"""The reason of conditions of a gang that ran and is below its minimum."""
_TYPES = ("Scheduled", "PodGroupScheduled")


def has_run(group: Mapping[str, Any]) -> bool:
    """Whether the conditions of a PodGroup state that it is scheduled, or that it was and has lost pods."""
    status = group.get("status")
    if not isinstance(status, Mapping):
        return False
    for condition in _conditions(status, "conditions"):
        if condition.get("type") in _TYPES and (
            condition.get("status") == "True" or condition.get("reason") == STALE
        ):
            return True
    return any(
        isinstance(reason, Mapping) and reason.get("reason") == STALE
        for condition in _conditions(status, "schedulingConditions")
        for reason in condition.get("reasons") or ()
    )


def _conditions(status: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    conditions = status.get(field)
    if isinstance(conditions, list):
        yield from (condition for condition in conditions if isinstance(condition, Mapping))
