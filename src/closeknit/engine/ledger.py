"""Who offers what and who holds what, node by node, in exact integers.

Every node has a slot that stays its own while it lives. Each change of a slot
is noted in a journal, so that whoever derived something from the ledger can
bring it up to date by looking only at what changed since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from closeknit.engine.holdings import Holdings
from closeknit.engine.labels import Labels
from closeknit.engine.rows import ExclusiveRow, PortRow, ResourceRow, Row, port_rows
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.cluster import Cluster, Holding, holding_problems, problems, uncountable
from closeknit.hub.nodes import CORDON, Effect, Node, Taint
from closeknit.hub.problems import InvalidError
from closeknit.hub.quantities import LARGEST
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources, amount_problems, is_extended
from closeknit.hub.sentences import hub as sentences

PODS = "pods"
UNLIMITED = 2**40
"""Stands for the ``pods`` of a node that does not list any."""
Demand: TypeAlias = tuple[tuple[int, int], ...]
"""Amounts as pairs of row and units."""
_Before: TypeAlias = tuple[str, int, tuple[Holding, ...], Demand]
"""What a workload held on a slot before a change, and what the change took."""
_LONGEST_JOURNAL = 1 << 20
_MOST_DEMANDS = 4096


class Ledger:
    """Nodes, free amounts and holdings: all that an engine knows of its cluster; the rest is derived."""

    def __init__(self, cluster: Cluster) -> None:
        if broken := list(problems(cluster)):
            raise InvalidError(broken)
        nodes = sorted(cluster.nodes, key=lambda node: node.name)
        size = len(nodes)
        self.nodes: list[Node | None] = list(nodes)
        self.slot_of = {node.name: slot for slot, node in enumerate(nodes)}
        self._vacant: list[int] = []
        # Most machines offer what others offer, so amounts are written once for all that are alike.
        alike: dict[tuple[Resources, bool], list[int]] = {}
        for slot, node in enumerate(nodes):
            alike.setdefault((node.allocatable, node.no_pods), []).append(slot)
        names = sorted({PODS}.union(*(offered for offered, _ in alike)))
        self.rows: list[Row] = []
        """What every row of ``allocatable`` and ``free`` counts."""
        self.resources: dict[str, int] = {}
        """The row of every resource, by name."""
        self.extended_rows: list[int] = []
        """The rows of extended resources."""
        for name in names:
            self._number(ResourceRow(name))
        self._port_rows: dict[PortRow, int] = {}
        self._exclusive_rows: list[int] = []
        self._supplies: list[tuple[int, int]] = []
        """Rows of which every node has the same, and how many units that is."""
        self.allocatable = np.zeros((len(names), size), dtype=np.int64)
        for (offered, no_pods), slots in alike.items():
            for name, units in _offer(offered, no_pods=no_pods):
                self.allocatable[self.resources[name], slots] = units
        self.free = self.allocatable.copy()
        self.ready: Flags = np.array([node.ready for node in nodes], dtype=np.bool_)
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._taint_code: dict[tuple[Taint, ...], int] = {(): 0}
        self.taints = np.array([self._taint_set(node) for node in nodes], dtype=np.int64)
        self.labels = Labels(self.nodes)
        self.holdings = Holdings()
        self._demands: dict[tuple[Resources, frozenset[HostPort]], Demand] = {}
        self._undo: list[_Before] | None = None
        """The changes since a fork began; None outside of forks."""
        self._journal: list[int] = []
        self._journal_base = 0
        self.nodes_version = 0
        """The version at which a node last came, went or changed; since then only holdings did."""
        self._hold_all(cluster.holdings)

    # ---- the journal ----

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._journal_base + len(self._journal)

    def changed_since(self, version: int) -> list[int] | None:
        """The slots changed since a version, each once; None where that is too long ago to tell."""
        if version < self._journal_base:
            return None
        tail = self._journal[version - self._journal_base :]
        if len(tail) > len(self.nodes) // 2 + 64:
            return None
        return list(dict.fromkeys(tail))

    def _note(self, slot: int) -> None:
        self._journal.append(slot)
        if len(self._journal) > _LONGEST_JOURNAL:
            self._journal_base += len(self._journal)
            self._journal.clear()

    # ---- nodes ----

    def add_node(self, node: Node) -> int:
        """Give a new node a slot."""
        if node.name in self.slot_of:
            raise InvalidError([sentences.NODE_EXISTS.at(("node", "name"), node=node.name)])
        self._refuse_change(node)
        if self._vacant:
            slot = self._vacant.pop()
        else:
            slot = len(self.nodes)
            self.nodes.append(None)
            self.allocatable = _wider(self.allocatable)
            self.free = _wider(self.free)
            self.ready = np.append(self.ready, False)
            self.taints = np.append(self.taints, 0)
            self.labels.add_slot()
        self.slot_of[node.name] = slot
        self._write(slot, node)
        return slot

    def change_node(self, node: Node) -> int:
        """Replace what is known of a node; what is held on it stays held."""
        slot = self.slot(node.name)
        self._refuse_change(node)
        self._write(slot, node)
        return slot

    def remove_node(self, name: str) -> int:
        """Forget a node and all that was held on it; returns the slot, now vacant."""
        slot = self.slot(name)
        self._refuse_change(None)
        for workload in list(self.holdings.on(slot)):
            self.holdings.put(workload, slot, ())
        del self.slot_of[name]
        self.nodes[slot] = None
        self.allocatable[:, slot] = 0
        self.free[:, slot] = 0
        self.ready[slot] = False
        self._vacant.append(slot)
        self._note(slot)
        self.nodes_version = self.version
        return slot

    def _refuse_change(self, node: Node | None) -> None:
        """Raise where a node must not come, go or change, before anything is written."""
        if self._undo is not None:
            raise RuntimeError("Nodes must not come, go or change inside a fork; end it first.")
        if node is not None and (found := list(amount_problems(("node", "allocatable"), node.allocatable))):
            raise InvalidError(found)

    def slot(self, name: str) -> int:
        """The slot of a node; raises for an unknown name."""
        slot = self.slot_of.get(name)
        if slot is None:
            raise InvalidError([sentences.UNKNOWN_NODE.at(("node", "name"), node=name)])
        return slot

    def _write(self, slot: int, node: Node) -> None:
        for name in node.allocatable:
            self.resource_row(name)
        held = self.allocatable[:, slot] - self.free[:, slot] if self.nodes[slot] is not None else 0
        self.allocatable[:, slot] = 0
        for name, units in _offer(node.allocatable, no_pods=node.no_pods):
            self.allocatable[self.resources[name], slot] = units
        for row, supply in self._supplies:
            self.allocatable[row, slot] = supply
        self.free[:, slot] = self.allocatable[:, slot] - held
        self.nodes[slot] = node
        self.ready[slot] = node.ready
        self.taints[slot] = self._taint_set(node)
        self.labels.write(slot, node)
        self._note(slot)
        self.nodes_version = self.version

    def _taint_set(self, node: Node) -> int:
        if not node.taints and not node.unschedulable:
            return 0
        # The order in which taints are listed has no meaning, so equal sets share a number. That a node is
        # unschedulable comes first, because that is the reason to tell.
        listed = {*node.taints, CORDON} if node.unschedulable else set(node.taints)
        taints = tuple(
            sorted(listed, key=lambda each: (each != CORDON, each.key, each.value, each.effect.value))
        )
        code = self._taint_code.setdefault(taints, len(self.taint_sets))
        if code == len(self.taint_sets):
            self.taint_sets.append(taints)
        return code

    # ---- rows ----

    def resource_row(self, name: str) -> int:
        """The row of a resource; a new one gets a row of which no node has anything."""
        row = self.resources.get(name)
        return row if row is not None else self._add_row(ResourceRow(name))

    def port_row(self, key: PortRow) -> int:
        """The row of a host port; a new one gets a row of which every node has the whole supply."""
        row = self._port_rows.get(key)
        if row is None:
            row = self._port_rows[key] = self._add_row(key)
        return row

    def exclusive_row(self, index: int) -> int:
        """A row that keeps pods from sharing a node, of which nothing is ever held."""
        while index >= len(self._exclusive_rows):
            self._exclusive_rows.append(self._add_row(ExclusiveRow(len(self._exclusive_rows))))
        return self._exclusive_rows[index]

    def _add_row(self, key: Row) -> int:
        """Append a row of which nothing is held; returns its index."""
        supply = 0 if isinstance(key, ResourceRow) else key.supply
        amounts = np.full((1, len(self.nodes)), supply, dtype=np.int64)
        self.allocatable = np.concatenate([self.allocatable, amounts])
        self.free = np.concatenate([self.free, amounts])
        row = self._number(key)
        if supply:
            self._supplies.append((row, supply))
        return row

    def _number(self, key: Row) -> int:
        """Record what the next row counts; returns its index."""
        row = len(self.rows)
        self.rows.append(key)
        if isinstance(key, ResourceRow):
            self.resources[key.name] = row
            if is_extended(key.name):
                self.extended_rows.append(row)
        return row

    def demand(self, resources: Resources, ports: frozenset[HostPort]) -> Demand:
        """What one pod takes, ``pods`` and host ports included."""
        known = self._demands.get((resources, ports))
        if known is None:
            rows = {self.resource_row(name): units for name, units in resources.items() if name != PODS}
            rows[self.resources[PODS]] = 1
            for key, units in port_rows(ports).items():
                rows[self.port_row(key)] = units
            if len(self._demands) >= _MOST_DEMANDS:
                self._demands.clear()
            known = self._demands[resources, ports] = tuple(sorted(rows.items()))
        return known

    # ---- holdings ----

    @contextmanager
    def fork(self) -> Iterator[None]:
        """Take back at the end whatever is held or released inside, newest first."""
        around, log = self._undo, list[_Before]()
        self._undo = log
        try:
            yield
        finally:
            self._undo = None
            for workload, slot, before, taken in reversed(log):
                self._change(workload, slot, before, _negative(taken))
            self._undo = around

    def hold(self, holding: Holding) -> None:
        """Take what a workload's pods hold out of a node's free amounts."""
        slot = self.slot(holding.node)
        found = list(holding_problems(("holding",), holding))
        taken = self._amounts(holding) if not found else ()
        for row, units in taken:
            if self.free.item(row, slot) - units < -LARGEST:
                found.append(uncountable(("holding", "resources"), holding.node))
        if found:
            raise InvalidError(found)
        now = (*self.holdings.there(holding.workload, slot), holding)
        self._change(holding.workload, slot, now, taken)

    def release(self, workload: str) -> None:
        """Give back all that a workload holds; harmless where it holds nothing."""
        for slot, holdings in list(self.holdings.of.get(workload, {}).items()):
            taken = tuple(amount for holding in holdings for amount in self._amounts(holding))
            self._change(workload, slot, (), _negative(taken))

    def release_pods(self, gone: Holding) -> None:
        """Give back what some of a workload's pods hold on a node; raises where it holds fewer such pods."""
        slot = self.slot(gone.node)
        kept = self.holdings.without(gone, slot)
        self._change(gone.workload, slot, kept, _negative(self._amounts(gone)))

    def _amounts(self, holding: Holding) -> Demand:
        """What all pods of a holding take."""
        demand = self.demand(holding.resources, holding.host_ports)
        return tuple((row, units * holding.pods) for row, units in demand)

    def _change(self, workload: str, slot: int, now: tuple[Holding, ...], taken: Demand) -> None:
        """Let a workload hold something else on a slot, which takes so much more there."""
        before = self.holdings.put(workload, slot, now)
        for row, units in taken:
            self.free[row, slot] -= units
        if self._undo is not None:
            self._undo.append((workload, slot, before, taken))
        self._note(slot)

    def _hold_all(self, holdings: Sequence[Holding]) -> None:
        """Like ``hold`` for each, with one pass over the free amounts for all pods that are alike."""
        if sum(holding.pods for holding in holdings) > LARGEST:
            for holding in holdings:
                self.hold(holding)
            return
        alike: dict[tuple[Resources, frozenset[HostPort]], tuple[list[int], list[int]]] = {}
        for holding in holdings:
            slot = self.slot_of[holding.node]
            there = self.holdings.there(holding.workload, slot)
            self.holdings.put(holding.workload, slot, (*there, holding))
            slots, pods = alike.setdefault((holding.resources, holding.host_ports), ([], []))
            slots.append(slot)
            pods.append(holding.pods)
        for (resources, ports), (slots, pods) in alike.items():
            at, times = np.array(slots, dtype=np.int64), np.array(pods, dtype=np.int64)
            for row, units in self.demand(resources, ports):
                np.subtract.at(self.free[row], at, times * units)


def _offer(allocatable: Resources, *, no_pods: bool) -> Iterator[tuple[str, int]]:
    """What a node offers, with a number of pods where it lists none."""
    yield from allocatable.items()
    if PODS not in allocatable and not no_pods:
        yield PODS, UNLIMITED


def _negative(taken: Demand) -> Demand:
    return tuple((row, -units) for row, units in taken)


def hard(taint: Taint) -> bool:
    """Whether a taint keeps pods out, rather than only making the node less welcome."""
    return taint.effect is not Effect.PREFER_NO_SCHEDULE


def _wider(rows: Ints) -> Ints:
    return np.concatenate([rows, np.zeros((rows.shape[0], 1), dtype=np.int64)], axis=1)
