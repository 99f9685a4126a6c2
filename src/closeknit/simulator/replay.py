"""Replays a scenario under a policy that is a function: events in order, and a queue without reservations.

Gangs wait in the order of priority and arrival. Whenever something is free again all are tried in that order,
and who does not fit is passed, as Kueue's default queueing and KAI do. Nothing is displaced.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from closeknit.simulator.history import MOST_STARTS, History, Stay, outages
from closeknit.simulator.policies import Policy
from closeknit.simulator.room import Placement, Room
from closeknit.simulator.scenario import Ask, Scenario

Told = Callable[[int], None]
"""Hears how many gangs have ended."""

_ENDS, _FAILS, _RETURNS, _ARRIVES = range(4)
"""What happens at one moment, in this order."""


class _Order(NamedTuple):
    priority: int
    at: float
    number: int


class Replay:
    """One run; ``history`` is whole when ``run`` has returned."""

    def __init__(self, scenario: Scenario, policy: Policy, told: Told = lambda _: None) -> None:
        self.history = History()
        self._scenario, self._policy, self._told = scenario, policy, told
        self._room = Room(scenario.site)
        self._events: list[tuple[float, int, int, int]] = []
        """When, what, a number that keeps equal ones in order, and of which gang or node."""
        self._order = count()
        self._waiting: defaultdict[tuple[int, Ask], deque[_Order]] = defaultdict(deque)
        """By priority and what is asked for: equal gangs fit or fail alike."""
        self._running: dict[int, tuple[float, float, Placement]] = {}
        """By gang: since when, until when, and where."""
        self._outages = [
            outages(scenario.faults, scenario.seed, node) for node in range(len(scenario.site.nodes))
        ]
        self._lost: Counter[int] = Counter()
        self._ended = 0

    def run(self) -> History:
        """Replay all of it; gangs that never fit stay without a place."""
        for number, each in enumerate(self._scenario.submissions):
            self._add(each.at, _ARRIVES, number)
        for node in range(len(self._outages)):
            self._fail_next(node)
        arriving = len(self._scenario.submissions)
        while self._events and (arriving or self._running or self._repairs_help()):
            now, what, _, number = heappop(self._events)
            if what == _ARRIVES:
                arriving -= 1
                self._wait(number)
                self._try([self._key(number)], now)
                continue
            if what == _ENDS:
                if number not in self._running or self._running[number][1] != now:
                    continue
                self._leave(number, now, lost=False)
            elif what == _FAILS:
                self._fail(number, now)
            else:
                self._room.up[number] = True
            # All that happens at this moment is taken together, as who looks at a cluster now and then does.
            if not (self._events and self._events[0][0] == now and self._events[0][1] != _ARRIVES):
                self._try(list(self._waiting), now)
        return self.history

    def _repairs_help(self) -> bool:
        """Whether somebody waits who could run once nodes are back."""
        return any(self._waiting.values()) and not bool(self._room.up.all())

    def _add(self, at: float, what: int, number: int) -> None:
        heappush(self._events, (at, what, next(self._order), number))

    def _key(self, number: int) -> tuple[int, Ask]:
        submission = self._scenario.submissions[number]
        return submission.priority, submission.ask

    def _wait(self, number: int) -> None:
        submission = self._scenario.submissions[number]
        queue, place = self._waiting[self._key(number)], _Order(-submission.priority, submission.at, number)
        if queue and queue[-1] > place:
            self._waiting[self._key(number)] = deque(sorted([*queue, place]))
        else:
            queue.append(place)

    def _try(self, keys: list[tuple[int, Ask]], now: float) -> None:
        """Place who waits under these keys, in the order of the queue; who does not fit is passed."""
        heads = [(self._waiting[key][0], i, key) for i, key in enumerate(keys) if self._waiting[key]]
        heapify(heads)
        while heads:
            order, i, key = heappop(heads)
            placement = self._policy(self._room, key[1])
            if placement is None:
                continue
            queue = self._waiting[key]
            queue.popleft()
            self._start(order.number, placement, now)
            if queue:
                heappush(heads, (queue[0], i, key))
            else:
                del self._waiting[key]

    def _start(self, number: int, placement: Placement, now: float) -> None:
        submission = self._scenario.submissions[number]
        self._room.take(submission.ask, placement)
        self._running[number] = (now, now + submission.runs, placement)
        self._add(now + submission.runs, _ENDS, number)

    def _leave(self, number: int, now: float, *, lost: bool) -> None:
        started, _, placement = self._running.pop(number)
        self._room.give_back(self._scenario.submissions[number].ask, placement)
        self.history.stays.append(Stay(number, started, now, placement, lost))
        if not lost:
            self._ended += 1
            self._told(self._ended)

    def _fail_next(self, node: int) -> None:
        found = next(self._outages[node], None)
        if found is not None:
            self._add(found[0], _FAILS, node)

    def _fail(self, node: int, now: float) -> None:
        back = now + self._scenario.faults.repair
        self.history.outages.append((node, now, back))
        self._room.up[node] = False
        self._add(back, _RETURNS, node)
        self._fail_next(node)
        hit = [
            number
            for number, (_, _, placement) in self._running.items()
            if any(used == node for used, _ in placement)
        ]
        for number in sorted(hit):
            self._leave(number, now, lost=True)
            self._lost[number] += 1
            if self._lost[number] < MOST_STARTS:
                self._wait(number)
