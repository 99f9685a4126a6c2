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
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.cluster import Cluster, Holding, holding_problems, problems, uncountable
from closeknit.hub.nodes import CORDON, Effect, Node, Taint
from closeknit.hub.problems import InvalidError
from closeknit.hub.quantities import LARGEST
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources, amount_problems
from closeknit.hub.sentences import hub as sentences

PODS = "pods"
UNLIMITED = 2**40
"""Stands for the ``pods`` of a node that does not list any."""
Demand: TypeAlias = tuple[tuple[int, int], ...]
"""Amounts as pairs of row and units."""
_Before: TypeAlias = tuple[str, int, tuple[Holding, ...], Demand]
"""What a workload held on a slot before a change, and what the change took."""
ALONE = "one on a node "
"""What the names of resources begin with that keep pods from sharing a node."""
WHOLE = 1 << 24
"""How much of such a resource a node has; many pods that may share it can each take a part."""
_LONGEST_JOURNAL = 1 << 20
_MOST_DEMANDS = 4096


PORT = "host port "
"""What the name of a resource that counts a host port begins with."""
ADDRESSES = 1 << 20
"""Stands for all addresses of a node at which one port can be taken."""


def port_rows(ports: frozenset[HostPort]) -> dict[str, tuple[int, int]]:
    """The resources by which host ports are counted: how many a pod takes, and how many every node has.

    A port at all addresses takes all that there are. One at a single address takes one of them, and that
    address's own.
    """
    found: dict[str, tuple[int, int]] = {}
    for port in sorted(ports):
        # Without a slash, which would make it a scarce device that others keep away from.
        everywhere = f"{PORT}{port.port} {port.protocol}"
        taken, _ = found.get(everywhere, (0, 0))
        if port.address:
            found[f"{everywhere} at {port.address}"] = (1, 1)
        # A pod that asks for one address beside all of them asks for no more than all of them.
        found[everywhere] = (min(taken + 1, ADDRESSES) if port.address else ADDRESSES, ADDRESSES)
    return found


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
        self.resources = {name: i for i, name in enumerate(names)}
        self._ports: dict[str, int] = {}
        """By resource that counts a host port, how many every node has."""
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
            self.column_of(name)
        held = self.allocatable[:, slot] - self.free[:, slot] if self.nodes[slot] is not None else 0
        self.allocatable[:, slot] = 0
        for name, units in _offer(node.allocatable, no_pods=node.no_pods):
            self.allocatable[self.resources[name], slot] = units
        for port, each_has in self._ports.items():
            self.allocatable[self.resources[port], slot] = each_has
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

    def alone_row(self, number: int) -> int:
        """A row of which every node has ``WHOLE`` and nobody holds any.

        A pod that takes all of it shares a node with no other that takes of it.
        """
        name = f"{ALONE}{number}"
        self._ports[name] = WHOLE
        return self.column_of(name, each_node_has=WHOLE)

    def demand(self, resources: Resources, ports: frozenset[HostPort]) -> Demand:
        """What one pod takes, ``pods`` and host ports included."""
        known = self._demands.get((resources, ports))
        if known is None:
            rows = {self.column_of(name): units for name, units in resources.items() if name != PODS}
            rows[self.resources[PODS]] = 1
            for name, (taken, each_has) in port_rows(ports).items():
                self._ports[name] = each_has
                rows[self.column_of(name, each_node_has=each_has)] = taken
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
