"""Who goes first: what is admitted already, then priority, then creation time, then name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.scheduling_k8s_io_v1 import PriorityClass
from closeknit.dialects.core.notes import not_in_sight
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.sentences import core as sentences
from closeknit.hub.workload import Workload

BUILT_IN: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The classes that every Kubernetes cluster has."""

NEVER = "Never"
"""The preemption policy of what waits until there is room."""


@dataclass(frozen=True, slots=True)
class Priorities:
    """What the names of priority classes mean in one cluster."""

    classes: Mapping[str, int]
    default: int = 0
    """For who names none."""
    never: frozenset[str] = frozenset()
    """The classes with the preemption policy ``Never``; the empty name if that is the default's."""


def priorities(view: View) -> Priorities:
    """All priority classes; of several defaults the lowest counts, as Kubernetes has it."""
    stored = view.of(PriorityClass)
    lowest = min(
        (each for each in stored if each.content.global_default),
        key=lambda each: (each.content.value, each.name),
        default=None,
    )
    never = {each.name for each in stored if each.content.preemption_policy == NEVER}
    if lowest is not None and lowest.name in never:
        never.add("")
    default = lowest.content.value if lowest is not None else 0
    return Priorities({each.name: each.content.value for each in stored}, default, frozenset(never))


def preempts(view: View, name: str) -> bool:
    """Whether others may be evicted for what has the priority class of this name, or none."""
    return name not in view.derive(priorities).never


def priority_of(
    view: View, name: str, path: Path, found: list[Problem], also: Mapping[str, int] | None = None
) -> int:
    """The priority of the class that stands at this path.

    ``also`` are classes that a family's installation brings. An unknown class counts as the default, and is
    added to ``found``, as a note where the view is lenient or no class is in sight.
    """
    known = view.derive(priorities)
    if not name:
        return known.default
    classes = {**BUILT_IN, **(also or {}), **known.classes}
    if name not in classes:
        remedy = OneOf.among(name, classes)
        unknown = sentences.NOT_FOUND.at(path, kind="PriorityClass", name=name, remedy=remedy)
        found.append(not_in_sight(unknown, view, known.classes))
    return classes.get(name, known.default)


def created(stored: Stored[KubernetesObject], found: list[Problem]) -> str:
    """When an object was created, in UTC so that times compare as text; empty where that is not known."""
    written = stored.content.metadata.creation_timestamp
    if not written:
        return ""
    moment = _moment(written)
    if moment is None:
        found.append(sentences.NOT_A_TIME.at(("metadata", "creationTimestamp"), value=written))
        return ""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _moment(written: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(written)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def seconds_since_epoch(written: str) -> float | None:
    """A time as Kubernetes writes it, in seconds since 1970; None if it is not one."""
    moment = _moment(written)
    return moment.timestamp() if moment is not None else None


def queue_order(workload: Workload) -> tuple[bool, int, bool, str, str, str]:
    """A key that sorts workloads into the order in which they are placed."""
    return (
        not workload.admitted,
        -workload.priority,
        not workload.created,
        workload.created,
        workload.object.namespace,
        workload.object.name,
    )
