"""Whose turn it is among queues that share a cluster.

Within a queue, workloads keep their order. Between queues, the one whose next workload stays within its
quota goes before one whose next workload does not; beyond that ``Accounts.standing`` decides. Workloads
without a queue are served like those of a queue that is never beyond its quota.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from closeknit.hub.accounts import Accounts
from closeknit.hub.workload import Workload
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
    if not workload.accounts or workload.request is None:
        return _EVERYBODY
    standing = accounts.standing(next_cost(workload))
    return (*standing, *_EVERYBODY)[:_DEEPEST]


def in_turn(workloads: Sequence[Workload], accounts: Accounts) -> Iterator[Workload]:
    """The workloads in the order in which they are served; who takes one charges it before the next."""
    lanes: dict[Lane, deque[tuple[int, Workload]]] = {}
    for place, workload in enumerate(workloads):
        lanes.setdefault(lane(workload), deque()).append((place, workload))
    while lanes:
        if len(lanes) == 1:
            yield from (workload for _, workload in lanes.popitem()[1])
            return
        # The place in the queue is another for each, so that workloads themselves are never compared.
        _, _, chosen = min((turn(each[0][1], accounts), each[0][0], name) for name, each in lanes.items())
        yield lanes[chosen].popleft()[1]
        if not lanes[chosen]:
            del lanes[chosen]
