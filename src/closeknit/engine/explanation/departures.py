"""Which workloads would have to leave: few of them, found by counts where counts decide, and always tried.

The cheapest departure moves the fewest pods. Only the holders of a few promising
domains are looked at, so the cost does not follow the number of workloads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, PodSetVar
from closeknit.engine.explanation.blame import Culprit, plain
from closeknit.engine.explanation.clearing import Clearing
from closeknit.engine.explanation.fill import Fill
from closeknit.engine.explanation.fits import Prospect, Survey
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.score import new_pods
from closeknit.engine.tree import Ints
from closeknit.hub.outcome import Departure, Relaxation
from closeknit.hub.request import Group

_DOMAINS = 4
"""Promising domains looked at for each culprit."""
_NODES = 256
"""Nodes of a domain whose holders are looked at, those with the most to gain."""
_SMALL_CLUSTER = 256
"""Up to this many nodes, all holders are looked at where counts do not decide."""
_TO_CLEAR = 16
"""Questions to find out who may stay where everybody would be asked to leave."""
_LARGEST = 2048
"""A workload that holds something on more nodes than this is not asked to leave."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Workloads without which one domain has room for a culprit."""

    at: tuple[int, int]
    """Level and domain."""
    workloads: tuple[str, ...]
    cost: tuple[int, int, tuple[str, ...]]


