"""The labels, annotations and counts of an owner that KAI makes a PodGroup from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from closeknit.apis import kai_keys as keys
from closeknit.apis import kueue_keys
from closeknit.apis.batch_v1 import JobStatus
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.scheduling_run_ai_v2alpha2 import TopologyConstraint
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.kai.constraints import Fields
from closeknit.dialects.kai.implicit_groups import NO_CONSTRAINT, Constraint, ImplicitGroup, Outline, Template
from closeknit.dialects.kai.rules import value_problems
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kai as sentences

DEFAULT_QUEUE = "default-queue"
DEFAULT_PRIORITY = "train"
MOST_SEGMENTS = 10_000
ANNOTATIONS: Path = ("metadata", "annotations")
LABELS: Path = ("metadata", "labels")


@dataclass(frozen=True)
class Owner:
    """Something that makes pods, and the templates that it makes them of."""

    stored: Stored[Any]
    templates: tuple[Template, ...]
    between: tuple[ObjectMeta, ...] = ()
    """What stands between the owner and its pods, such as the Jobs of a JobSet."""

    @property
    def metadata(self) -> ObjectMeta:
        """The owner's own labels and annotations."""
        metadata: ObjectMeta = self.stored.content.metadata
        return metadata

    @cached_property
    def all_metadata(self) -> tuple[ObjectMeta, ...]:
        """The owner's, and those of everything that it makes; without those that say nothing."""
        templates = (template.given.metadata for template in self.templates)
        every = (self.metadata, *self.between, *templates)
        return tuple([each for each in every if each.labels or each.annotations])

    @cached_property
    def queues_in_kueue(self) -> bool:
        """Whether it names a queue of Kueue, or asks for a topology in Kueue's words."""
        asked = (*kueue_keys.KEP_ANNOTATIONS, *kueue_keys.POD_SET_ANNOTATIONS)
        return kueue_keys.QUEUE in self.metadata.labels or any(
            key in each.annotations for each in self.all_metadata for key in asked
        )

    @property
    def is_grouped_by_kai(self) -> bool:
        """Whether it names KAI as its scheduler or carries a label of KAI's, and leaves the grouping to it.

        What queues in Kueue is Kueue's, whoever places it afterwards.
        """
        skipped = any(each.annotations.get(keys.SKIP) == "true" for each in self.all_metadata)
        if skipped or self.queues_in_kueue:
            return False
        return any(each.given.spec.scheduler_name == keys.SCHEDULER for each in self.templates) or any(
            key.startswith(keys.PREFIX)
            for each in self.all_metadata
            for key in (*each.labels, *each.annotations)
        )

    def overruled(self) -> Iterator[Problem]:
        """Levels asked for in KAI's words by what queues in Kueue, which does not see them."""
        if self.queues_in_kueue:
            levels = (keys.REQUIRED, keys.PREFERRED)
            asked = {key for each in self.all_metadata for key in levels if key in each.annotations}
            for key in sorted(asked):
                yield sentences.QUEUES_IN_KUEUE.at(("metadata",), key=key)

    def constraint(self) -> Constraint:
        """That of all its pods."""
        return constraint_of(self.metadata.annotations, ANNOTATIONS)

    def segment_constraint(self, template: Template) -> Constraint:
        """That of each segment of a template's pods."""
        levels = (keys.SEGMENT_REQUIRED, keys.SEGMENT_PREFERRED)
        annotations = template.given.metadata.annotations
        return constraint_of(annotations, template.annotations, levels, self.metadata.annotations)

    def implicit_group(self, outline: Outline, found: list[Problem]) -> ImplicitGroup:
        """The PodGroup of this outline, with the fields that do not depend on the owner's kind."""
        priority, priority_path = self._priority()
        problems = list(found)
        passed_on = dict(self._passed_on(problems))
        uid = f"-{self.metadata.uid}" if self.metadata.uid else ""
        return ImplicitGroup(
            owner=self.stored.object,
            name=f"pg-{self.stored.name}{uid}{outline.suffix}",
            queue=self._queue(),
            queue_path=(*LABELS, keys.QUEUE),
            priority_class=priority,
            priority_path=priority_path,
            outline=outline,
            problems=tuple(dict.fromkeys(problems)),
            passed_on=passed_on,
            pool=_first([found for found, _ in self._each("labels")], keys.NODE_POOL),
        )

    def _queue(self) -> str:
        """Its queue: named by label, else made of project and node pool, as KAI does."""
        labels = [found for found, _ in self._each("labels")]
        if queue := _first(labels, keys.QUEUE):
            return queue
        project, pool = _first(labels, keys.PROJECT), _first(labels[1:], keys.NODE_POOL)
        return (f"{project}-{pool}" if pool else project) or DEFAULT_QUEUE

    def _priority(self) -> tuple[str, Path]:
        for labels, path in self._each("labels"):
            if name := labels.get(keys.PRIORITY_CLASS):
                return name, (*path, keys.PRIORITY_CLASS)
        for each in self.templates:
            if name := each.given.spec.priority_class_name:
                return name, (*each.path, "spec", "priorityClassName")
        return DEFAULT_PRIORITY, ()

    def _passed_on(self, found: list[Problem]) -> Iterator[tuple[str, str]]:
        """Further fields of the PodGroup. KAI ignores values that it cannot parse; here they are problems."""
        for key, field, place in (
            (keys.PREEMPTIBILITY, "preemptibility", "labels"),
            (keys.PREEMPTION_DELAY, "preemptionDelay", "annotations"),
            (keys.GRACE_PERIOD, "stalenessGracePeriod", "annotations"),
        ):
            given = next(((each[key], path) for each, path in self._each(place) if key in each), None)
            if given is None:
                continue
            # KAI takes capitals in the label for small letters.
            value = given[0].lower() if place == "labels" else given[0]
            wrong = list(value_problems(field, value, (*given[1], key)))
            found.extend(wrong)
            if not wrong:
                yield field, value

    def _each(self, place: str) -> Iterator[tuple[dict[str, str], Path]]:
        """The labels or the annotations of the owner and of its templates, with their paths."""
        yield getattr(self.metadata, place), ("metadata", place)
        for each in self.templates:
            if said := getattr(each.given.metadata, place):
                yield said, (*each.path, "metadata", place)


