"""The engine: a cluster that can be asked where a request would go, and told what has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

from closeknit.engine import score, short_path
from closeknit.engine.budget import UNPACED, Budget, Pace
from closeknit.engine.capacity import level_capacities
from closeknit.engine.checked_requests import CheckedRequests, Keyed
from closeknit.engine.compiled_request import CompiledRequest, Goal, compile_request
from closeknit.engine.criteria import named_level
from closeknit.engine.explanation.alternatives import alternatives
from closeknit.engine.explanation.explain import shortfalls
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.fit_tables import FitTable, TableCache
from closeknit.engine.ledger import Ledger
from closeknit.engine.neighbour_rules import NeighbourRules
from closeknit.engine.node_fits import PodShape
from closeknit.engine.preferred_rules import Preference
from closeknit.engine.preferring import prefer
from closeknit.engine.roles import Role, roles_of
from closeknit.engine.rule_compiler import RuleCompiler
from closeknit.engine.search import find
from closeknit.engine.tree import Tree
from closeknit.hub.capacity import LevelCapacity
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Assignment, Choice, Outcome, Placed, Statistics, Undecided, Unplaceable
from closeknit.hub.request import PodSet, Request
from closeknit.hub.topology import DomainPath, Topology

_USUAL = Budget()


class _Tables(NamedTuple):
    """What fits where, for the pods of one request."""

    by_shape: list[FitTable]
    shape_of: dict[str, int]
    plain: list[FitTable]
    """The same without rules about other pods."""
    rules: NeighbourRules | None
    """What tables do not say."""
    preferred: list[Preference]
    """What pods had better keep among each other, which rules leave out."""


class Engine:
    """Decides placements on a cluster that changes by small steps.

    Decisions leave the cluster as it is; ``apply`` and ``release`` change it.
    Two engines told the same facts in any order decide alike.
    """

    def __init__(self, cluster: Cluster, budget: Budget = _USUAL, pace: Pace = UNPACED) -> None:
        """``pace`` interrupts long decisions; nothing may change the engine meanwhile."""
        self._ledger = Ledger(cluster)
        self._topologies: dict[str, Topology] = {topology.name: topology for topology in cluster.topologies}
        self._layout = cluster.layout
        self._budget = budget
        self._pace = pace
        self._trees: dict[str | None, Tree] = {}
        self._cache = TableCache(self._ledger)
        self._requests = CheckedRequests(self._topologies, self._ledger.slot_of)

    # ---- asking ----

    def decide(self, request: Request) -> Outcome:
        """Find the best placement, or find that there is none; failures carry no explanation.

        Raises ``InvalidError`` with everything wrong with a request that makes no sense.
        """
        keyed = self._requests.check(request)
        counted = self._cache.touched
        tables = self._tables(keyed)
        if keyed.single is not None and not tables.rules and not tables.preferred:
            touched = self._cache.touched - counted
            outcome = short_path.decide(
                request,
                keyed.single,
                tables.by_shape[0],
                tables.plain[0],
                budget=self._budget,
                touched=touched,
            )
            if outcome is not None:
                return outcome
        return self._search(request, counted, tables)

    def _search(self, request: Request, counted: int, tables: _Tables | None = None) -> Outcome:
        """Decide by search, as every request can be; ``counted`` nodes were counted before it began."""
        tables = tables or self._tables(self._requests.of(request))
        compiled = self._compile(request, Goal.WISHES, tables)
        touched = self._cache.touched - counted
        found = find(
            compiled, partial(self._compile, request, tables=tables), self._ledger.free, self._budget
        )
        if tables.preferred and found.spread is not None:
            compiled = self._compile(request, Goal.WISHES, preferring=True)
            strict = partial(self._compile, request, Goal.WISHES, strict=True)
            found = prefer(found, compiled, strict, lambda: self._ledger.free, self._budget)
        statistics = Statistics(touched, found.candidates, found.steps)
        if found.spread is None or found.wishes is None:
            return (Unplaceable if found.complete else Undecided)(request.name, (), statistics)
        return Placed(
            request.name,
            tuple(
                assignment
                for index, (positions, counts) in sorted(found.spread.items())
                for assignment in score.assignments(
                    compiled.tree, compiled.pod_sets[index].pods, positions.tolist(), counts.tolist()
                )
            ),
            score.reaches(compiled, found.spread),
            found.wishes,
            found.complete,
            statistics,
            score.rule_reaches(compiled, found.spread),
        )

    def solve(self, request: Request) -> Outcome:
        """Like ``decide``, and a failure says why and what would help."""
        outcome = self.decide(request)
        if isinstance(outcome, Placed):
            return outcome
        topology = self._topologies.get(request.topology) if request.topology is not None else None
        trials = self._trials(request)
        decided = isinstance(outcome, Unplaceable)
        return replace(outcome, shortfalls=shortfalls(trials, topology, decided=decided))

    def explain(self, request: Request, placed: Placed) -> tuple[Choice, ...]:
        """Which domains the groups of a placement had to choose from, parents first, then by name.

        Ask before the placement is applied: the cluster must be as it was when it was decided.
        """
        return alternatives(self._trials(request), placed)

    def _trials(self, request: Request) -> Trials:
        # What single domains take is told, so no node may stand for others.
        return Trials(request, self._ledger, partial(self._compile, single=False))

    def capacity(self, resource: str) -> tuple[LevelCapacity, ...]:
        """How much of a resource is free at each level of each topology, and how much of it together."""
        return tuple(
            each
            for name in self._topologies
            for each in level_capacities(self._ledger, self._tree(name), resource)
        )

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that nodes offer."""
        return tuple(self._ledger.resources)

    def describe(self, request: Request, assignments: Iterable[Assignment]) -> Placed:
        """How close the groups of a request come where its pods have these nodes, and how well they do.

        Nothing is checked or proven, and room is not counted, since other pods may have taken some of it.
        The nodes must exist.
        """
        compiled = self._compile(request, Goal.WISHES, preferring=True)
        by_set: dict[str, list[Assignment]] = {}
        for each in assignments:
            by_set.setdefault(each.pod_set, []).append(each)
        spread: score.Spread = {}
        ordered: list[Assignment] = []
        for pod_set in compiled.pod_sets:
            given = by_set.get(pod_set.name, [])
            slots = [self._ledger.slot(each.node) for each in given]
            if given:
                spread[pod_set.index] = np.unique(compiled.tree.positions[slots], return_counts=True)
            rank = {name: i for i, name in enumerate(pod_set.pods.pod_names())}
            ordered += sorted(given, key=lambda each: rank[each.pod])
        reached = score.reaches(compiled, spread)
        wishes = replace(score.wishes(compiled, spread), room=None)
        rules = score.rule_reaches(compiled, spread)
        return Placed(request.name, tuple(ordered), reached, wishes, proven=False, rules=rules)

    def fits(self, pods: PodSet, node: str) -> int:
        """How many pods like these a node takes; none where it is unknown."""
        slot = self._ledger.slot_of.get(node)
        if slot is None:
            return 0
        tree, shape = self._tree(None), PodShape.of(pods)
        table, position = self._cache.table(shape, tree), tree.positions.item(slot)
        if not pods.neighbour.rules and not self.keeps_away:
            return table.fit.item(position)
        made = RuleCompiler(self._ledger, tree, [Role(shape, pods.neighbour)], [table], settle=False)
        one = (0, np.array([position]), np.array([1]))
        return made.tables[0].fit.item(position) if made.rules.kept([one]) else 0

    def held(self, workload: str, node: str) -> tuple[Holding, ...]:
        """What a workload holds on a node."""
        slot = self._ledger.slot_of.get(node)
        return self._ledger.holdings.there(workload, slot) if slot is not None else ()

    def holds(self, workload: str) -> bool:
        """Whether a workload holds anything."""
        return workload in self._ledger.holdings.of

    @property
    def keeps_away(self) -> bool:
        """Whether running pods keep any others away, so that labels of pods count."""
        return self._ledger.holdings.neighbours.keep_away

    @property
    def version(self) -> int:
        """Grows with every change; while it stays the same, so does every answer."""
        return self._ledger.version

    def is_overcommitted(self, node: str) -> bool:
        """Whether more is held on a node than it offers, of anything that is counted."""
        slot = self._ledger.slot_of.get(node)
        return slot is not None and bool((self._ledger.free[:, slot] < 0).any())

    def overcommitted_nodes(self) -> list[str]:
        """The nodes of which that is so, by name."""
        slots = np.flatnonzero((self._ledger.free < 0).any(axis=0)).tolist()
        nodes = (self._ledger.nodes[slot] for slot in slots)
        return sorted(node.name for node in nodes if node is not None)

    def holdings(self) -> Iterator[Holding]:
        """All that is held, on all nodes."""
        for by_slot in self._ledger.holdings.of.values():
            for there in by_slot.values():
                yield from there

    def path(self, node: str, topology: str | None) -> DomainPath:
        """The domains of a topology that a node lies in, as far down as it has their labels."""
        tree = self._tree(topology)
        return tree.node_path(tree.positions.item(self._ledger.slot(node)))

    def room(
        self, pods: PodSet, node: str, topology: str | None, level: str | None, near: Collection[str] = ()
    ) -> int:
        """How many pods like these the domain of a level takes that holds a node, each shape by itself.

        A level of None stands for the whole cluster. None where the node lies in no domain of the level,
        and where nodes ``near`` are given and the domain holds none of them.
        """
        slots, tree = self._ledger.slot_of, self._tree(topology)
        table, depth = self._cache.table(PodShape.of(pods), tree), tree.level(level)
        if depth < 0:
            return table.total
        if node not in slots:
            return 0
        domains = tree.dom[depth]
        domain = domains.item(tree.positions.item(slots[node]))
        pinned = [domains.item(tree.positions.item(slots[name])) for name in near if name in slots]
        if not tree.real[depth].item(domain) or (near and domain not in pinned):
            return 0
        return table.capacity(depth, domain)

    def _compile(
        self,
        request: Request,
        goal: Goal,
        tables: _Tables | None = None,
        *,
        single: bool = True,
        preferring: bool = False,
        strict: bool = False,
    ) -> CompiledRequest:
        """Number a request; ``tables`` are given where they were asked for already.

        Where ``single``, one node may stand for all of a domain that takes only one pod. Preferred rules
        among the pods of the request count where ``preferring``, and must be kept where ``strict``.
        """
        keyed = self._requests.of(request)
        made = tables or self._tables(keyed, single=single and not preferring, strict=strict)
        rules = made.rules
        if preferring and made.preferred:
            rules = replace(rules or NeighbourRules([], [], []), preferred=made.preferred)
        tree = self._tree(request.topology)
        return compile_request(
            request.root,
            tree,
            made.by_shape,
            shape_of=made.shape_of,
            slot_of=self._ledger.slot_of,
            named=named_level(request.root, tree),
            plain=made.plain,
            goal=goal,
            neighbours=rules or None,
            pace=self._pace,
        )

    def _tables(self, keyed: Keyed, *, single: bool = True, strict: bool = False) -> _Tables:
        """What fits where for the shapes of a request, or for roles where rules tell its pods apart."""
        tree, ledger = self._tree(keyed.topology), self._ledger
        if not keyed.has_rules and not ledger.holdings.neighbours.keep_away:
            plain = [self._cache.table(shape, tree) for shape in keyed.shapes]
            return _Tables(plain, keyed.shape_of, plain, None, [])
        shapes = {name: keyed.shapes[number] for name, number in keyed.shape_of.items()}
        roles, role_of = roles_of(ledger, shapes, keyed.neighbours)
        plain = [self._cache.table(role.shape, tree) for role in roles]
        pods = [0] * len(roles)
        for each in keyed.root.pod_sets():
            pods[role_of[each.name]] += each.open
        ruled = RuleCompiler(ledger, tree, roles, plain, pods=pods, single=single, strict=strict)
        return _Tables(ruled.tables, role_of, plain, ruled.rules, ruled.preferred)

    def _tree(self, topology: str | None) -> Tree:
        """The tree of a topology; without a name that of the cluster's layout."""
        chosen = self._topologies[topology] if topology is not None else self._layout
        name = chosen.name if chosen is not None else None
        tree = self._trees.get(name)
        if tree is None:
            nodes = ((slot, node) for slot, node in enumerate(self._ledger.nodes) if node is not None)
            tree = self._trees[name] = Tree(chosen, nodes)
        return tree

    # ---- telling ----

    def apply(self, request: Request, placed: Placed) -> None:
        """Let the request hold what was decided for it."""
        sets = {pods.name: pods for pods in request.root.pod_sets()}
        counts: dict[tuple[str, str], int] = {}
        for assignment in placed.assignments:
            key = (assignment.pod_set, assignment.node)
            counts[key] = counts.get(key, 0) + 1
        # Nothing is held unless all nodes are known: a gang is never left half applied.
        for _, node in counts:
            self._ledger.slot(node)
        for (name, node), count in counts.items():
            pods = sets[name]
            self._ledger.hold(
                Holding(request.name, node, pods.resources, count, pods.host_ports, pods.neighbour)
            )

    def hold(self, holding: Holding) -> None:
        """Take up pods that run on a node, whoever bound them: from now on they use what they hold.

        More may be held on a node than it offers; it then takes no further pod.
        """
        self._ledger.hold(holding)

    def release(self, workload: str) -> None:
        """Give back all that a workload holds; harmless where it holds nothing."""
        self._ledger.release(workload)

    def release_pods(self, holding: Holding) -> None:
        """Give back what some of a workload's pods hold on a node: they have finished or were deleted.

        The opposite of ``hold``, also for pods that ``apply`` or the cluster brought. Raises
        ``InvalidError`` where the workload holds fewer such pods on the node.
        """
        self._ledger.release_pods(holding)

    def add_node(self, node: Node) -> None:
        """A node has come."""
        slot = self._ledger.add_node(node)
        for tree in self._trees.values():
            tree.insert(slot, node)

    def change_node(self, node: Node) -> None:
        """A node's labels, amounts, taints or state have changed; what runs on it stays."""
        before = self._ledger.nodes[self._ledger.slot(node.name)]
        assert before is not None
        slot = self._ledger.change_node(node)
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
        with self._ledger.fork():
            yield self


def solve(cluster: Cluster, request: Request) -> Outcome:
    """Place one request on a cluster, changing nothing.

    For many requests on one cluster, keep an ``Engine`` instead: it counts the cluster once.
    """
    return Engine(cluster).solve(request)
