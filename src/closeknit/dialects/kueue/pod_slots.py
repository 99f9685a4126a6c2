"""The slots of a pod set, one for each of its pods, and which pods that exist fill which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from closeknit.dialects.core.pods import ReadPod, Stage, by_rank


@dataclass(frozen=True, slots=True)
class PodSlot:
    """One pod of a pod set: running on a node, or to be placed under a name."""

    name: str
    node: str = ""
    held: bool = False
    """Whether the node is kept for a pod that is not there yet."""
    pin: tuple[tuple[str, str], ...] = ()
    """The labels of the domain that is kept for it, where that leaves several nodes."""


def fill_slots(
    stem: str, count: int, each: int, pods: Iterable[ReadPod], *, index_label: str, job_label: str
) -> tuple[PodSlot, ...]:
    """The slots of ``count`` pods, of which each Job has so many; one Job where no label tells Jobs apart.

    Pods get their slots by rank; those without one take what is left, running ones first. There may be any
    number of Jobs without pods, so it is the pods that are counted.
    """
    names = [f"{stem}-{i // each}-{i % each}" if job_label else f"{stem}-{i}" for i in range(count)]
    slots: list[PodSlot | None] = [None] * len(names)
    unranked: list[ReadPod] = []
    present = (pod for pod in pods if pod.stage in (Stage.RUNNING, Stage.OPEN))
    for pod in sorted(present, key=lambda pod: (pod.stage is Stage.OPEN, by_rank(pod))):
        rank = _rank(pod, each, index_label, job_label)
        if rank is not None and rank < len(slots) and slots[rank] is None:
            slots[rank] = slot_of(pod)
        else:
            unranked.append(pod)
    left = iter(unranked)
    for i, name in enumerate(names):
        if slots[i] is None:
            following = next(left, None)
            slots[i] = slot_of(following) if following is not None else PodSlot(name)
    return tuple(slot for slot in slots if slot is not None)


def slot_of(pod: ReadPod) -> PodSlot:
    """The slot of a pod that exists."""
    return PodSlot(pod.name, pod.node if pod.stage is Stage.RUNNING else "")


def labels_of(pod: ReadPod) -> Mapping[str, str]:
    """The labels of a pod."""
    return pod.stored.content.metadata.labels


def _index(pod: ReadPod, key: str) -> int | None:
    """The index that a pod carries as a label or annotation."""
    metadata = pod.stored.content.metadata
    written = metadata.labels.get(key) or metadata.annotations.get(key) or ""
    return int(written) if written.isdecimal() and len(written) < 9 else None


def _rank(pod: ReadPod, each: int, index_label: str, job_label: str) -> int | None:
    """The rank of a pod in its pod set, which has Jobs of so many pods each."""
    index = _index(pod, index_label) if index_label else None
    job = _index(pod, job_label) if job_label else 0
    return None if index is None or job is None or index >= each else job * each + index
