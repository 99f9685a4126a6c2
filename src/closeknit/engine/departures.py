"""Which workloads would have to leave: few of them, found by counts where counts decide, and always tried.

The cheapest departure moves the fewest pods. Only the holders of a few promising
domains are looked at, so the cost does not follow the number of workloads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from closeknit.engine.blame import Culprit
from closeknit.engine.clearing import Clearing
from closeknit.engine.fits import Survey
from closeknit.engine.problem import Knot, Problem
from closeknit.engine.tree import Ints
from closeknit.engine.trials import Trials
from closeknit.hub.outcome import Departure, Relaxation
from closeknit.hub.request import Group

_DOMAINS = 4
"""Promising domains looked at for each culprit."""
_NODES = 256
"""Nodes of a domain whose holders are looked at, those with the most to gain."""
_SMALL_CLUSTER = 256
"""Up to this many nodes, all holders are looked at where counts do not decide."""
_LARGEST = 2048
"""A workload that holds something on more nodes than this is not asked to leave."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Workloads without which one domain has room for a culprit."""

    at: tuple[int, int]
    """Level and domain."""
    workloads: tuple[str, ...]
    cost: tuple[int, int, tuple[str, ...]]
    """Pods that move, workloads, their names."""


class Departures:
    """Looks for workloads whose leaving makes a request placeable; the ledger is left as it was."""

    def __init__(self, trials: Trials, survey: Survey) -> None:
        self._trials = trials
        self._survey = survey
        self._ledger = trials.ledger

    def relaxation(self, root: Group, culprits: Sequence[Culprit]) -> Relaxation | None:
        """Workloads without which the whole request can be placed; None where none were found."""
        for workloads in self._proposals(culprits):
            if workloads and self._enough(root, workloads):
                return Relaxation((Departure(tuple(sorted(self._pruned(root, workloads)))),))
            if self._trials.spent:
                break
        return None

    def _proposals(self, culprits: Sequence[Culprit]) -> Iterable[tuple[str, ...]]:
        """Sets of workloads worth a try, the cheapest first; at last the holders of all promising domains."""
        ways: list[list[_Way]] = []
        known: dict[object, list[_Way]] = {}
        for culprit in culprits:
            if culprit.twin not in known:
                known[culprit.twin] = [] if culprit.apart else self._ways(culprit.problem)
            ways.append(known[culprit.twin])
        if len(ways) == 1:
            yield from (way.workloads for way in ways[0])
        elif all(ways):
            yield _together(ways)
        yield self._everyone(culprits)

    # ---- by counts ----

    def _ways(self, problem: Problem) -> list[_Way]:
        """Ways to make room for a culprit, one for each promising domain, the cheapest first."""
        prospect = self._survey.prospect(problem)
        able = np.flatnonzero(prospect.emptied >= problem.root.size)
        if not len(able):
            return []
        # The less is missing, the fewer have to leave.
        order = able[np.argsort(-prospect.room[able], kind="stable")[:_DOMAINS]]
        found = [self._way(problem, int(prospect.domains[at])) for at in order.tolist()]
        return sorted((way for way in found if way is not None), key=lambda way: way.cost)

    def _way(self, problem: Problem, domain: int) -> _Way | None:
        at = (problem.root.required, domain)
        positions = self._promising(problem, *problem.tree.bounds(*at))
        clearing = Clearing(self._survey, self._ledger, problem, at, positions)
        leaving = self._leaving(clearing.slots)
        for workload in leaving:
            clearing.leave(workload)
        if not clearing.enough:
            return None
        pods = {workload: self._pods(workload) for workload in leaving}
        orders = (_dearest_first(leaving, pods), clearing.node_by_node(leaving, pods))
        best = min((clearing.needed(order) for order in orders), key=lambda gone: _cost(gone, pods))
        return _Way(at, tuple(best), _cost(best, pods))

    def _promising(self, problem: Problem, start: int, end: int) -> Ints:
        """The positions of a domain that have the most to gain from departures."""
        gain = np.zeros(end - start, dtype=np.int64)
        for shape, need in enumerate(problem.root.need):
            if need:
                table = problem.tables[shape]
                gain += np.clip(self._survey.emptied(table)[start:end] - table.fit[start:end], 0, need)
        worth = np.flatnonzero(gain)
        if len(worth) > _NODES:
            worth = np.sort(worth[np.argsort(-gain[worth], kind="stable")[:_NODES]])
        return worth + start

    def _leaving(self, slots: Iterable[int]) -> list[str]:
        """Who holds something on these slots and may be asked to leave, by name."""
        found = {workload for slot in slots for workload in self._ledger.holders_on.get(slot, ())}
        found.discard(self._trials.request.name)
        return sorted(workload for workload in found if len(self._ledger.holdings[workload]) <= _LARGEST)

    def _pods(self, workload: str) -> int:
        return sum(holding.pods for holding in self._ledger.holdings[workload])

    # ---- by trial ----

    def _everyone(self, culprits: Sequence[Culprit]) -> tuple[str, ...]:
        """The holders of all promising domains, for requests whose parts stand in each other's way."""
        problem = culprits[0].problem
        if len(problem.tree) <= _SMALL_CLUSTER:
            return tuple(self._leaving(problem.tree.slots.tolist()))
        slots: dict[int, None] = {}
        for culprit in culprits:
            for knot in _confined(culprit.problem.root):
                for start, end in self._spots(culprit.problem, knot):
                    positions = self._promising(culprit.problem, start, end)
                    slots.update(dict.fromkeys(culprit.problem.tree.slots[positions].tolist()))
                if len(slots) > 2 * _NODES:
                    break
        return tuple(self._leaving(slots))

    def _spots(self, problem: Problem, knot: Knot) -> list[tuple[int, int]]:
        """The bounds of the domains that would have the most room for a group."""
        tree, level = problem.tree, knot.required
        if level < 0:
            return [(0, len(tree))]
        room = np.zeros(tree.count(level), dtype=np.int64)
        for shape, need in enumerate(knot.need):
            if need:
                emptied = np.add.reduceat(self._survey.emptied(problem.tables[shape]), tree.start[level])
                room += np.minimum(emptied, need)
        room[~tree.real[level]] = -1
        return [tree.bounds(level, int(domain)) for domain in np.argsort(-room, kind="stable")[:_DOMAINS]]

    def _enough(self, root: Group, workloads: Iterable[str]) -> bool:
        mark = self._ledger.begin()
        try:
            for workload in workloads:
                self._ledger.release(workload)
            return self._trials.placeable(root) is True
        finally:
            self._ledger.undo(mark)

    def _pruned(self, root: Group, workloads: Sequence[str]) -> list[str]:
        """The workloads that must leave: whoever can stay does, in ever smaller parts, the dearest first."""
        kept = _dearest_first(workloads, {workload: self._pods(workload) for workload in workloads})
        size = len(kept) // 2
        while size and not self._trials.spent:
            at = 0
            while at < len(kept) and not self._trials.spent:
                fewer = kept[:at] + kept[at + size :]
                if fewer and self._enough(root, fewer):
                    kept = fewer
                else:
                    at += size
            size //= 2
        return kept


def _together(ways: Sequence[Sequence[_Way]]) -> tuple[str, ...]:
    """A way for each of several culprits, in domains of their own as far as there are enough."""
    taken: set[tuple[int, int]] = set()
    workloads: dict[str, None] = {}
    for choice in ways:
        way = next((way for way in choice if way.at not in taken), choice[0])
        taken.add(way.at)
        workloads.update(dict.fromkeys(way.workloads))
    return tuple(workloads)


def _confined(knot: Knot) -> list[Knot]:
    """The innermost groups that require a level; the group itself where none does."""
    inner = [found for member in knot.members if isinstance(member, Knot) for found in _confined(member)]
    required = [each for each in inner if each.required >= 0]
    return required or [knot]


def _dearest_first(workloads: Iterable[str], pods: dict[str, int]) -> list[str]:
    return sorted(workloads, key=lambda workload: (-pods[workload], workload))


def _cost(workloads: Sequence[str], pods: dict[str, int]) -> tuple[int, int, tuple[str, ...]]:
    return sum(pods[workload] for workload in workloads), len(workloads), tuple(sorted(workloads))
