"""Who offers what and who holds what, node by node, in exact integers.

Every node has a slot that stays its own while it lives. Each change of a slot
is noted in a journal, so that whoever derived something from the ledger can
bring it up to date by looking only at what changed since.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closeknit.engine.tree import Flags, Ints
from closeknit.hub.cluster import Cluster, Holding, amount_problems, holding_problems, problems, uncountable
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.problems import InvalidError
from closeknit.hub.quantities import LARGEST
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import hub as sentences

PODS = "pods"
UNLIMITED = 2**40
"""Stands for the ``pods`` of a node that does not list any."""
_LONGEST_JOURNAL = 1 << 20
_MOST_COLUMNS = 32
"""Labels that get a column before anyone asks for it."""


def port_resource(port: HostPort) -> str:
    """The name under which a host port is counted: a resource of which every node has one."""
    return f"host port {port.port} {port.protocol}"


@dataclass(slots=True)
class _Column:
    """One label over all slots: each value as a small number, -1 where the label is missing."""

    codes: NDArray[np.int32]
    code_of: dict[str, int]
    values: list[str]


class Ledger:
    """Nodes, free amounts and holdings; the only mutable truth of an engine."""

    def __init__(self, cluster: Cluster) -> None:
        if broken := list(problems(cluster)):
            raise InvalidError(broken)
        nodes = sorted(cluster.nodes, key=lambda node: node.name)
        size = len(nodes)
        self.nodes: list[Node | None] = list(nodes)
        self.slot_of = {node.name: slot for slot, node in enumerate(nodes)}
        self._vacant: list[int] = []
        names = sorted({PODS}.union(*(node.allocatable for node in nodes)))
        self.resources = {name: i for i, name in enumerate(names)}
        self.ports: set[str] = set()
        self.allocatable = np.zeros((len(names), size), dtype=np.int64)
        for slot, node in enumerate(nodes):
            for name, units in node.allocatable.items():
                self.allocatable[self.resources[name], slot] = units
            if PODS not in node.allocatable and not node.no_pods:
                self.allocatable[self.resources[PODS], slot] = UNLIMITED
        self.free = self.allocatable.copy()
        self.usable: Flags = np.array([n.ready and not n.unschedulable for n in nodes], dtype=np.bool_)
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self._taint_code: dict[tuple[Taint, ...], int] = {(): 0}
        self.taints = np.array([self._taint_set(node) for node in nodes], dtype=np.int64)
        self._columns: dict[str, _Column] = {}
        for key in self._usual_labels():
            self.label_column(key)
        self.holdings: dict[str, list[Holding]] = {}
        self.holders_on: dict[int, dict[str, None]] = {}
        self._undo: list[tuple[str, tuple[int, ...], list[Holding], list[tuple[int, int, int]]]] | None = None
        self._forks = 0
        self._journal: list[int] = []
        self._journal_base = 0
        for holding in cluster.holdings:
            self.hold(holding)

    # ---- the journal ----

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._journal_base + len(self._journal)

    def changed_since(self, version: int) -> Ints | None:
        """The slots changed since a version, each once; None where that is too long ago to tell."""
        if version < self._journal_base:
            return None
        tail = self._journal[version - self._journal_base :]
        if len(tail) > len(self.nodes) // 2 + 64:
            return None
        return np.array(sorted(set(tail)), dtype=np.int64)

    def _note(self, slots: Iterable[int]) -> None:
        self._journal.extend(slots)
        if len(self._journal) > _LONGEST_JOURNAL:
            self._journal_base += len(self._journal)
            self._journal.clear()

    # ---- nodes ----

    def add_node(self, node: Node) -> int:
        """Give a new node a slot."""
        if node.name in self.slot_of:
            raise InvalidError([sentences.NODE_EXISTS.at(("node", "name"), node=node.name)])
        self._refuse_change(node)
        for name in node.allocatable:
            self.column_of(name)
        if self._vacant:
            slot = self._vacant.pop()
        else:
            slot = len(self.nodes)
            self.nodes.append(None)
            self.allocatable = _wider(self.allocatable)
            self.free = _wider(self.free)
            self.usable = np.append(self.usable, False)
            self.taints = np.append(self.taints, 0)
            for column in self._columns.values():
                column.codes = np.append(column.codes, np.int32(-1))
        self.slot_of[node.name] = slot
        self._write(slot, node)
        return slot

    def change_node(self, node: Node) -> int:
        """Replace what is known of a node; what is held on it stays held."""
        slot = self.slot(node.name)
        self._refuse_change(node)
        for name in node.allocatable:
            self.column_of(name)
        self._write(slot, node)
        return slot

    def remove_node(self, name: str) -> int:
        """Forget a node and all that was held on it; returns the slot, now vacant."""
        slot = self.slot(name)
        self._refuse_change(None)
        for workload in self.holders_on.pop(slot, {}):
            kept = [holding for holding in self.holdings[workload] if holding.node != name]
            if kept:
                self.holdings[workload] = kept
            else:
                del self.holdings[workload]
        del self.slot_of[name]
        self.nodes[slot] = None
        self.allocatable[:, slot] = 0
        self.free[:, slot] = 0
        self.usable[slot] = False
        self._vacant.append(slot)
        self._note((slot,))
        return slot

    def _refuse_change(self, node: Node | None) -> None:
        """Say no before anything is changed."""
        if self._forks:
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
        held = self.allocatable[:, slot] - self.free[:, slot] if self.nodes[slot] is not None else 0
        self.allocatable[:, slot] = 0
        for name, units in node.allocatable.items():
            self.allocatable[self.resources[name], slot] = units
        if PODS not in node.allocatable and not node.no_pods:
            self.allocatable[self.resources[PODS], slot] = UNLIMITED
        for port in self.ports:
            self.allocatable[self.resources[port], slot] = 1
        self.free[:, slot] = self.allocatable[:, slot] - held
        self.nodes[slot] = node
        self.usable[slot] = node.ready and not node.unschedulable
        self.taints[slot] = self._taint_set(node)
        for key, column in self._columns.items():
            column.codes[slot] = _code(column, node.labels.get(key))
        self._note((slot,))

    def _taint_set(self, node: Node) -> int:
        # The order in which taints are listed has no meaning, so equal sets share a number.
        taints = tuple(
            sorted(set(node.taints), key=lambda taint: (taint.key, taint.value, taint.effect.value))
        )
        code = self._taint_code.setdefault(taints, len(self.taint_sets))
        if code == len(self.taint_sets):
            self.taint_sets.append(taints)
        return code

    def _usual_labels(self) -> list[str]:
        """Labels worth a column from the start: not too many, and none with a value of its own for each node.

        Going over all nodes for a label takes longer than a decision may, so it should not wait for one.
        """
        values: dict[str, set[str]] = {}
        # A thousand nodes tell which labels there are; any other gets its column when asked for.
        sample = self.nodes[:: len(self.nodes) // 1024 + 1]
        for node in sample:
            for key, value in (node.labels if node is not None else {}).items():
                values.setdefault(key, set()).add(value)
        few = [key for key, found in values.items() if len(found) * 2 <= len(sample) or len(sample) < 16]
        return sorted(few)[:_MOST_COLUMNS]

    def label_column(self, key: str) -> _Column:
        """One label over all slots; made when first asked for, kept up to date from then on."""
        column = self._columns.get(key)
        if column is None:
            column = _Column(np.zeros(0, dtype=np.int32), {}, [])
            codes = [-1 if node is None else _code(column, node.labels.get(key)) for node in self.nodes]
            column.codes = np.array(codes, dtype=np.int32)
            self._columns[key] = column
        return column

    # ---- resources ----

    def column_of(self, resource: str, *, each_node_has: int = 0) -> int:
        """The row of a resource; one never seen before gets a row of its own."""
        row = self.resources.get(resource)
        if row is None:
            row = self.resources[resource] = len(self.resources)
            new = np.full((1, len(self.nodes)), each_node_has, dtype=np.int64)
            self.allocatable = np.concatenate([self.allocatable, new])
            self.free = np.concatenate([self.free, new])
        return row

    def port_row(self, port: HostPort) -> int:
        """The row in which a host port is counted."""
        name = port_resource(port)
        self.ports.add(name)
        return self.column_of(name, each_node_has=1)

    def demand(self, resources: Resources, ports: frozenset[HostPort]) -> tuple[tuple[int, int], ...]:
        """What one pod takes, as pairs of row and units, ``pods`` and host ports included."""
        rows = {self.column_of(name): units for name, units in resources.items() if name != PODS}
        rows[self.resources[PODS]] = 1
        rows.update((self.port_row(port), 1) for port in ports)
        return tuple(sorted(rows.items()))

    # ---- holdings ----

    def begin(self) -> int:
        """Start to remember how to take back what is held or released from here on."""
        if self._undo is None:
            self._undo = []
        self._forks += 1
        return len(self._undo)

    def undo(self, mark: int) -> None:
        """Take back everything since a mark, newest first."""
        assert self._undo is not None
        while len(self._undo) > mark:
            workload, slots, before, amounts = self._undo.pop()
            if before:
                self.holdings[workload] = before
            else:
                self.holdings.pop(workload, None)
            for slot in slots:
                holders = self.holders_on.setdefault(slot, {})
                name = self.nodes[slot].name  # type: ignore[union-attr]
                if any(holding.node == name for holding in before):
                    holders[workload] = None
                else:
                    holders.pop(workload, None)
            for row, slot, units in amounts:
                self.free[row, slot] += units
            self._note(slots)
        self._forks -= 1
        if not self._forks:
            self._undo = None

    def hold(self, holding: Holding) -> None:
        """Take what a workload's pods hold out of a node's free amounts."""
        self._refuse_holding(holding)
        before = self.holdings.get(holding.workload, [])
        taken = self._take(holding, 1)
        if self._undo is not None:
            self._undo.append((holding.workload, (taken[0][1],), before, taken))
        # A new list, not a longer one: a fork may have to bring the old one back.
        self.holdings[holding.workload] = [*before, holding] if self._undo is not None else before
        if self._undo is None:
            self.holdings[holding.workload].append(holding)
        self.holders_on.setdefault(self.slot_of[holding.node], {})[holding.workload] = None

    def _refuse_holding(self, holding: Holding) -> None:
        slot = self.slot(holding.node)
        found = list(holding_problems(("holding",), holding))
        if not found:
            for row, units in self.demand(holding.resources, holding.host_ports):
                if int(self.free[row, slot]) - units * holding.pods < -LARGEST:
                    found.append(uncountable(("holding", "resources"), holding.node))
        if found:
            raise InvalidError(found)

    def release(self, workload: str) -> tuple[Holding, ...]:
        """Give back all that a workload holds; returns it, empty where it held nothing."""
        before = self.holdings.pop(workload, [])
        amounts: list[tuple[int, int, int]] = []
        for holding in before:
            amounts += self._take(holding, -1)
            self.holders_on[self.slot_of[holding.node]].pop(workload, None)
        if self._undo is not None and before:
            slots = tuple(dict.fromkeys(slot for _, slot, _ in amounts))
            self._undo.append((workload, slots, before, amounts))
        return tuple(before)

    def _take(self, holding: Holding, sign: int) -> list[tuple[int, int, int]]:
        """Take, or with -1 give back; returns what would undo it as rows, slots and units."""
        slot = self.slot(holding.node)
        taken = []
        for row, units in self.demand(holding.resources, holding.host_ports):
            amount = sign * units * holding.pods
            self.free[row, slot] -= amount
            taken.append((row, slot, amount))
        self._note((slot,))
        return taken


def hard(taint: Taint) -> bool:
    """Whether a taint keeps pods out, rather than only making the node less welcome."""
    return taint.effect is not Effect.PREFER_NO_SCHEDULE


def _wider(rows: Ints) -> Ints:
    return np.concatenate([rows, np.zeros((rows.shape[0], 1), dtype=np.int64)], axis=1)


def _code(column: _Column, value: str | None) -> int:
    if value is None:
        return -1
    code = column.code_of.setdefault(value, len(column.values))
    if code == len(column.values):
        column.values.append(value)
    return code
