"""Why some nodes take no pod of a group at all, counted over the whole cluster at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from closeknit.engine import eligibility
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.fit_tables import FitTable
from closeknit.engine.ledger import Ledger, hard
from closeknit.engine.node_fits import PodShape
from closeknit.engine.rows import ResourceRow, port_rows
from closeknit.engine.ruled_fits import Closing, RuledFits
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.nodes import CORDON, NodeFilter, Operator, Requirement, Term
from closeknit.hub.outcome import Exclusion, ExclusionReason
from closeknit.hub.resources import is_extended

_REASONS = tuple(ExclusionReason)
"""In the order in which nodes are checked."""
_SHOWN = 3
"""Workloads named that are in the way."""


class _Tally:
    """Reasons by node: each as one number, so that a later reason is a larger one."""

    def __init__(self, size: int) -> None:
        self.codes: Ints = np.full(size, -1, dtype=np.int64)
        self._known: dict[tuple[int, str], int] = {}

    def code(self, reason: ExclusionReason, detail: str) -> int:
        rank = _REASONS.index(reason)
        return (rank << 32) + self._known.setdefault((rank, detail), len(self._known))

    def counted(self) -> tuple[Exclusion, ...]:
        codes, numbers = np.unique(self.codes[self.codes >= 0], return_counts=True)
        pairs = zip(codes.tolist(), numbers.tolist(), strict=True)
        meaning = list(self._known)
        found = [(*meaning[code & 0xFFFFFFFF], number) for code, number in pairs]
        ordered = sorted(found, key=lambda each: (each[0], -each[2], each[1]))
        return tuple(Exclusion(_REASONS[rank], detail, number) for rank, detail, number in ordered)


def exclusions(ledger: Ledger, compiled: CompiledRequest) -> tuple[Exclusion, ...]:
    """The nodes that take no pod of a group, by the first reason.

    Of several shapes, the one that comes closest to fitting counts.
    """
    tree, level = compiled.tree, compiled.root.required
    tables = [table for shape, table in enumerate(compiled.tables) if compiled.root.need[shape]]
    out = ~tree.real[level][tree.dom[level]] if level >= 0 else np.zeros(len(tree), dtype=np.bool_)
    if tables:
        out = out | np.all([table.fit == 0 for table in tables], axis=0)
    positions = np.flatnonzero(out)
    slots = tree.slots[positions]
    tally = _Tally(len(positions))
    _note_unlabelled(compiled, positions, tally)
    _note_unready(ledger, slots, tally)
    left = np.flatnonzero(tally.codes < 0)
    for table in tables:
        codes = _by_shape(ledger, table, slots[left], tally)
        tally.codes[left] = np.maximum(tally.codes[left], codes)
    return tally.counted()


def _note_unlabelled(compiled: CompiledRequest, positions: Ints, tally: _Tally) -> None:
    """Whoever lacks a label on the way to the required level is named by the first one it lacks."""
    tree = compiled.tree
    for level in range(compiled.root.required + 1):
        lacks = (tally.codes < 0) & ~tree.real[level][tree.dom[level][positions]]
        if lacks.any():
            tally.codes[lacks] = tally.code(ExclusionReason.UNLABELLED, tree.labels[level])


def _note_unready(ledger: Ledger, slots: Ints, tally: _Tally) -> None:
    unready = (tally.codes < 0) & ~ledger.ready[slots]
    if unready.any():
        tally.codes[unready] = tally.code(ExclusionReason.NOT_READY, "")


def _by_shape(ledger: Ledger, table: FitTable, slots: Ints, tally: _Tally) -> Ints:
    """The first reason of each slot against one shape."""
    codes = _taints(ledger, table.fits.shape.filter, tally)[ledger.taints[slots]]
    for reason, detail, fails in _checks(ledger, table.fits.shape, table.fits.demand, slots):
        new = (codes < 0) & fails
        if new.any():
            codes[new] = tally.code(reason, detail)
    closings = table.fits.closings if isinstance(table.fits, RuledFits) else ()
    felt = [each for each in closings if ((codes < 0) & ~each.open[slots]).any()]
    # In an order of their own, because rules come in that of their pods' arrival.
    named = [(_REASONS.index(each.reason), _detail(ledger, each), each.open[slots]) for each in felt]
    for rank, detail, stays_open in sorted(named, key=lambda each: each[:2]):
        new = (codes < 0) & ~stays_open
        if new.any():
            codes[new] = tally.code(_REASONS[rank], detail)
    return codes


def _detail(ledger: Ledger, closing: Closing) -> str:
    """The label of a rule, and the workloads whose pods are in the way."""
    found = sorted(
        workload
        for workload, by_slot in ledger.holdings.of.items()
        if any(closing.in_the_way(held.neighbour) for there in by_slot.values() for held in there)
    )
    shown = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return f"{closing.key} ({shown})" if shown else closing.key


def _taints(ledger: Ledger, accepts: NodeFilter, tally: _Tally) -> Ints:
    """By set of taints: the first that is not tolerated, or -1."""
    codes = np.full(len(ledger.taint_sets), -1, dtype=np.int64)
    for i, taints in enumerate(ledger.taint_sets):
        for taint in taints:
            if hard(taint) and not any(toleration.tolerates(taint) for toleration in accepts.tolerations):
                if taint == CORDON:
                    codes[i] = tally.code(ExclusionReason.UNSCHEDULABLE, "")
                else:
                    codes[i] = tally.code(ExclusionReason.TAINT, str(taint))
                break
    return codes


def _checks(
    ledger: Ledger, key: PodShape, demand: tuple[tuple[int, int], ...], slots: Ints
) -> Iterator[tuple[ExclusionReason, str, Flags]]:
    for label, value in key.filter.selector:
        alone = NodeFilter(affinity=(Term((Requirement(label, Operator.IN, (value,)),)),))
        matches = eligibility.affine(ledger, alone, slots)
        yield ExclusionReason.NODE_SELECTOR, f"{label}={value}", ~matches
    if key.filter.affinity is not None:
        matches = eligibility.affine(ledger, key.filter, slots)
        yield ExclusionReason.NODE_AFFINITY, _affinity(key.filter.affinity), ~matches
    requested = [
        (counted.name, row, units)
        for row, units in demand
        if isinstance(counted := ledger.rows[row], ResourceRow)
    ]
    # What only some machines have says more about a node than what all of them have, so it is named first.
    for name, row, units in sorted(
        requested, key=lambda resource: (not is_extended(resource[0]), resource[0])
    ):
        yield ExclusionReason.RESOURCE, name, ledger.free[row, slots] < units
    for port in sorted(key.host_ports):
        rows = [(ledger.port_row(row), units) for row, units in port_rows(frozenset([port])).items()]
        in_use = np.any([ledger.free[row, slots] < units for row, units in rows], axis=0)
        yield ExclusionReason.PORT, str(port), in_use


def _affinity(terms: tuple[Term, ...]) -> str:
    """Node affinity as its users write it: ``gpu In (a100, h100) and zone Exists, or ...``."""
    return ", or ".join(" and ".join(_requirement(each) for each in term.requirements) for term in terms)


def _requirement(requirement: Requirement) -> str:
    values = f" ({', '.join(requirement.values)})" if requirement.values else ""
    return f"{requirement.key} {requirement.operator.value}{values}"
