"""The queue of units that wait for a place.

The order is that of planning: units that lack their minimum before those that only want more, then
priority, age and name; among those that want more, the least satisfied first.

A unit that was tried and failed sleeps until a change can help it. No unit sleeps through such a change:
what ``needs`` says of a request holds for every placement, so a change that meets none of its needs leaves it
unplaceable. Units that ask for the same share one sleep and one back-off, and while they are
asleep only the first of them is tried again: where it finds no place, neither does any behind it. That
one behind finds none says nothing of the first, for which a place may be kept.

Time and dice come in as arguments.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from closeknit.dialects.core.priority import queue_order
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.neighbours import Apart
from closeknit.hub.outcome import Outcome
from closeknit.hub.workload import PlaceableWorkload, Workload
from closeknit.kube.backoff import Backoff
from closeknit.scheduler.changes import (
    Change,
    Freed,
    Joined,
    NodeChanged,
    NodeGone,
    QuotaChanged,
    TopologiesChanged,
)
from closeknit.scheduler.deciding import Failed
from closeknit.scheduler.fairness import Lane, first_in_turn, lane
from closeknit.scheduler.needs import likeness, satisfied, share
from closeknit.scheduler.wakers import Wakers

if TYPE_CHECKING:
    from closeknit.engine import Engine

_PUT_OFF = 0.5
"""Seconds for which a unit that is put off stays so, unless no other unit may be taken."""

Order: TypeAlias = tuple[bool, float, bool, int, bool, str, str, str]


def order(workload: Workload) -> Order:
    """A key that sorts units into the order in which they are decided."""
    if not isinstance(workload, PlaceableWorkload) or not satisfied(workload.request.root):
        return (False, 0.0, *queue_order(workload))
    return (True, share(workload.request.root), *queue_order(workload))


def next_unit(units: Sequence[PlaceableWorkload], accounts: Accounts) -> PlaceableWorkload:
    """The unit that is next in queue order, of at least one.

    A unit that lacks its minimum precedes all that do not, whatever their queues use.
    """
    places = [(workload, order(workload)) for workload in units]
    surplus = min(place[0] for _, place in places)
    return first_in_turn([each for each in places if each[1][0] == surplus], accounts, lambda each: each)[0]


@dataclass(slots=True, eq=False)
class Alike:
    """Units that ask for the same, so that they are placeable or unplaceable together."""

    likeness: object
    backoff: Backoff
    members: list[tuple[Order, Key]] = field(default_factory=list)
    awake: bool = True
    """Whether something has happened since the last failure that can help them."""
    tried: bool = False
    not_before: float = 0.0
    """When the next one may be tried again."""


@dataclass(slots=True, eq=False)
class _Unit:
    workload: PlaceableWorkload
    order: Order
    alike: Alike
    fresh: bool = True
    """Whether it has not been decided since it was put."""
    taken: bool = False

    def open(self, now: float) -> bool:
        """Whether it may be taken."""
        return not self.taken and (self.fresh or (self.alike.awake and self.alike.not_before <= now))


class WaitingQueue:
    """Who waits, who may be tried now, and when to look again.

    Whoever takes a unit says what became of it: ``failed``, ``remove`` or ``put``.
    """

    def __init__(
        self,
        random: Random,
        *,
        first: float = 0.25,
        limit: float = 10.0,
        puts_off: Callable[[PlaceableWorkload, float], bool] = lambda _workload, _now: False,
    ) -> None:
        """``puts_off`` returns whether a unit is tried after all others for the moment."""
        self._puts_off = puts_off
        self._put_off: dict[Lane, list[tuple[Order, Key, int]]] = {}
        """By queue, the units that were first in ``_front`` while they were put off."""
        self._put_off_until = 0.0
        self._random, self._first_wait, self._longest_wait = random, first, limit
        self._units: dict[Key, _Unit] = {}
        self._alike: dict[object, Alike] = {}
        self._front: dict[Lane, list[tuple[Order, Key, int]]] = {}
        """By queue, who may be tried, in order; entries whose turn has passed are left out later."""
        self._due: list[tuple[float, int, Alike]] = []
        """Those who are awake and still back off, by when that ends."""
        self._entries = 0
        self._wakers = Wakers[Alike]()

    @property
    def looked_at(self) -> int:
        """How many units, or kinds of alike ones, have been compared with a change one by one."""
        return self._wakers.looked_at

    def __len__(self) -> int:
        return len(self._units)

    def __iter__(self) -> Iterator[PlaceableWorkload]:
        return (unit.workload for unit in self._units.values())

    def get(self, key: Key) -> PlaceableWorkload | None:
        """A unit that waits."""
        unit = self._units.get(key)
        return unit.workload if unit is not None else None

    def is_to_be_tried(self, key: Key) -> bool:
        """Whether a unit waits that was not tried since something happened that may help it."""
        unit = self._units.get(key)
        return unit is not None and (unit.fresh or unit.taken or unit.alike.awake)

    def put(self, workload: PlaceableWorkload, *, by_labels: bool = False) -> None:
        """Let a unit wait, to be tried at once; put again it takes the place of the unit it was.

        One that has not changed keeps its place and its sleep, unless it was taken. Units whose pods differ
        in labels are alike unless ``by_labels``: where running pods keep others away.
        """
        key = workload.object.key
        before = self._units.get(key)
        if before is not None and before.workload == workload and not before.taken:
            return
        self._forget(key)
        alike = self._alike_to(workload, by_labels=by_labels)
        unit = self._units[key] = _Unit(workload, order(workload), alike)
        insort(alike.members, (unit.order, key))
        self._offer(key, unit)
        if alike.awake and alike.tried:
            # They ask for the same, and nobody overtakes those before it.
            alike.not_before = 0.0
            self._offer_first(alike)

    def activate(self, key: Key) -> None:
        """Let a unit be tried at once, whatever it waits for; harmless if it does not wait."""
        unit = self._units.get(key)
        if unit is not None and not unit.taken:
            unit.fresh = True
            self._offer(key, unit)

    def remove(self, key: Key) -> None:
        """Let a unit go: it was placed, or is no more. Harmless where it does not wait."""
        unit = self._units.get(key)
        if unit is None:
            return
        self._forget(key)
        if unit.alike.awake and unit.alike.tried:
            unit.alike.backoff.reset()
            self._offer_first(unit.alike)

    def failed(
        self,
        key: Key,
        outcome: Outcome | Failed,
        now: float,
        *,
        rest_until: float | None = None,
        retry: bool = False,
    ) -> None:
        """Let a unit wait until something can help it: it was tried, and this was the outcome.

        It is not tried before ``rest_until``, because deciding it takes long; if ``retry``, it is tried then
        even if nothing has changed. Harmless if it does not wait.
        """
        unit = self._units.get(key)
        if unit is None:
            return
        alike = unit.alike
        first = self._units[alike.members[0][1]]
        # A newcomer that fails like the others before it says nothing new about how long to wait.
        if not (unit.fresh and alike.tried):
            alike.not_before = now + alike.backoff.wait()
        if rest_until is not None:
            alike.not_before = max(alike.not_before, rest_until)
        unit.fresh = unit.taken = False
        # One before it that was woken meanwhile is still to be tried.
        alike.awake = alike.awake and alike.tried and first is not unit and not first.taken
        alike.tried = True
        self._wakers.note(alike, unit.workload, outcome)
        if retry:
            self._activate_later(alike)

    def wake(self, changes: Iterable[Change], engine: Engine) -> int:
        """Wake those whom something that has happened can help, and say how many kinds of units those are.

        The engine is as it is after the changes.
        """
        wakers = self._wakers
        nodes: dict[str, None] = {}
        woken: dict[Alike, None] = {}
        same_topologies = True
        for change in changes:
            match change:
                case Freed(holding):
                    nodes[holding.node] = None
                    if _keeps_away(holding):
                        woken.update(dict.fromkeys(wakers.everybody()))
                case NodeGone(held):
                    away = any(map(_keeps_away, held))
                    woken.update(dict.fromkeys(wakers.everybody() if away else wakers.for_company()))
                case Joined():
                    woken.update(dict.fromkeys(wakers.for_company()))
                case NodeChanged(node):
                    nodes[node] = None
                    woken.update(dict.fromkeys(wakers.for_bound(node)))
                case QuotaChanged(accounts):
                    woken.update(dict.fromkeys(wakers.for_accounts(accounts)))
                case TopologiesChanged():
                    woken.update(dict.fromkeys(wakers.everybody()))
                    same_topologies = False
        # Units that are compiled again after this may name a topology that the engine has no longer.
        for node in nodes if same_topologies else ():
            woken.update(dict.fromkeys(wakers.for_node(node, engine)))
        for alike in woken:
            if not alike.awake:
                self._activate_later(alike)
        return len(woken)

    def take(self, now: float, accounts: Accounts | None = None) -> PlaceableWorkload | None:
        """The next unit to decide; None where nobody can be helped now.

        Between units of several queues, the accounts say whose turn it is.
        """
        unit = self._next(now, accounts)
        if unit is None:
            return None
        unit.taken = True
        if not unit.fresh:
            self._offer_first(unit.alike)
        return unit.workload

    def next(self, now: float, accounts: Accounts) -> PlaceableWorkload | None:
        """The unit that ``take`` would return."""
        unit = self._next(now, accounts)
        return unit.workload if unit is not None else None

    def ready(self, now: float) -> bool:
        """Whether somebody can be taken now."""
        return self._next(now) is not None

    def next_time(self, now: float) -> float | None:
        """When somebody can be taken; None where that needs a change first."""
        return now if self.ready(now) else self.next_due()

    def next_due(self) -> float | None:
        """When the next unit that backs off may be taken; None where that needs a change first."""
        while self._due and not self._due[0][2].awake:
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def describe(self) -> tuple[object, ...]:
        """Which units wait and which may be tried, as a value that distinguishes two moments."""
        return tuple(
            (key, unit.fresh, unit.taken, unit.alike.awake, unit.alike.tried)
            for key, unit in sorted(self._units.items())
        )

    # ---- inside ----

    def _alike_to(self, workload: PlaceableWorkload, *, by_labels: bool) -> Alike:
        """Those who ask for the same as a unit."""
        request = workload.request
        look = partial(likeness, by_labels=by_labels)
        costs = tuple((look(way.request.root), way.charges, way.spare) for way in workload.options)
        mark = (request.topology, look(request.root), costs, workload.accounts)
        if mark not in self._alike:
            self._alike[mark] = Alike(mark, Backoff(self._random, self._first_wait, self._longest_wait))
        return self._alike[mark]

    def _forget(self, key: Key) -> None:
        unit = self._units.pop(key, None)
        if unit is None:
            return
        alike = unit.alike
        del alike.members[bisect_left(alike.members, (unit.order, key))]
        if not alike.members:
            del self._alike[alike.likeness]
            self._wakers.drop(alike)
            alike.awake = False

    def _offer(self, key: Key, unit: _Unit) -> None:
        self._entries += 1
        heappush(self._front.setdefault(lane(unit.workload), []), (unit.order, key, id(unit)))

    def _offer_first(self, alike: Alike) -> None:
        """Let the first of those who are alike be tried, as long as none of them has failed again."""
        for _, key in alike.members:
            if not (unit := self._units[key]).taken:
                self._offer(key, unit)
                return

    def _activate_later(self, alike: Alike) -> None:
        """Let the first of equal units be tried when their backoff has expired."""
        alike.awake = True
        self._entries += 1
        heappush(self._due, (alike.not_before, self._entries, alike))

    def _next(self, now: float, accounts: Accounts | None = None) -> _Unit | None:
        while self._due and self._due[0][0] <= now:
            alike = heappop(self._due)[2]
            if alike.awake:
                self._offer_first(alike)
        if self._put_off and now >= self._put_off_until:
            self._take_back()
        first = self._firsts(self._front, now, may_put_off=True)
        if not first and self._put_off:
            first = self._firsts(self._put_off, now, may_put_off=False)
        if accounts is None or len(first) < 2:
            return min(first, key=lambda each: each.order, default=None)
        return self._units[next_unit([unit.workload for unit in first], accounts).object.key]

    def _firsts(
        self, fronts: dict[Lane, list[tuple[Order, Key, int]]], now: float, *, may_put_off: bool
    ) -> list[_Unit]:
        """The first unit of each queue that may be taken."""
        first: list[_Unit] = []
        for queue in list(fronts):
            if (unit := self._first(queue, fronts[queue], now, may_put_off=may_put_off)) is not None:
                first.append(unit)
            else:
                del fronts[queue]
        return first

    def _first(
        self, queue: Lane, front: list[tuple[Order, Key, int]], now: float, *, may_put_off: bool
    ) -> _Unit | None:
        while front:
            _, key, identity = front[0]
            unit = self._units.get(key)
            if unit is None or id(unit) != identity or not unit.open(now):
                heappop(front)
            elif may_put_off and self._puts_off(unit.workload, now):
                if not self._put_off:
                    self._put_off_until = now + _PUT_OFF
                heappush(self._put_off.setdefault(queue, []), heappop(front))
            else:
                return unit
        return None

    def _take_back(self) -> None:
        """Compare again which units are put off."""
        put_off, self._put_off = self._put_off, {}
        for queue, entries in put_off.items():
            if queue not in self._front:
                self._front[queue] = entries
            else:
                for entry in entries:
                    heappush(self._front[queue], entry)


def _keeps_away(holding: Holding) -> bool:
    """Whether pods keep others away, who may find room anywhere around them once they have gone."""
    return any(isinstance(rule, Apart) for rule in holding.neighbour.rules)