def constraint_of(
    annotations: Mapping[str, str],
    path: Path,
    levels: tuple[str, str] = (keys.REQUIRED, keys.PREFERRED),
    inherited: Mapping[str, str] | None = None,
) -> Constraint:
    """The constraint that annotations at this path ask for; a topology without a level asks for nothing.

    ``inherited`` are the owner's annotations, that may name the topology instead.
    """
    required, preferred = (annotations.get(key, "") for key in levels)
    if not (required or preferred):
        return NO_CONSTRAINT
    topology, topology_path = annotations.get(keys.TOPOLOGY, ""), path
    if not topology and inherited is not None and inherited.get(keys.TOPOLOGY):
        topology, topology_path = inherited[keys.TOPOLOGY], ANNOTATIONS
    return Constraint(
        TopologyConstraint(
            topology=topology, required_topology_level=required, preferred_topology_level=preferred
        ),
        Fields((*topology_path, keys.TOPOLOGY), (*path, levels[0]), (*path, levels[1])),
    )


def whole_number(
    annotations: Mapping[str, str], key: str, path: Path, allowed: tuple[int, int], found: list[Problem]
) -> int | None:
    """The number that an annotation holds, None where there is none or where it cannot be used."""
    written = annotations.get(key)
    if written is None:
        return None
    least, most = allowed
    number = int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else -1
    if least <= number <= most:
        return number
    if most < least:
        found.append(sentences.NO_PODS_TO_COUNT.at((*path, key)))
    else:
        found.append(sentences.NOT_A_POSSIBLE_NUMBER.at((*path, key), value=written, least=least, most=most))
    return None


def count(value: int | None, default: int, path: Path, found: list[Problem]) -> int:
    """How many of something there are; what is out of range is added to ``found`` and counts as none."""
    number = default if value is None else value
    if not 0 <= number <= MOST_PODS:
        found.append(core.OUT_OF_RANGE.at(path, value=number, allowed=Range(0, MOST_PODS)))
        return 0
    return number


def segment_size(
    annotations: Mapping[str, str], path: Path, least: int, pods: int, found: list[Problem]
) -> int | None:
    """How many of these pods make a segment, by annotation; None without segments."""
    size = whole_number(annotations, keys.SEGMENT_SIZE, path, (least, pods), found)
    return None if size is None else limited_segments(pods, size, (*path, keys.SEGMENT_SIZE), found)


def limited_segments(pods: int, size: int, path: Path, found: list[Problem]) -> int | None:
    """The size of a segment; None where there would be too many of them."""
    number = -(-pods // size)
    if number > MOST_SEGMENTS:
        found.append(sentences.TOO_MANY_SEGMENTS.at(path, segments=number, most=MOST_SEGMENTS))
        return None
    return size


def is_finished(status: JobStatus) -> bool:
    """Whether a job has come to its end, well or badly."""
    ends = ("Complete", "Completed", "Failed", "Succeeded")
    return any(each.type in ends and each.status == "True" for each in status.conditions)


def _first(places: list[dict[str, str]], key: str) -> str:
    return next((value for place in places if (value := place.get(key))), "")
