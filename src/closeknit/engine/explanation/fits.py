"""The domains that come closest to holding a group: what each takes, what runs out, and who holds that."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from closeknit.engine import eligibility
from closeknit.engine.compiled_request import CompiledRequest, Goal
from closeknit.engine.explanation import variants
from closeknit.engine.explanation.blame import Culprit, plain
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.ledger import PODS, Ledger
from closeknit.engine.node_fits import MOST, PodShape, fits
from closeknit.engine.rows import ExclusiveRow, PortRow, ResourceRow, port_rows
from closeknit.engine.score import Spread, new_pods
from closeknit.engine.tree import Ints
from closeknit.hub.cluster import Holding
from closeknit.hub.copying import replace
from closeknit.hub.outcome import DomainFit, Holder

_SHOWN = 5
_TRIED = 6
"""Domains in which a group is laid out, where counts alone do not say how much of it fits."""
_COMPARED = (1 << 31) - 1
_MOST_NODES = 4096
"""Domains with more nodes are not asked for their holders."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """How much of a group each domain of its level takes, by counts."""

    domains: Ints
    room: Ints
    """Pods of the group, at most."""
    emptied: Ints
    """The same if nothing were held."""

    def best(self, number: int) -> list[int]:
        """Places of the best domains: the roomiest first, then those with the most to gain, then by path."""
        # One number to compare by; counts above 2^31 are equal, so that a pair of them fits into it.
        room, emptied = np.minimum(self.room, _COMPARED), np.minimum(self.emptied, _COMPARED)
        order = np.argsort(-(room * (_COMPARED + 1) + emptied), kind="stable")
        best: list[int] = order[:number].tolist()
        return best


class Survey:
    """Looks at the domains of a cluster on behalf of groups that found none."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self.ledger = trials.ledger
        self._emptied: dict[PodShape, Ints] = {}
        self.ranked: dict[object, list[int]] = {}
        """By twin of a culprit whose domains were filled to see what fits: those domains, best first."""

    def emptied(self, table: FitTable) -> Ints:
        """How many pods of a shape each node, in tree order, would take if nothing were held on it."""
        key = table.fits.shape
        if key not in self._emptied:
            ledger, slots = self.ledger, table.tree.slots
            admitted = eligibility.admitted(ledger, key.filter, slots)
            self._emptied[key] = np.where(admitted, fits(ledger.allocatable, table.fits.demand, slots), 0)
        return self._emptied[key]

    def prospect(self, compiled: CompiledRequest) -> Prospect:
        """The domains that a group may use, with what counts say of them."""
        tree, group = compiled.tree, compiled.root
        level = group.required
        if level < 0:
            domains = np.zeros(1, dtype=np.int64)
        elif group.bound:
            domains = np.array([tree.dom[level][group.bound[0]]], dtype=np.int64)
        else:
            domains = np.flatnonzero(tree.real[level])
        room, emptied = np.zeros((2, len(domains)), dtype=np.int64)
        for shape, need in enumerate(group.need):
            if not need:
                continue
            table = compiled.tables[shape]
            whole = self.emptied(table)
            if level < 0:
                room += min(table.total, need)
                emptied += min(int(whole.sum()), need)
            else:
                room += np.minimum(table.sums[level][domains], need)
                emptied += np.minimum(np.add.reduceat(whole, tree.start[level])[domains], need)
        return Prospect(domains, room, emptied)

    def best(self, culprit: Culprit) -> tuple[DomainFit, ...]:
        """The domains that take the most of a group, best first."""
        if culprit.apart:
            return ()
        compiled, level = culprit.compiled, culprit.level
        prospect = self.prospect(compiled)
        if plain(compiled.root) and compiled.neighbours is None:
            return tuple(
                self._fit(culprit, level, int(prospect.domains[at]), int(prospect.room[at]), None)
                for at in prospect.best(_SHOWN)
            )
        every = {pods.name for pods in culprit.core.pod_sets()}
        loose = self._trials.compiled(variants.loosened(culprit.core, every, 0), Goal.WISHES)
        bound = loose.neighbours is not None or any(pods.neighbour.rules for pods in culprit.core.pod_sets())
        found: list[tuple[int, int, DomainFit]] = []
        for at in prospect.best(_TRIED):
            enough = heapq.nlargest(_SHOWN, (fits for fits, _, _ in found))
            if len(enough) == _SHOWN and int(prospect.room[at]) <= enough[-1]:
                break
            domain = int(prospect.domains[at])
            if bound:
                most, proven = self._trials.most_by_rules(loose, (level, domain))
            else:
                most, proven = self._trials.most(loose, (level, domain))[0], True
            placed = new_pods(most, *loose.pod_sets)
            fit = self._fit(culprit, level, domain, placed, most)
            found.append((placed, at, replace(fit, at_least=not proven)))
        found.sort(key=lambda each: (-each[0], each[1]))
        self.ranked[culprit.twin] = [int(prospect.domains[at]) for _, at, _ in found]
        return tuple(fit for _, _, fit in found[:_SHOWN])

    def _fit(self, culprit: Culprit, level: int, domain: int, fits: int, spread: Spread | None) -> DomainFit:
        compiled = culprit.compiled
        start, end = compiled.tree.bounds(level, domain)
        row = self._limiting(compiled, start, end, spread) if fits < culprit.wanted else None
        limiting = None if row is None else self.ledger.rows[row]
        if limiting is None or isinstance(limiting, ExclusiveRow):
            # That pods never share a node is no lack of a resource, and no workload holds any of it.
            return DomainFit(compiled.tree.path(level, domain), fits, None)
        slots, besides = compiled.tree.slots[start:end], self._trials.request.name
        holders = largest_holders(self.ledger, slots, limiting, number=_SHOWN, besides=besides)
        return DomainFit(compiled.tree.path(level, domain), fits, limiting.label, holders)

    def _limiting(self, compiled: CompiledRequest, start: int, end: int, spread: Spread | None) -> int | None:
        """The row of the resource without which the most further pods would fit; None where none is to blame.

        Without a spread, the domain is taken to be filled with the one shape there is.
        """
        ledger, slots = self.ledger, compiled.tree.slots[start:end]
        shape = _most_lacking(compiled, spread)
        table = compiled.tables[shape]
        rows = [row for row, _ in table.fits.demand]
        free = ledger.free[np.ix_(np.array(rows), slots)]
        for pod_set in compiled.pod_sets if spread is not None else ():
            if spread is not None and pod_set.index in spread:
                positions, counts = spread[pod_set.index]
                for row, units in compiled.tables[pod_set.shape].fits.demand:
                    if row in rows:
                        free[rows.index(row), positions - start] -= counts * units
        admitted = eligibility.admitted(ledger, table.fits.shape.filter, slots)
        if not admitted.any():
            return None
        each = np.array([units for _, units in table.fits.demand], dtype=np.int64)[:, None]
        share = np.clip(free[:, admitted] // each, 0, MOST)
        fit = share.min(axis=0)
        if (spread is not None and fit.any()) or self._filtered(compiled, shape, start, end):
            return None
        rest = [np.delete(share, i, axis=0).min(axis=0, initial=MOST) for i in range(len(rows))]
        gains = [int((without - fit).sum()) for without in rest]
        tightness = share.sum(axis=1).tolist()
        # The type breaks a tie between a port and a resource of the same label: which of them got its row
        # first depends on what was decided before.
        counted = [ledger.rows[row] for row in rows]
        ties = [(key.label, isinstance(key, ResourceRow)) for key in counted]
        return rows[min(range(len(rows)), key=lambda i: (-gains[i], tightness[i], ties[i]))]

    def _filtered(self, compiled: CompiledRequest, shape: int, start: int, end: int) -> bool:
        """Whether nodes that the filter refuses would make up for what is missing, and no departure would."""
        table, need = compiled.tables[shape], compiled.root.need[shape]
        if int(self.emptied(table)[start:end].sum()) >= need:
            return False
        return int(fits(self.ledger.free, table.fits.demand, compiled.tree.slots[start:end]).sum()) >= need


def _most_lacking(compiled: CompiledRequest, spread: Spread | None) -> int:
    """The shape of which the most pods found no place."""
    lacking = list(compiled.root.need)
    for pod_set in compiled.pod_sets:
        lacking[pod_set.shape] -= new_pods(spread or {}, pod_set)
    return max(range(len(lacking)), key=lambda shape: (lacking[shape], -shape))


def largest_holders(
    ledger: Ledger, slots: Ints, row: ResourceRow | PortRow, *, number: int, besides: str
) -> tuple[Holder, ...]:
    """The workloads that hold the most of a row on these slots, the largest first, then by name.

    None are told for more slots than can be asked in short time.
    """
    if len(slots) > _MOST_NODES:
        return ()
    totals: dict[str, tuple[int, int]] = {}
    for slot in slots.tolist():
        for workload in ledger.holdings.on(slot):
            pods, amount = totals.get(workload, (0, 0))
            for holding in ledger.holdings.there(workload, slot):
                if units := _units(holding, row):
                    pods += holding.pods
                    amount += units * holding.pods
            totals[workload] = pods, amount
    found = [Holder(workload, *held) for workload, held in totals.items() if held[1] and workload != besides]
    return tuple(heapq.nsmallest(number, found, key=lambda holder: (-holder.amount, holder.workload)))


def _units(holding: Holding, row: ResourceRow | PortRow) -> int:
    """Units of a row that every pod of a holding takes; one for a port, however many addresses it takes."""
    if isinstance(row, PortRow):
        return int(row in port_rows(holding.host_ports))
    return 1 if row.name == PODS else holding.resources.get(row.name, 0)
