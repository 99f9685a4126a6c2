"""A cluster at one moment: its topologies, its nodes, and who holds what on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from closeknit.hub.neighbours import Neighbour
from closeknit.hub.nodes import Node
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem
from closeknit.hub.quantities import LARGEST
from closeknit.hub.request import HostPort, Request
from closeknit.hub.resources import Resources, amount_problems
from closeknit.hub.sentences import hub as sentences
from closeknit.hub.topology import Topology


class Holding(msgspec.Struct, frozen=True, gc=False):
    """What one workload's equal pods hold on one node."""

    workload: str
    node: str
    resources: Resources
    """Per pod."""
    pods: int = 1
    host_ports: frozenset[HostPort] = frozenset()
    neighbour: Neighbour = Neighbour()
    """What other pods see of each of them; pods that they must keep away stay away."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes and topologies at one moment; the order of the tuples carries no meaning."""

    topologies: tuple[Topology, ...]
    nodes: tuple[Node, ...]
    holdings: tuple[Holding, ...] = ()

    def topology(self, name: str) -> Topology | None:
        """The topology of this name, if there is one."""
        return next((topology for topology in self.topologies if topology.name == name), None)

    @property
    def layout(self) -> Topology | None:
        """The topology along which workloads are packed that name none: the one that covers all others.

        None where there is none, or where two tell different layouts.
        """
        by_name = sorted(self.topologies, key=lambda each: each.name)
        deepest = max(by_name, key=lambda each: len(each.levels), default=None)
        if deepest is None or not all(map(deepest.covers, by_name)):
            return None
        return deepest

    def topology_of(self, request: Request) -> Topology | None:
        """The topology along which a request is packed: the one that it names, else the cluster's layout."""
        return self.topology(request.topology) if request.topology is not None else self.layout


def problems(cluster: Cluster) -> Iterator[Problem]:
    """Whatever makes no sense about a cluster, all of it."""
    # Machines and pods come in few kinds, so amounts are looked at once for all that are alike.
    amounts = {node.allocatable for node in cluster.nodes} | {held.resources for held in cluster.holdings}
    fine = {each for each in amounts if not any(amount_problems((), each))}
    seen: set[str] = set()
    for i, node in enumerate(cluster.nodes):
        if node.name in seen:
            yield sentences.NODE_TWICE.at(("nodes", i, "name"), node=node.name)
        seen.add(node.name)
        if node.allocatable not in fine:
            yield from amount_problems(("nodes", i, "allocatable"), node.allocatable)
    held: dict[tuple[str, str], int] = {}
    crowded = _crowded(cluster.holdings)
    for i, holding in enumerate(cluster.holdings):
        if holding.node not in seen:
            yield sentences.UNKNOWN_NODE.at(("holdings", i, "node"), node=holding.node)
        if holding.pods < 0 or holding.resources not in fine:
            yield from holding_problems(("holdings", i), holding)
        for name, units in holding.resources.items() if crowded else ():
            total = held[holding.node, name] = held.get((holding.node, name), 0) + units * holding.pods
            if total > LARGEST:
                yield uncountable(("holdings", i, "resources", name), holding.node)
    names: set[str] = set()
    for i, topology in enumerate(cluster.topologies):
        if topology.name in names:
            yield sentences.TOPOLOGY_TWICE.at(("topologies", i, "name"), topology=topology.name)
        names.add(topology.name)
        yield from _level_problems(("topologies", i), topology)


def _crowded(holdings: tuple[Holding, ...]) -> bool:
    """Whether more is held than can be counted, if it were all on one node."""
    alike: dict[Resources, int] = {}
    for holding in holdings:
        alike[holding.resources] = alike.get(holding.resources, 0) + max(holding.pods, 0)
    totals: dict[str, int] = {}
    for resources, pods in alike.items():
        for name, units in resources.items():
            totals[name] = totals.get(name, 0) + pods * max(units, 0)
    return any(total > LARGEST for total in totals.values())


def _level_problems(path: Path, topology: Topology) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for i, label in enumerate(topology.labels):
        if label in first:
            other = Field(("levels", first[label]))
            yield sentences.LEVEL_TWICE.at((*path, "levels", i, "label"), field=other, label=label)
        first.setdefault(label, i)


def holding_problems(path: Path, holding: Holding) -> Iterator[Problem]:
    """Whatever cannot be counted about a holding."""
    if holding.pods < 0:
        yield sentences.NEGATIVE.at((*path, "pods"), value=holding.pods)
    yield from amount_problems((*path, "resources"), holding.resources)


def uncountable(path: Path, node: str) -> Problem:
    """More is held on a node than an integer of the ledger holds."""
    return sentences.UNCOUNTABLE.at(path, node=node, most=LARGEST)
