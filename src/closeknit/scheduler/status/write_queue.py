"""Which report is written next: what is due, why units wait before good news, each object once.

Time comes in as an argument, in seconds that never run backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.kube.backoff import Backoff
from closeknit.scheduler.status.reports import Report


class Rank(IntEnum):
    """What is written first of all that is due."""

    UNIT = 0
    """Why a unit waits."""
    POD = 1
    """Why a pod waits."""
    PLACED = 2
    """That a unit was placed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How eagerly reports are written, in seconds but for the first."""

    writers: int = 8
    """How many writes at once."""
    patience: float = 1.0
    """For how long something may be wrong with a unit before anybody is told: its objects come one by one."""
    details: float = 30.0
    """How often the details of a reason that stays the same are written."""
    deferral: float = 15.0
    """For how long at most the news that a unit was placed waits for bindings to be done."""
    settling: float = 1.0
    """Seconds after which an object that changed is compared with its report: most changes are our own."""
    recheck: float = 0.002
    """Seconds for each unit between two checks of all that run, while nodes or topologies keep changing."""


@dataclass(slots=True, eq=False)
class Subject:
    """An object, what should be told about it, and what was."""

    key: Key
    workload: Workload
    uid: str = ""
    """Of a pod: another pod of its name is another subject."""
    rank: Rank = Rank.UNIT
    wanted: Report | None = None
    """None where everything is told."""
    due: float = 0.0
    written: Report | None = None
    written_at: float = 0.0
    since: str = ""
    """When the pod was first said to wait."""
    writing: bool = False
    dismissed: bool = False
    """Whether nothing more is to be told, because the pod got a node or the object is gone."""
    backoff: Backoff | None = None
    correcting: bool = False
    """Whether what was written is to be written again, because the object shows something else."""
    rivalry: Backoff | None = None
    """Between two corrections of an object that others keep changing."""
    corrected_at: float = 0.0
    correct_from: float = 0.0
    awaited: tuple[Hashable, Callable[[], None]] | None = None
    """A plan, and who waits for it to be written."""


class ReportQueue:
    """The objects that something is to be told about, in the order of writing."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._queues: dict[Rank, list[tuple[float, int, Subject]]] = {rank: [] for rank in Rank}
        self._order = count()

    def want(self, subject: Subject, rank: Rank, told: Report, now: float) -> None:
        """Tell this of an object, instead of what should have been told and is not written yet."""
        if told == subject.written and not subject.writing and not subject.correcting:
            subject.wanted = None
            return
        same = told.says_the_same(subject.wanted)
        subject.wanted = told
        if same and subject.rank is rank:
            # It is in the queue already, and what is written then is the latest.
            return
        due = now
        if told.says_the_same(subject.written):
            due = max(now, subject.written_at + self._pace.details)
        self.put(subject, rank, due)

    def put(self, subject: Subject, rank: Rank, due: float) -> None:
        """Write what is wanted of an object at this time or later."""
        subject.rank, subject.due = rank, due
        heappush(self._queues[rank], (due, next(self._order), subject))

    def take(self, now: float, *, busy: bool) -> Iterator[Subject]:
        """What may be written now, the most urgent first; each is marked as being written.

        While bindings are under way (``busy``), the news that a unit was placed waits.
        """
        for rank, queue in self._queues.items():
            while (soonest := self._soonest(rank)) is not None and soonest <= now:
                if rank is Rank.PLACED and busy and now < soonest + self._pace.deferral:
                    break
                _, _, subject = heappop(queue)
                subject.writing = True
                yield subject

    def next_time(self, *, busy: bool) -> float | None:
        """When something will be due that is not now; None where nothing is in the queue."""
        times = [
            soonest + (self._pace.deferral if busy and rank is Rank.PLACED else 0.0)
            for rank in Rank
            if (soonest := self._soonest(rank)) is not None
        ]
        return min(times, default=None)

    def _soonest(self, rank: Rank) -> float | None:
        """When the first of a rank is due, passing over what is being written or was queued again since."""
        queue = self._queues[rank]
        while queue:
            due, _, subject = queue[0]
            if (
                subject.wanted is not None
                and not subject.writing
                and (subject.rank, subject.due) == (rank, due)
            ):
                return due
            heappop(queue)
        return None
