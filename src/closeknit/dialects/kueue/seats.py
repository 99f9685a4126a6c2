"""The places of a pod set, and which of its pods that exist take which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from closeknit.apis import job_keys
from closeknit.dialects.core.pods import ReadPod, Stage, by_rank


@dataclass(frozen=True, slots=True)
class Seat:
    """One pod of a pod set: running on a node, or to be placed under a name."""

    name: str
    node: str = ""
    held: bool = False
    """Whether the place is kept for a pod that is not there yet."""
    pin: tuple[tuple[str, str], ...] = ()
    """The labels of the domain that is kept for it, where that leaves several nodes."""


def job_pods(stem: str, count: int, each: int) -> list[str]:
    """The names of ``count`` pods, of which each Job has so many.

    There may be any number of Jobs without pods, so it is the pods that are counted.
    """
    return [f"{stem}-{i // each}-{i % each}" for i in range(count)]


def seats(names: list[str], pods: list[tuple[ReadPod, int | None]]) -> tuple[Seat, ...]:
    """Give each pod its place by rank; those without one take what is left, running ones first."""
    taken: list[Seat | None] = [None] * len(names)
    waiting: list[ReadPod] = []
    present = sorted(
        ((pod, rank) for pod, rank in pods if pod.stage in (Stage.RUNNING, Stage.OPEN)),
        key=lambda each: (each[0].stage is Stage.OPEN, by_rank(each[0])),
    )
    for pod, rank in present:
        if rank is not None and rank < len(taken) and taken[rank] is None:
            taken[rank] = seat(pod)
        else:
            waiting.append(pod)
    left = iter(waiting)
    for i, name in enumerate(names):
        if taken[i] is None:
            following = next(left, None)
            taken[i] = seat(following) if following is not None else Seat(name)
    return tuple(each for each in taken if each is not None)


def seat(pod: ReadPod) -> Seat:
    """The place of a pod that exists."""
    return Seat(pod.name, pod.node if pod.stage is Stage.RUNNING else "")


def labels(pod: ReadPod) -> Mapping[str, str]:
    """The labels of a pod."""
    return pod.manifest.content.metadata.labels


def number(pod: ReadPod, key: str) -> int | None:
    """The index that a pod carries as a label or annotation."""
    metadata = pod.manifest.content.metadata
    written = metadata.labels.get(key) or metadata.annotations.get(key) or ""
    return int(written) if written.isdecimal() and len(written) < 9 else None


def rank(pod: ReadPod, each: int) -> int | None:
    """The place of a JobSet's pod among all of its replicated job, of which each Job has so many."""
    job, index = number(pod, job_keys.JOB_INDEX), number(pod, job_keys.COMPLETION_INDEX)
    return None if job is None or index is None or index >= each else job * each + index
