"""A place that is kept for the first in the queue, so that those behind it do not starve it.

The first unit that does not fit may hold one reservation: the placement that it can have soonest when what
runs now leaves in the order of its known ends. Others may pass as long as they do not delay it. On the nodes
of that placement they may take what is free now, except for what the unit needs then and will not have become
free by then; and who surely ends before that time may take anything.

Everything is tried on the engine's fork. Time comes in as an argument, in the same seconds as the ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING

from closeknit.hub.cluster import Holding
from closeknit.hub.outcome import Assignment, Outcome, Placed
from closeknit.hub.request import Request
from closeknit.hub.resources import Resources
from closeknit.scheduler.portions import minimum

if TYPE_CHECKING:
    from closeknit.engine import Engine

PODS = "pods"
_ONE_POD = Resources({PODS: 1})


@dataclass(frozen=True, slots=True)
class Leaving:
    """What some pods of a workload hold on a node, and when they end at the latest."""

    holding: Holding
    at: float = inf
    """Infinite where nobody knows."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is kept for a unit until it can start."""

    unit: str
    """Its request's name."""
    at: float
    """When it can start at the latest, if all end when they said; infinite where nobody knows."""
    nodes: frozenset[str]
    """Where it will run."""
    needed: Mapping[str, Resources]
    """By node, what it needs there, ``pods`` included."""
    leaving: Mapping[str, frozenset[str]]
    """By node, the workloads that leave before it starts."""

    def delayed_by(self, end: float) -> bool:
        """Whether somebody who starts now and ends then at the latest, if ever, could stand in the way."""
        return end == inf or end > self.at

    def held(self, engine: Engine) -> list[Holding]:
        """What others must leave free now: what it needs and will not become free by itself any more."""
        found = []
        for node, needed in sorted(self.needed.items()):
            short = needed
            for workload in self.leaving.get(node, ()):
                for there in engine.held(workload, node):
                    short -= (there.resources + _ONE_POD) * there.pods
            amounts = {name: units for name, units in short.items() if units > 0 and name in needed}
            pods = amounts.pop(PODS, 0)
            # A holding takes one of the node's pods by itself.
            if amounts or pods:
                found.append(Holding(self.unit, node, Resources(amounts)))
            if pods > 1:
                found.append(Holding(self.unit, node, Resources(), pods - 1))
        return found


@contextmanager
def keeping(engine: Engine, places: Iterable[Reservation]) -> Iterator[None]:
    """Let the engine decide as those must see it who could delay the owners of these places."""
    held = [holding for place in places for holding in place.held(engine)]
    for holding in held:
        engine.hold(holding)
    try:
        yield
    finally:
        for holding in held:
            engine.release_pods(holding)


def reserve(
    engine: Engine,
    request: Request,
    leaving: Sequence[Leaving],
    now: float,
    *,
    before: Reservation | None = None,
    kept: Sequence[Reservation] = (),
    nominated: Sequence[Holding] = (),
) -> Reservation | None:
    """The placement that a unit which does not fit now can have soonest; None where it never fits.

    Those who end at a known time leave in that order, and all others after them, workload by workload: first
    those who are where the unit had its reservation ``before``, so that it stays there, then small ones, so
    that few pods have to leave. Places that are ``kept`` for those who go before it are not for it, nor is
    what is ``nominated`` for others.
    """
    steps = _in_order(leaving, before.nodes if before is not None else frozenset())

    def fits_after(count: int) -> bool:
        return isinstance(_decided(engine, request, steps[:count], kept, nominated), Placed)

    # The more has left, the more fits. Mostly few have to leave, so the first guesses are small.
    guess = 1
    while guess < len(steps) and not fits_after(guess):
        guess *= 2
    tried = range(guess // 2, min(guess, len(steps)) + 1)
    enough = guess // 2 + bisect_left(tried, x=True, key=fits_after)
    placed = _decided(engine, request, steps[:enough], kept, nominated) if enough <= len(steps) else None
    if not isinstance(placed, Placed):
        return None
    return place_of(request, placed, [each for step in steps[:enough] for each in step], now)


def place_of(request: Request, placed: Placed, gone: Sequence[Leaving], now: float) -> Reservation:
    """What a placement needs that a unit can have once some have gone.

    That is its minimum: pods above it come after the minimum of every other unit.
    """
    needed = needed_by_node(request, minimum(request, placed))
    going: dict[str, set[str]] = {}
    for each in gone:
        if each.holding.node in needed:
            going.setdefault(each.holding.node, set()).add(each.holding.workload)
    leaving = {node: frozenset(workloads) for node, workloads in going.items()}
    at = max((each.at for each in gone), default=now)
    return Reservation(request.name, max(at, now), frozenset(needed), needed, leaving)


def _in_order(leaving: Sequence[Leaving], wanted: frozenset[str]) -> list[list[Leaving]]:
    """Who leaves together, in order: by time, and those without a known end by workload."""
    size: dict[str, int] = {}
    in_the_way: set[str] = set()
    for each in leaving:
        size[each.holding.workload] = size.get(each.holding.workload, 0) + each.holding.pods
        if each.holding.node in wanted:
            in_the_way.add(each.holding.workload)

    def place(each: Leaving) -> tuple[float, bool, int, str]:
        workload = each.holding.workload
        if each.at < inf:
            return each.at, False, 0, ""
        return inf, workload not in in_the_way, size[workload], workload

    return [list(step) for _, step in groupby(sorted(leaving, key=place), key=place)]


def _decided(
    engine: Engine,
    request: Request,
    gone: Sequence[Sequence[Leaving]],
    kept: Sequence[Reservation],
    nominated: Sequence[Holding],
) -> Outcome:
    with engine.fork():
        for holding in nominated:
            engine.hold(holding)
        for step in gone:
            for each in step:
                engine.release_pods(each.holding)
        with keeping(engine, kept):
            return engine.decide(request)


def needed_by_node(request: Request, assignments: Iterable[Assignment]) -> dict[str, Resources]:
    """By node, what a placement takes there."""
    sets = {pods.name: pods for pods in request.root.pod_sets()}
    needed: dict[str, Resources] = {}
    for each in assignments:
        needed[each.node] = needed.get(each.node, Resources()) + sets[each.pod_set].resources + _ONE_POD
    return needed
