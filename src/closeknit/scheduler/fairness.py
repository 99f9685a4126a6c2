"""Whose turn it is among queues that share a cluster.

Within a queue, workloads keep their order. Between queues, the one whose next workload stays within its
quota goes before one whose next workload does not; beyond that ``Accounts.standing`` decides, or where queues
are charged for whole workloads, the place in the queue. Workloads without a queue are served like those of a
queue that is never beyond its quota.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from closeknit.hub.accounts import Accounts
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.metering import next_cost

Lane: TypeAlias = tuple[str, ...]
Turn: TypeAlias = tuple[tuple[bool, int, tuple[float, ...]], ...]

_NEUTRAL = (False, -100, (0.0, 0.0, 0.0))
"""A queue that stays within its quota and has the priority that queues usually have."""
_DEEPEST = 16
"""Queues that are nested deeper than this are not told apart below it."""
_EVERYBODY: Turn = (_NEUTRAL,) * _DEEPEST


def lane(workload: Workload) -> Lane:
    """The queue within which a workload keeps its order; empty where it has none."""
    return workload.accounts[0].name if workload.accounts else ()


def turn(workload: Workload, accounts: Accounts) -> Turn:
    """A key that is least for the workload whose queue is next."""
    if not workload.accounts or not isinstance(workload, PlaceableWorkload):
        return _EVERYBODY
    standing = accounts.standing(next_cost(workload))
    return (*standing, *_EVERYBODY)[:_DEEPEST]


def _planned(workload: Workload, accounts: Accounts) -> Turn:
    """The same, also for a queue that is charged for whole workloads: what must borrow goes behind.

    Who is admitted already has what it needs.
    """
    if not workload.queue or workload.admitted or not workload.options:
        return turn(workload, accounts)
    borrows = all(accounts.borrows(option) for option in workload.options)
    return ((borrows, *_NEUTRAL[1:]), *_EVERYBODY)[:_DEEPEST]


def in_turn(workloads: Sequence[Workload], accounts: Accounts) -> Iterator[Workload]:
    """The workloads in the order in which they are served; who takes one charges it before the next."""
    lanes: dict[Lane, deque[tuple[int, Workload]]] = {}
    for place, workload in enumerate(workloads):
        lanes.setdefault((*lane(workload), workload.queue), deque()).append((place, workload))
    while lanes:
        if len(lanes) == 1:
            yield from (workload for _, workload in lanes.popitem()[1])
            return
        # The place in the queue is another for each, so that workloads themselves are never compared.
        heads = ((each[0], name) for name, each in lanes.items())
        _, _, chosen = min((_planned(head, accounts), place, name) for (place, head), name in heads)
        yield lanes[chosen].popleft()[1]
        if not lanes[chosen]:
            del lanes[chosen]
