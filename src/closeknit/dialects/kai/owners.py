"""Whose pods KAI groups by itself, and what the owner says about their PodGroup as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from closeknit.apis.batch_v1 import JobStatus
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kai import keys
from closeknit.dialects.kai.derived import Derived, Outline, Template
from closeknit.dialects.kai.further_fields import wrong
from closeknit.dialects.kueue.owners import speaks_to_kueue as is_kueues
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told

DEFAULT_QUEUE = "default-queue"
DEFAULT_PRIORITY = "train"


@dataclass(frozen=True, slots=True)
class Owner:
    """Something that makes pods, and the templates that it makes them of."""

    manifest: Stored[Any]
    templates: tuple[Template, ...]
    outer: tuple[ObjectMeta, ...] = ()
    """What stands between the owner and its pods, such as the Jobs of a JobSet."""

    @property
    def metadata(self) -> ObjectMeta:
        """The owner's own labels and annotations."""
        metadata: ObjectMeta = self.manifest.content.metadata
        return metadata

    def all_metadata(self) -> Iterator[ObjectMeta]:
        """The owner's, and those of everything that it makes."""
        yield self.metadata
        yield from self.outer
        yield from (template.given.metadata for template in self.templates)

    @property
    def is_kais(self) -> bool:
        """Whether it speaks to KAI and leaves the grouping to it.

        What queues in Kueue is Kueue's, whoever places it afterwards.
        """
        if any(each.annotations.get(keys.SKIP) == "true" for each in self.all_metadata()):
            return False
        first, *rest = self.all_metadata()
        if is_kueues(first, *rest):
            return False
        return any(each.given.spec.scheduler_name == keys.SCHEDULER for each in self.templates) or any(
            key.startswith(keys.PREFIX)
            for each in self.all_metadata()
            for key in (*each.labels, *each.annotations)
        )

    def derived(
        self,
        outline: Outline,
        found: list[Problem],
        *,
        holders: tuple[str, ...],
        leaf_of: Callable[[ReadPod], str | None],
        suffix: str = "",
    ) -> Derived:
        """The PodGroup of this outline, with all that the owner says beside it."""
        priority, priority_path = self._priority()
        problems = list(found)
        further = dict(self._further(problems))
        uid = f"-{self.metadata.uid}" if self.metadata.uid else ""
        return Derived(
            manifest=self.manifest,
            name=f"pg-{self.manifest.name}{uid}{suffix}",
            queue=self._queue(),
            queue_path=within("metadata.labels", keys.QUEUE),
            priority_class=priority,
            priority_path=priority_path,
            outline=outline,
            problems=tuple(dict.fromkeys(problems)),
            further=further,
            holders=holders,
            leaf_of=leaf_of,
            suffix=suffix,
        )

    def _queue(self) -> str:
        """Its queue: named by label, else made of project and node pool, as KAI does."""
        places = [self.metadata.labels, *(each.given.metadata.labels for each in self.templates)]
        if queue := _first(places, keys.QUEUE):
            return queue
        project = _first(places, keys.PROJECT)
        pool = _first(places[1:], keys.NODE_POOL)
        return (f"{project}-{pool}" if pool else project) or DEFAULT_QUEUE

    def _priority(self) -> tuple[str, str]:
        places = [(self.metadata.labels, "metadata.labels")]
        places += [(each.given.metadata.labels, f"{each.path}.metadata.labels") for each in self.templates]
        for labels, path in places:
            if name := labels.get(keys.PRIORITY_CLASS):
                return name, within(path, keys.PRIORITY_CLASS)
        for each in self.templates:
            if name := each.given.spec.priority_class_name:
                return name, f"{each.path}.spec.priorityClassName"
        return DEFAULT_PRIORITY, ""

    def _further(self, found: list[Problem]) -> Iterator[tuple[str, str]]:
        """What is passed on to the PodGroup. KAI passes over what it does not understand; here it is told."""
        for key, field, place in (
            (keys.PREEMPTIBILITY, "preemptibility", "labels"),
            (keys.PREEMPTION_DELAY, "preemptionDelay", "annotations"),
            (keys.GRACE_PERIOD, "stalenessGracePeriod", "annotations"),
        ):
            for path, metadata in (
                ("metadata", self.metadata),
                *((f"{each.path}.metadata", each.given.metadata) for each in self.templates),
            ):
                written = (metadata.labels if place == "labels" else metadata.annotations).get(key)
                if written is None:
                    continue
                # KAI takes capitals in the label for small letters.
                value = written.lower() if place == "labels" else written
                message = wrong(field, value)
                if message:
                    found.append(as_told(within(f"{path}.{place}", key), message))
                else:
                    yield field, value
                break


def is_finished(status: JobStatus) -> bool:
    """Whether a job has come to its end, well or badly."""
    ends = ("Complete", "Completed", "Failed", "Succeeded")
    return any(each.type in ends and each.status == "True" for each in status.conditions)


def _first(places: list[dict[str, str]], key: str) -> str:
    return next((value for place in places if (value := place.get(key))), "")
