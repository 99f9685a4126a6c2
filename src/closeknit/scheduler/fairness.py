"""The order between queues that share a cluster: section "Queue order" of the policy page.

Within a queue, workloads keep their order. Between queues, three criteria are compared level by level
(``Accounts.standing``: within quota, priority of the queue, share), from the level on at which the queues
of two workloads differ. So the order is a tournament: the first workload of each leaf queue represents it,
the best of these represents the queue above, and so on to the top. Queues above the common one take no part
in it: they would compare a large workload with a small one of the same queue. Workloads without a queue
count as those of a queue that is never beyond its quota.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from closeknit.hub.accounts import Accounts
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.scheduler.metering import next_cost

Lane: TypeAlias = tuple[str, ...]
Turn: TypeAlias = tuple[tuple[bool, int, tuple[float, ...]], ...]
Item = TypeVar("Item")

_NEUTRAL = (False, -100, (0.0, 0.0, 0.0))
"""A queue that stays within its quota and has the priority that queues usually have."""
_DEEPEST = 16
"""Queues that are nested deeper than this are not told apart below it."""
_EVERYBODY: Turn = (_NEUTRAL,) * _DEEPEST


def first_in_turn(
    items: Sequence[Item], accounts: Accounts, entry: Callable[[Item], tuple[Workload, Any]]
) -> Item:
    """The item of the workload that is next; there must be at least one.

    ``entry`` returns the workload of an item, and what sorts it among those between which queues do not
    decide.
    """

    def turn_of(item: Item) -> Turn:
        return turn(entry(item)[0], accounts)

    return _first(items, entry, turn_of, 0)


def _first(
    items: Sequence[Item],
    entry: Callable[[Item], tuple[Workload, Any]],
    turn_of: Callable[[Item], Turn],
    depth: int,
) -> Item:
    """The same among items whose queues are the same down to ``depth``."""
    if len(items) == 1:
        return items[0]
    branches: dict[Lane, list[Item]] = {}
    for item in items:
        path = _path(entry(item)[0])
        branches.setdefault(path[depth] if depth < len(path) else (), []).append(item)
    champions = [
        _first(members, entry, turn_of, depth + 1)
        if queue
        # Units of one queue keep their order; of those without one, what must borrow from a cohort is last.
        else min(members, key=lambda item: (turn_of(item) if depth == 0 else (), entry(item)[1]))
        for queue, members in branches.items()
    ]
    if len(champions) == 1:
        return champions[0]
    return min(champions, key=lambda item: (turn_of(item)[depth:], entry(item)[1]))


def _path(workload: Workload) -> tuple[Lane, ...]:
    """The queues of a workload, outermost first, without the account of the cluster as a whole."""
    if not workload.accounts:
        return ()
    return tuple(account.name for account in workload.accounts[0].around[-2::-1])


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


def in_turn(sequence: Sequence[Workload], accounts: Accounts) -> Iterator[Workload]:
    """The workloads in the order in which they are decided; the caller charges one before it takes the
    next.
    """
    lanes: dict[Lane, deque[tuple[int, Workload]]] = {}
    for place, workload in enumerate(sequence):
        lanes.setdefault((*lane(workload), workload.queue), deque()).append((place, workload))
    while lanes:
        if len(lanes) == 1:
            yield from (workload for _, workload in lanes.popitem()[1])
            return
        heads = [(name, workloads[0]) for name, workloads in lanes.items()]
        chosen, _ = _first(
            heads,
            entry=lambda head: (head[1][1], head[1][0]),
            turn_of=lambda head: _planned(head[1][1], accounts),
            depth=0,
        )
        yield lanes[chosen].popleft()[1]
        if not lanes[chosen]:
            del lanes[chosen]
