"""The PodGroups of a LeaderWorkerSet: one for each of its groups."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import job_keys
from closeknit.apis import kai_keys as keys
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.dialects.core.naming import lone_holder
from closeknit.dialects.core.pods import ReadPod
from closeknit.dialects.kai.derived import (
    MOST_PODS,
    MOST_SEGMENTS,
    Close,
    Derived,
    Leaf,
    Outline,
    Parent,
    Template,
    close_of,
    count,
    whole_number,
)
from closeknit.dialects.kai.owners import Owner
from closeknit.dialects.store.objects import Stored
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, between, shown, suggestion

_PATH = "spec.leaderWorkerTemplate"
_LEADER, _WORKERS = "leader", "workers"
_TOGETHER, _APART = "LeaderWorker", "LeaderExcluded"
_STARTUPS = ("LeaderCreated", "LeaderReady")


def of_leader_worker_set(manifest: Stored[LeaderWorkerSet]) -> Iterator[Derived]:
    """Each group must run as a whole: a leader without room for its workers would wait for ever.

    KAI asks for the leader alone first where the workers start after it; the room
    for all is looked for at once here, whatever the order in which they start.
    """
    given = manifest.content.spec
    worker = Template(f"{_PATH}.workerTemplate", given.leader_worker_template.worker_template)
    leader = worker
    if given.leader_worker_template.leader_template is not None:
        leader = Template(f"{_PATH}.leaderTemplate", given.leader_worker_template.leader_template)
    templates = (leader,) if leader is worker else (leader, worker)
    owner = Owner(manifest, templates)
    if not owner.is_kais:
        return
    found: list[Problem] = []
    replicas = count(given.replicas, 1, "spec.replicas", found)
    size = count(given.leader_worker_template.size, 1, f"{_PATH}.size", found)
    if size == 0 and not found:
        found.append(as_told(f"{_PATH}.size", "A group has at least its leader. Write 1 or more."))
    if replicas * size > MOST_PODS:
        message = f"These are {replicas * size} pods. At most {MOST_PODS} can be asked for."
        found.append(as_told("spec.replicas", message))
        replicas = 1
    if given.startup_policy and given.startup_policy not in _STARTUPS:
        remedy = suggestion(given.startup_policy, _STARTUPS)
        found.append(as_told("spec.startupPolicy", f"{shown(given.startup_policy)} is not known. {remedy}"))
    for key in job_keys.EXCLUSIVE:
        if key in manifest.content.metadata.annotations:
            message = f"This is not taken into account when pods are placed. Use {keys.REQUIRED}."
            found.append(as_told(within("metadata.annotations", key), message))
    segments = _Segments(manifest, worker, size, found)
    # What is wrong with the set is wrong with each of its groups, and is told once.
    for group in range(1 if found else replicas):
        parts = segments.parts(group, leader)
        yield owner.derived(
            Outline(
                tuple(parts),
                close_of(manifest.content.metadata.annotations, "metadata.annotations"),
                min_member=size,
            ),
            found,
            holders=_holders(manifest, group),
            leaf_of=segments.leaf_of(group),
            suffix=f"-group-{group}",
        )


def _holders(manifest: Stored[LeaderWorkerSet], group: int) -> tuple[str, ...]:
    """Leaders belong to one StatefulSet, the workers of each group to another."""
    return tuple(
        lone_holder("StatefulSet", manifest.namespace, name)
        for name in (manifest.name, f"{manifest.name}-{group}")
    )


class _Segments:
    """Which pod of a group lies in which subgroup.

    Without segments there are the leader and its workers. With them, workers
    follow each other in pieces of one size. The leader belongs to the first piece, as one pod more where the
    workers fill whole pieces and as its first pod where they do not; or it stands apart.
    """

    def __init__(
        self, manifest: Stored[LeaderWorkerSet], worker: Template, size: int, found: list[Problem]
    ) -> None:
        self._manifest = manifest
        self._worker = worker
        self._group_size = size
        self._apart = False
        self._close = Close()
        self._size = _segment_size(manifest, worker, size, found)
        if self._size is None:
            return
        own = manifest.content.metadata.annotations, "metadata.annotations"
        self._close = close_of(
            worker.given.metadata.annotations,
            worker.annotations_path,
            levels=(keys.SEGMENT_REQUIRED, keys.SEGMENT_PREFERRED),
            inherited=own,
        )
        self._full = (size - 1) % self._size == 0
        written = manifest.content.spec.leader_worker_template.sub_group_policy.sub_group_policy_type
        path = f"{_PATH}.subGroupPolicy.subGroupPolicyType"
        if written and written not in (_TOGETHER, _APART):
            remedy = suggestion(written, (_TOGETHER, _APART))
            found.append(as_told(path, f"{shown(written)} is not known. {remedy}"))
        self._apart = written == _APART
        if self._apart and not self._full:
            message = f"{size - 1} workers cannot be cut into segments of {self._size}."
            found.append(as_told(path, f"{message} Choose a size that divides them, or use {_TOGETHER}."))

    def segment(self, worker: int) -> int:
        """The segment of a worker, counted from 1 as its controller does; 0 is the leader."""
        assert self._size is not None
        return max(worker - 1, 0) // self._size if self._full else worker // self._size

    def subgroup(self, worker: int) -> str:
        """The leaf of a pod."""
        if worker == 0:
            return _LEADER
        if self._size is None or (self.segment(worker) == 0 and not self._apart):
            return _WORKERS
        return f"segment-{self.segment(worker)}"

    def parts(self, group: int, leader: Template) -> Iterator[Leaf | Parent]:
        """The subgroups of one group, in the order in which KAI writes them."""
        pods: dict[str, list[int]] = {}
        for worker in range(self._group_size):
            pods.setdefault(self.subgroup(worker), []).append(worker)
        inside = self._size is not None and not self._apart
        if inside:
            within_first = [name for name in (_LEADER, _WORKERS) if name in pods]
            yield Parent("segment-0", len(within_first), self._close)
            order = [name for name in pods if name not in within_first] + within_first
        else:
            order = list(pods)
        for name in order:
            segmented = name.startswith("segment-")
            yield self._leaf(
                name,
                group,
                pods[name],
                leader if name == _LEADER else self._worker,
                close=self._close if segmented else Close(),
                parent="segment-0" if inside and not segmented else "",
            )

    def _leaf(
        self, name: str, group: int, workers: list[int], template: Template, *, close: Close, parent: str
    ) -> Leaf:
        stem = f"{self._manifest.name}-{group}"
        return Leaf(
            name=name,
            template=template,
            pods=tuple(f"{stem}-{worker}" if worker else stem for worker in workers),
            minimum=len(workers),
            minimum_path=f"{_PATH}.size",
            parent=parent,
            close=close,
            labels={job_keys.LEADER_WORKER_SET: self._manifest.name, job_keys.GROUP_INDEX: str(group)},
            index_label=job_keys.WORKER_INDEX,
            first=workers[0],
        )

    def leaf_of(self, group: int) -> _LeafOf:
        """How to find the leaf of a pod of this group."""
        return _LeafOf(self, group)


class _LeafOf:
    """Finds the leaf of a pod by the numbers that its controller gave it."""

    def __init__(self, segments: _Segments, group: int) -> None:
        self._segments = segments
        self._group = group

    def __call__(self, pod: ReadPod) -> str | None:
        labels = pod.manifest.content.metadata.labels
        worker = labels.get(job_keys.WORKER_INDEX, "")
        if labels.get(job_keys.GROUP_INDEX) != str(self._group) or not worker.isdecimal() or len(worker) > 9:
            return None
        return self._segments.subgroup(int(worker))


def _segment_size(
    manifest: Stored[LeaderWorkerSet], worker: Template, size: int, found: list[Problem]
) -> int | None:
    """Pods in a segment: by the set's own field, else by annotation; None without segments."""
    allowed = (2, size)
    own = manifest.content.spec.leader_worker_template.sub_group_policy.sub_group_size
    if own is not None:
        if allowed[0] <= own <= allowed[1]:
            return _not_too_many(own, size, f"{_PATH}.subGroupPolicy.subGroupSize", found)
        message = f"{own} is not possible. {between(*allowed)}"
        found.append(as_told(f"{_PATH}.subGroupPolicy.subGroupSize", message))
        return None
    for noted, path in (
        (manifest.content.metadata.annotations, "metadata.annotations"),
        (worker.given.metadata.annotations, worker.annotations_path),
    ):
        if keys.SEGMENT_SIZE in noted:
            read = whole_number(noted, keys.SEGMENT_SIZE, path, allowed, found)
            where = within(path, keys.SEGMENT_SIZE)
            return None if read is None else _not_too_many(read, size, where, found)
    return None


def _not_too_many(segment: int, size: int, path: str, found: list[Problem]) -> int | None:
    if -(-size // segment) > MOST_SEGMENTS:
        message = f"These are {-(-size // segment)} segments. At most {MOST_SEGMENTS} are made."
        found.append(as_told(path, message))
        return None
    return segment