class Departures:
    """Looks for workloads whose leaving makes a request placeable; the ledger is left as it was."""

    def __init__(self, trials: Trials, survey: Survey) -> None:
        self._trials = trials
        self._survey = survey
        self._ledger = trials.ledger
        self._pods = cache(self._count_pods)

    def relaxation(self, root: Group, culprits: Sequence[Culprit]) -> Relaxation | None:
        """Workloads without which the whole request can be placed; None where none were found."""
        for workloads in self._proposals(culprits):
            if workloads and self._enough(root, workloads):
                return self._departure(root, workloads)
            if self._trials.spent:
                break
        tree = culprits[0].compiled.tree
        if len(tree) > _SMALL_CLUSTER:
            return None
        # Where counts found nothing, or trying what they found took too long, everybody leaves.
        self._trials.grant(_TO_CLEAR)
        everybody = self._leaving(tree.slots.tolist())
        return self._departure(root, everybody) if everybody and self._enough(root, everybody) else None

    def _departure(self, root: Group, workloads: Sequence[str]) -> Relaxation:
        return Relaxation((Departure(tuple(sorted(self._pruned(root, workloads)))),))

    def _proposals(self, culprits: Sequence[Culprit]) -> Iterable[tuple[str, ...]]:
        """Sets of workloads worth a try, the cheapest first."""
        ways: list[list[_Way]] = []
        known: dict[object, list[_Way]] = {}
        for culprit in culprits:
            if culprit.twin not in known:
                known[culprit.twin] = [] if culprit.apart else self._ways(culprit)
            ways.append(known[culprit.twin])
        if len(ways) == 1:
            yield from (way.workloads for way in ways[0])
        elif all(ways):
            yield _together(ways)

    # ---- by counts ----

    def _ways(self, culprit: Culprit) -> list[_Way]:
        """Ways to make room for a culprit, one for each promising domain, the cheapest first."""
        compiled, level = culprit.compiled, culprit.level
        prospect = self._survey.prospect(compiled)
        able = np.flatnonzero(prospect.emptied >= compiled.root.size)
        # The less is missing, the fewer have to leave.
        hopeful = Prospect(prospect.domains[able], prospect.room[able], prospect.emptied[able])
        if (ranked := self._survey.ranked.get(culprit.twin)) is None:
            ranked, number = [int(hopeful.domains[at]) for at in hopeful.best(_DOMAINS)], _DOMAINS
        else:
            # Each of the groups inside has a domain to be looked at, so one way will do.
            ranked, number = [domain for domain in ranked if domain in hopeful.domains], 1
        tried = (self._way(compiled, (level, domain)) for domain in ranked[:_DOMAINS])
        found = islice((way for way in tried if way is not None), number)
        return sorted(found, key=lambda way: way.cost)

    def _way(self, compiled: CompiledRequest, at: tuple[int, int]) -> _Way | None:
        """Who would have to leave a domain, so that every group inside the culprit gets what it needs."""
        gone: dict[str, None] = {}
        for group, home in self._short(compiled, at):
            workloads = self._needed(compiled, group, home)
            if workloads is None:
                return None
            gone.update(dict.fromkeys(workloads))
        return _Way(at, tuple(gone), self._cost(gone))

    def _short(
        self, compiled: CompiledRequest, at: tuple[int, int]
    ) -> list[tuple[GroupVar, tuple[int, int]]]:
        """The groups that stay short when a domain is filled with the culprit, and where each was put."""
        if plain(compiled.root):
            return [(compiled.root, at)]
        fill = Fill(compiled, self._ledger.free, at)
        found: dict[int, tuple[GroupVar, tuple[int, int]]] = {}
        for group in compiled.groups:
            for member in group.members:
                if isinstance(member, PodSetVar) and new_pods(fill.spread, member) < member.need:
                    # Whoever shares a place is short together.
                    around = _confining(group)
                    found[around.index] = (around, fill.homes.get(around.index, at))
        return list(found.values())

    def _needed(self, compiled: CompiledRequest, group: GroupVar, at: tuple[int, int]) -> list[str] | None:
        """Who would have to leave a domain for one group; None where all departures are not enough."""
        positions = self._promising(compiled, group, *compiled.tree.bounds(*at))
        clearing = Clearing(self._ledger, compiled, group, at=at, positions=positions)
        leaving = self._leaving(clearing.slots)
        for workload in leaving:
            clearing.leave(workload)
        if not clearing.enough:
            return None
        orders = (self._dearest_first(leaving), clearing.node_by_node(leaving, self._pods))
        return min((clearing.needed(order) for order in orders), key=self._cost)

    def _promising(self, compiled: CompiledRequest, group: GroupVar, start: int, end: int) -> Ints:
        """The positions of a domain that have the most to gain from departures."""
        gain = np.zeros(end - start, dtype=np.int64)
        for shape, need in enumerate(group.need):
            if need:
                table = compiled.tables[shape]
                gain += np.clip(self._survey.emptied(table)[start:end] - table.fit[start:end], 0, need)
        worth = np.flatnonzero(gain)
        if len(worth) > _NODES:
            worth = np.sort(worth[np.argsort(-gain[worth], kind="stable")[:_NODES]])
        return worth + start

    def _leaving(self, slots: Iterable[int]) -> list[str]:
        """Who holds something on these slots and may be asked to leave, by name."""
        found = {workload for slot in slots for workload in self._ledger.holdings.on(slot)}
        found.discard(self._trials.request.name)
        return sorted(workload for workload in found if len(self._ledger.holdings.of[workload]) <= _LARGEST)

    def _cost(self, workloads: Collection[str]) -> tuple[int, int, tuple[str, ...]]:
        """Pods that move, workloads, their names."""
        return sum(map(self._pods, workloads)), len(workloads), tuple(sorted(workloads))

    def _dearest_first(self, workloads: Iterable[str]) -> list[str]:
        return sorted(workloads, key=lambda workload: (-self._pods(workload), workload))

    def _count_pods(self, workload: str) -> int:
        return sum(holding.pods for on in self._ledger.holdings.of[workload].values() for holding in on)

    # ---- by trial ----

    def _enough(self, root: Group, workloads: Iterable[str]) -> bool:
        with self._ledger.fork():
            for workload in workloads:
                self._ledger.release(workload)
            return self._trials.placeable(root) is True

    def _pruned(self, root: Group, workloads: Sequence[str]) -> Sequence[str]:
        """The workloads that must leave: whoever can stay does, in ever smaller parts, the dearest first."""
        if len(self._ledger.nodes) > _SMALL_CLUSTER:
            # By counts, every one of them had to leave the domain that was looked at.
            return workloads
        kept = self._dearest_first(workloads)
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


def _confining(group: GroupVar) -> GroupVar:
    """The innermost group that requires a level, this one or one around it; the root where none does."""
    while group.required < 0 and group.parent is not None:
        group = group.parent
    return group
