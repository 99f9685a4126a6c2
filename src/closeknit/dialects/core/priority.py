"""Who goes first: what is admitted already, then priority, then creation time, then name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from closeknit.apis.scheduling_k8s_io_v1 import PriorityClass
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.kinds import Named
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem
from closeknit.hub.sentences import core as sentences
from closeknit.hub.workload import Workload

BUILT_IN: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The classes that every Kubernetes cluster has."""


@dataclass(frozen=True, slots=True)
class Priorities:
    """What the names of priority classes mean in one cluster."""

    classes: Mapping[str, int]
    default: int = 0
    """For who names none."""

    def named(self, name: str, path: Path, found: list[Problem], also: Mapping[str, int]) -> int:
        """The priority of a class; ``also`` are those that a dialect's own installation brings.

        An unknown name is added to ``found`` and counts as the default.
        """
        if not name:
            return self.default
        known = {**BUILT_IN, **also, **self.classes}
        if name not in known:
            remedy = OneOf.among(name, known)
            found.append(sentences.UNKNOWN_PRIORITY_CLASS.at(path, name=name, remedy=remedy))
        return known.get(name, self.default)


def priorities(manifests: Iterable[Stored[PriorityClass]]) -> Priorities:
    """Collect priority classes; of several defaults the lowest counts, as Kubernetes has it."""
    classes = {manifest.name: manifest.content.value for manifest in manifests}
    defaults = [manifest.content.value for manifest in manifests if manifest.content.global_default]
    return Priorities(classes, min(defaults, default=0))


def created(manifest: Stored[Named], found: list[Problem]) -> str:
    """When an object was created, in UTC so that times compare as text; empty where it does not say."""
    written = manifest.content.metadata.creation_timestamp
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
