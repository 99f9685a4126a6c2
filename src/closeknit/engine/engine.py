"""The engine: a cluster that can be asked where a request would go, and told what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from closeknit.engine import score
from closeknit.engine.budget import Budget
from closeknit.engine.explanation.alternatives import alternatives
from closeknit.engine.explanation.explain import shortfalls
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.ledger import Ledger
from closeknit.engine.problem import Heed, compile_request
from closeknit.engine.problem import Problem as Compiled
from closeknit.engine.search import Found, find
from closeknit.engine.shapes import ShapeKey
from closeknit.engine.shelf import Shelf
from closeknit.engine.tree import Tree
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Assignment, Choice, Outcome, Placed, Statistics, Undecided, Unplaceable
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Request, problems
from closeknit.hub.sentences import hub as sentences
from closeknit.hub.topology import Topology

_USUAL = Budget()


class Engine:
    """Decides placements on a cluster that changes by small steps.

    Decisions leave the cluster as it is; ``apply`` and ``release`` change it.
    Two engines told the same facts in any order decide alike.
    """

    def __init__(self, cluster: Cluster, budget: Budget = _USUAL) -> None:
        self._ledger = Ledger(cluster)
        self._topologies: dict[str, Topology] = {topology.name: topology for topology in cluster.topologies}
        self._budget = budget
        self._trees: dict[str | None, Tree] = {}
        self._shelf = Shelf(self._ledger)

    # ---- asking ----

    def decide(self, request: Request) -> Outcome:
        """Find the best placement, or find that there is none; failures carry no explanation.

        Raises ``InvalidError`` with every problem of a request that makes no sense.
        """
        self._refuse_invalid(request)
        compiled, found, touched = self._search(request)
        statistics = Statistics(touched, found.candidates, found.steps)
        if found.spread is None or found.wishes is None:
            return (Unplaceable if found.complete else Undecided)(request.name, (), statistics)
        return Placed(
            request.name,
            self._assignments(compiled, found.spread),
            score.reaches(compiled, found.spread),
            found.wishes,
            found.complete,
            statistics,
        )

    def solve(self, request: Request) -> Outcome:
        """Like ``decide``, and a failure says why and what would help."""
        outcome = self.decide(request)
        if isinstance(outcome, Placed):
            return outcome
        topology = self._topologies.get(request.topology) if request.topology is not None else None
        trials = Trials(request, self._ledger, self._compile)
        return replace(outcome, shortfalls=shortfalls(trials, topology))

    def explain(self, request: Request, placed: Placed) -> tuple[Choice, ...]:
        """Which domains the groups of a placement had to choose from, parents first, then by name.

        Ask before the placement is applied: the cluster must be as it was when it was decided.
        """
        return alternatives(Trials(request, self._ledger, self._compile), placed)

    def _search(self, request: Request) -> tuple[Compiled, Found, int]:
        before = self._shelf.touched
        compiled = self._compile(request, Heed.WISHES)
        touched = self._shelf.touched - before
        bare = partial(self._compile, request, Heed.CONSTRAINTS)
        return compiled, find(compiled, bare, self._ledger.free, self._budget), touched

    def _compile(self, request: Request, heed: Heed) -> Compiled:
        tree = self._tree(request.topology)
        keys = {pods.name: ShapeKey.of(pods) for pods in request.root.pod_sets()}
        shapes = list(dict.fromkeys(keys.values()))
        if len(shapes) > 1:
            shapes.sort(key=_shape_order)
        tables = [self._shelf.table(key, tree) for key in shapes]
        number = {key: i for i, key in enumerate(shapes)}
        shape_of = {name: number[key] for name, key in keys.items()}
        return compile_request(
            request.root, tree, tables, shape_of=shape_of, slot_of=self._ledger.slot_of, heed=heed
        )

    def _assignments(self, compiled: Compiled, spread: score.Spread) -> tuple[Assignment, ...]:
        tree, nodes = compiled.tree, self._ledger.nodes
        made: list[Assignment] = []
        for leaf in compiled.leaves:
            positions, counts = spread.get(leaf.index, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
            names = iter(leaf.pods.pod_names())
            for position, count in zip(positions.tolist(), counts.tolist(), strict=True):
                node = nodes[int(tree.slots[position])]
                assert node is not None
                path = tree.node_path(position)
                made.extend(Assignment(next(names), leaf.name, node.name, path) for _ in range(count))
        return tuple(made)

    def _refuse_invalid(self, request: Request) -> None:
        topology = self._topologies.get(request.topology) if request.topology is not None else None
        found = list(problems(request, topology))
        for pods in request.root.pod_sets():
            found.extend(
                sentences.BOUND_TO_UNKNOWN_NODE.at((Verbatim(pods.name), "bound", i), node=node)
                for i, node in enumerate(pods.bound)
                if node not in self._ledger.slot_of
            )
        if found:
            raise InvalidError(found)

    def _tree(self, topology: str | None) -> Tree:
        tree = self._trees.get(topology)
        if tree is None:
            nodes = ((slot, node) for slot, node in enumerate(self._ledger.nodes) if node is not None)
            tree = Tree(self._topologies[topology] if topology is not None else None, nodes)
            self._trees[topology] = tree
        return tree

    # ---- telling ----

    def apply(self, request: Request, placed: Placed) -> None:
        """Let the request hold what was decided for it."""
        sets = {pods.name: pods for pods in request.root.pod_sets()}
        counts: dict[tuple[str, str], int] = {}
        for assignment in placed.assignments:
            key = (assignment.pod_set, assignment.node)
            counts[key] = counts.get(key, 0) + 1
        # Nothing is held unless all of it can be: a gang is never left half applied.
        for _, node in counts:
            self._ledger.slot(node)
        for (name, node), count in counts.items():
            pods = sets[name]
            self._ledger.hold(Holding(request.name, node, pods.resources, count, pods.host_ports))

    def hold(self, holding: Holding) -> None:
        """Note what a workload holds, however it came by it."""
        self._ledger.slot(holding.node)
        self._ledger.hold(holding)

    def release(self, workload: str) -> None:
        """Give back all that a workload holds; harmless where it holds nothing."""
        self._ledger.release(workload)

    def add_node(self, node: Node) -> None:
        """A node has come."""
        slot = self._ledger.add_node(node)
        for tree in self._trees.values():
            tree.insert(slot, node)

    def change_node(self, node: Node) -> None:
        """A node's labels, amounts, taints or state have changed; what runs on it stays."""
        slot = self._ledger.slot(node.name)
        before = self._ledger.nodes[slot]
        assert before is not None
        self._ledger.change_node(node)
        for tree in self._trees.values():
            if any(before.labels.get(label) != node.labels.get(label) for label in tree.labels):
                tree.remove(slot)
                tree.insert(slot, node)

    def remove_node(self, name: str) -> None:
        """A node has gone, and with it what was held on it."""
        slot = self._ledger.remove_node(name)
        for tree in self._trees.values():
            tree.remove(slot)

    @contextmanager
    def fork(self) -> Iterator[Engine]:
        """What if? Whatever is applied, held or released inside is undone at the end.

        Costs only what is touched. Nodes must not come, go or change inside.
        """
        ledger = self._ledger
        mark = ledger.begin()
        try:
            yield self
        finally:
            ledger.undo(mark)


def _shape_order(key: ShapeKey) -> str:
    return repr((tuple(key.resources.items()), key.filter, sorted(key.host_ports)))


def solve(cluster: Cluster, request: Request) -> Outcome:
    """Place one request on a cluster, changing nothing.

    For many requests on one cluster, keep an ``Engine`` instead: it counts the cluster once.
    """
    return Engine(cluster).solve(request)
