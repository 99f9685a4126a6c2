"""The PodGroups of a LeaderWorkerSet: one for each of its groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.dialects.core.pods import MOST_PODS
from closeknit.dialects.kai.implicit_groups import (
    NO_CONSTRAINT,
    Constraint,
    ImplicitGroup,
    Leaf,
    Outline,
    Parent,
    Template,
)
from closeknit.dialects.kai.owner_fields import ANNOTATIONS, Owner, count, limited_segments, segment_size
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import OneOf, Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kai as sentences

_TEMPLATES = ("spec", "leaderWorkerTemplate")
_SIZE = (*_TEMPLATES, "size")
_LEADER, _WORKERS = "leader", "workers"
_TOGETHER, _APART = "LeaderWorker", "LeaderExcluded"
_STARTUPS = ("LeaderCreated", "LeaderReady")


def leader_worker_set_owner(stored: Stored[LeaderWorkerSet]) -> Owner:
    """A LeaderWorkerSet with the template of its workers, and before it that of its leaders if it has one."""
    given = stored.content.spec.leader_worker_template
    worker = Template((*_TEMPLATES, "workerTemplate"), given.worker_template)
    if given.leader_template is None:
        return Owner(stored, (worker,))
    return Owner(stored, (Template((*_TEMPLATES, "leaderTemplate"), given.leader_template), worker))


def leader_worker_set_groups(owner: Owner) -> Iterator[ImplicitGroup]:
    """Each group must run as a whole: a leader without room for its workers would wait for ever.

    KAI asks for the leader alone first where the workers start after it; the room
    for all is looked for at once here, whatever the order in which they start.
    """
    given: LeaderWorkerSet = owner.stored.content
    found: list[Problem] = []
    replicas = count(given.spec.replicas, 1, ("spec", "replicas"), found)
    size = count(given.spec.leader_worker_template.size, 1, _SIZE, found)
    if size == 0 and not found:
        found.append(sentences.GROUP_WITHOUT_LEADER.at(_SIZE))
    if replicas * size > MOST_PODS:
        found.append(sentences.TOO_MANY_PODS.at(("spec", "replicas"), pods=replicas * size, most=MOST_PODS))
        replicas = 1
    startup = given.spec.startup_policy
    if startup and startup not in _STARTUPS:
        remedy = OneOf(startup, _STARTUPS)
        found.append(core.UNKNOWN_CHOICE.at(("spec", "startupPolicy"), value=startup, remedy=remedy))
    found.extend(
        sentences.EXCLUSIVE_TOPOLOGY.at((*ANNOTATIONS, key), instead=keys.REQUIRED)
        for key in job_keys.EXCLUSIVE
        if key in given.metadata.annotations
    )
    layout = _layout(owner, size, found)
    # A problem of the set is a problem of each of its groups, and is reported once.
    for group in range(1 if found else replicas):
        stem = f"{owner.stored.name}-{group}"
        # Leaders belong to one StatefulSet, the workers of each group to another.
        stateful_sets = (owner.stored.name, stem)
        outline = Outline(
            tuple(_subgroups(owner, layout, group, stem)),
            controllers=tuple(
                Key("apps", "StatefulSet", owner.stored.namespace, name) for name in stateful_sets
            ),
            labels={job_keys.LEADER_WORKER_SET: owner.stored.name},
            constraint=owner.constraint(),
            min_member=size,
            suffix=f"-group-{group}",
        )
        yield owner.implicit_group(outline, found)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which pod of a group lies in which subgroup.

    Without segments there are the leader and its workers. With them, workers
    follow each other in pieces of one size. The leader belongs to the first piece, as one pod more where the
    workers fill whole pieces and as its first pod where they do not; or it stands apart.
    """

    pods: int
    segment: int | None = None
    """How many pods a segment has; None without segments."""
    apart: bool = False
    constraint: Constraint = NO_CONSTRAINT
    """That of each segment."""

    @property
    def even(self) -> bool:
        """Whether the workers fill whole segments."""
        return self.segment is not None and (self.pods - 1) % self.segment == 0

    def subgroup(self, worker: int) -> str:
        """The leaf of a pod by its number; 0 is the leader."""
        if worker == 0:
            return _LEADER
        if self.segment is None:
            return _WORKERS
        number = (worker - 1 if self.even else worker) // self.segment
        return f"segment-{number}" if number or self.apart else _WORKERS


def _layout(owner: Owner, size: int, found: list[Problem]) -> _Layout:
    worker = owner.templates[-1]
    segment = _segment_size(owner, worker, size, found)
    if segment is None:
        return _Layout(size)
    written = owner.stored.content.spec.leader_worker_template.sub_group_policy.sub_group_policy_type
    path = (*_TEMPLATES, "subGroupPolicy", "subGroupPolicyType")
    if written and written not in (_TOGETHER, _APART):
        remedy = OneOf(written, (_TOGETHER, _APART))
        found.append(core.UNKNOWN_CHOICE.at(path, value=written, remedy=remedy))
    layout = _Layout(size, segment, written == _APART, owner.segment_constraint(worker))
    if layout.apart and not layout.even:
        uneven = sentences.UNEVEN_SEGMENTS
        found.append(uneven.at(path, workers=size - 1, size=segment, together=_TOGETHER))
    return layout


def _subgroups(owner: Owner, layout: _Layout, group: int, stem: str) -> Iterator[Leaf | Parent]:
    """The subgroups of one group, in the order in which KAI writes them."""
    pods: dict[str, list[int]] = {}
    for worker in range(layout.pods):
        pods.setdefault(layout.subgroup(worker), []).append(worker)
    inside = layout.segment is not None and not layout.apart
    order = list(pods)
    if inside:
        first = [name for name in (_LEADER, _WORKERS) if name in pods]
        yield Parent("segment-0", len(first), layout.constraint)
        order = [name for name in pods if name not in first] + first
    for name in order:
        is_segment = name.startswith("segment-")
        yield Leaf(
            name=name,
            template=owner.templates[0 if name == _LEADER else -1],
            pods=tuple(f"{stem}-{worker}" if worker else stem for worker in pods[name]),
            minimum=len(pods[name]),
            minimum_path=_SIZE,
            parent="segment-0" if inside and not is_segment else "",
            constraint=layout.constraint if is_segment else NO_CONSTRAINT,
            labels={job_keys.GROUP_INDEX: str(group)},
            index_label=job_keys.WORKER_INDEX,
            first=pods[name][0],
        )


def _segment_size(owner: Owner, worker: Template, size: int, found: list[Problem]) -> int | None:
    """Pods in a segment: by the set's own field, else by annotation; None without segments."""
    least = 2
    own = owner.stored.content.spec.leader_worker_template.sub_group_policy.sub_group_size
    if own is not None:
        path: Path = (*_TEMPLATES, "subGroupPolicy", "subGroupSize")
        if least <= own <= size:
            return limited_segments(size, own, path, found)
        found.append(core.NOT_POSSIBLE.at(path, value=own, allowed=Range(least, size)))
        return None
    for given, path in (
        (owner.metadata.annotations, ANNOTATIONS),
        (worker.given.metadata.annotations, worker.annotations),
    ):
        if keys.SEGMENT_SIZE in given:
            return segment_size(given, path, least, size, found)
    return None
