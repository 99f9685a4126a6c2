"""Pods that start after others: an annotation says after which, and how many of them must be ready.

An init container waits so on a real node (``python -m closeknit.live.waiting``); the kubelet's stand-in does
without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

STARTS_AFTER = "closeknit.dev/starts-after"
"""Annotation of a pod: others of its namespace and how many must be ready, such as ``a-0,a-1:2 b-0:1``."""


class Earlier(NamedTuple):
    """Pods of which some must be ready first."""

    pods: tuple[str, ...]
    least: int

    def __str__(self) -> str:
        return f"{','.join(self.pods)}:{self.least}"


def parse(text: str) -> tuple[Earlier, ...]:
    """What an annotation says. Raises ``ValueError`` for anything else."""
    found = []
    for word in text.split():
        names, colon, least = word.rpartition(":")
        if not colon or not all(names.split(",")) or not least.isdecimal():
            raise ValueError(
                f"{word!r} does not name pods and how many of them must be ready, as in a-0,a-1:2."
            )
        found.append(Earlier(tuple(names.split(",")), int(least)))
    return tuple(found)


def missing(earlier: Iterable[Earlier], find: Callable[[str], Mapping[str, Any] | None]) -> list[str]:
    """Of which pods too few are ready, in words; empty where a pod may start."""
    said = []
    for each in earlier:
        ready = sum(is_ready(pod) for name in each.pods if (pod := find(name)) is not None)
        if ready < each.least:
            said.append(f"{ready} of {each.least} ready among {', '.join(each.pods)}")
    return said


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether a pod says that it is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
