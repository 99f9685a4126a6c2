"""What a queue does over time: units arrive, wait, run and end, under different rules for passing the first.

Time is simulated and nothing is random. Every decision is the engine's; only who is tried is the rule's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from math import inf

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.scheduler.needs import likeness
from closeknit.scheduler.reservation import Leaving, Reservation, keeping, reserve


class Rule(Enum):
    """Who may start while the first in the queue does not fit."""

    FIRST_COME = "first come, first served"
    """Nobody."""
    GREEDY = "whoever fits"
    RESERVATION = "reservation, ends known"
    """Whoever does not delay the first."""
    RESERVATION_WITHOUT_ENDS = "reservation, ends not known"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A unit that comes at a time and runs for so long once it has started."""

    request: Request
    at: float
    seconds: float


@dataclass
class History:
    """What happened."""

    started: dict[str, float] = field(default_factory=dict)
    used: list[tuple[float, float, int]] = field(default_factory=list)
    """From when to when how many units of the resource were used by a unit."""
    decisions: int = 0

    def usage(self, since: float, until: float, capacity: int) -> float:
        """The part of a resource that was used in a time."""
        spent = sum(max(min(end, until) - max(start, since), 0) * units for start, end, units in self.used)
        return spent / (capacity * (until - since))


@dataclass
class Simulation:
    """One cluster and one queue, in the order of arrival."""

    cluster: Cluster
    rule: Rule
    resource: str
    history: History = field(default_factory=History)
    _kept: Reservation | None = None

    def run(self, arrivals: Iterable[Arrival], until: float = inf) -> History:
        """Let everything happen that happens before a time."""
        engine = Engine(self.cluster)
        coming = sorted(arrivals, key=lambda each: (each.at, each.request.name), reverse=True)
        waiting: list[Arrival] = []
        running: list[tuple[float, str]] = []
        leaving: dict[str, list[Leaving]] = {}
        while coming or running:
            now = min(coming[-1].at if coming else inf, running[0][0] if running else inf)
            if now >= until:
                break
            while running and running[0][0] <= now:
                _, name = heappop(running)
                engine.release(name)
                del leaving[name]
            while coming and coming[-1].at <= now:
                waiting.append(coming.pop())
            for each, _ in self._started(engine, waiting, leaving, now):
                heappush(running, (now + each.seconds, each.request.name))
        return self.history

    def _started(
        self, engine: Engine, waiting: list[Arrival], leaving: dict[str, list[Leaving]], now: float
    ) -> Iterator[tuple[Arrival, list[Holding]]]:
        """Start all that the rule lets start, in order."""
        kept: Reservation | None = None
        blocked = False
        hopeless: set[tuple[object, ...]] = set()
        for each in list(waiting):
            end = now + each.seconds if self.rule is Rule.RESERVATION else inf
            delays = kept is not None and kept.delayed_by(end)
            asked = (*likeness(each.request.root, by_labels=True), delays)
            if asked in hopeless:
                continue
            holdings = self._placed(engine, each.request, kept if delays else None)
            if holdings is not None:
                waiting.remove(each)
                units = sum(held.resources.get(self.resource, 0) for held in holdings)
                self.history.started[each.request.name] = now
                self.history.used.append((now, now + each.seconds, units))
                leaving[each.request.name] = [Leaving(holding, end) for holding in holdings]
                yield each, holdings
                continue
            hopeless.add(asked)
            if self.rule is Rule.FIRST_COME:
                return
            if not blocked and self.rule is not Rule.GREEDY:
                blocked = True
                running = [each for some in leaving.values() for each in some]
                kept = self._kept = reserve(engine, each.request, running, now, before=self._kept)

    def _placed(self, engine: Engine, request: Request, kept: Reservation | None) -> list[Holding] | None:
        """What a unit holds from now on; None where it cannot start."""
        self.history.decisions += 1
        with keeping(engine, [kept] if kept is not None else []):
            outcome = engine.decide(request)
        if not isinstance(outcome, Placed):
            return None
        engine.apply(request, outcome)
        sets = {pods.name: pods for pods in request.root.pod_sets()}
        return [
            Holding(request.name, each.node, sets[each.pod_set].resources) for each in outcome.assignments
        ]
