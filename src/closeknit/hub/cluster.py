"""A cluster at one moment: its topologies, its nodes, and who holds what on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from closeknit.hub.nodes import Node
from closeknit.hub.problems import Problem, shown
from closeknit.hub.quantities import LARGEST
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class Holding:
    """What one workload's equal pods hold on one node."""

    workload: str
    node: str
    resources: Resources
    """Per pod."""
    pods: int = 1
    host_ports: frozenset[HostPort] = frozenset()


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes and topologies at one moment; the order of the tuples carries no meaning."""

    topologies: tuple[Topology, ...]
    nodes: tuple[Node, ...]
    holdings: tuple[Holding, ...] = ()

    def topology(self, name: str) -> Topology | None:
        """The topology of this name, if there is one."""
        return next((topology for topology in self.topologies if topology.name == name), None)


def problems(cluster: Cluster) -> Iterator[Problem]:
    """Whatever makes no sense about a cluster, all of it."""
    # Machines and pods come in few kinds, so amounts are looked at once for all that are alike.
    amounts = {node.allocatable for node in cluster.nodes} | {held.resources for held in cluster.holdings}
    fine = {each for each in amounts if not any(amount_problems("", each))}
    seen: set[str] = set()
    for i, node in enumerate(cluster.nodes):
        if node.name in seen:
            yield Problem(
                f"nodes[{i}].name", f"Two nodes are called {shown(node.name)}. Give each its own name."
            )
        seen.add(node.name)
        if node.allocatable not in fine:
            yield from amount_problems(f"nodes[{i}].allocatable", node.allocatable)
    held: dict[tuple[str, str], int] = {}
    crowded = _crowded(cluster.holdings)
    for i, holding in enumerate(cluster.holdings):
        if holding.node not in seen:
            yield Problem(f"holdings[{i}].node", f"There is no node {shown(holding.node)}.")
        if holding.pods < 0 or holding.resources not in fine:
            yield from holding_problems(f"holdings[{i}]", holding)
        for name, units in holding.resources.items() if crowded else ():
            total = held[holding.node, name] = held.get((holding.node, name), 0) + units * holding.pods
            if total > LARGEST:
                yield Problem(f"holdings[{i}].resources.{name}", uncountable(holding.node))
    names: set[str] = set()
    for i, topology in enumerate(cluster.topologies):
        if topology.name in names:
            message = f"Two topologies are called {shown(topology.name)}. Give each its own name."
            yield Problem(f"topologies[{i}].name", message)
        names.add(topology.name)
        yield from _level_problems(f"topologies[{i}]", topology)


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


def _level_problems(path: str, topology: Topology) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for i, label in enumerate(topology.labels):
        if label in first:
            message = f"levels[{first[label]}] has the label {shown(label)} as well. Give each level its own."
            yield Problem(f"{path}.levels[{i}].label", message)
        first.setdefault(label, i)


def amount_problems(path: str, amounts: Resources) -> Iterator[Problem]:
    """Amounts that cannot be counted: negative ones, and those that no 64-bit integer holds."""
    for name, units in amounts.items():
        if units < 0:
            yield Problem(f"{path}.{name}", f"{units} is negative. Write zero or more.")
        elif units > LARGEST:
            yield Problem(
                f"{path}.{name}", f"{units} is too large. The most that can be counted is {LARGEST}."
            )


def holding_problems(path: str, holding: Holding) -> Iterator[Problem]:
    """Whatever cannot be counted about a holding."""
    if holding.pods < 0:
        yield Problem(f"{path}.pods", f"{holding.pods} is negative. Write zero or more.")
    yield from amount_problems(f"{path}.resources", holding.resources)


def uncountable(node: str) -> str:
    """What to say where more is held on a node than an integer of the ledger holds."""
    return f"More is held on node {shown(node)} than can be counted; the most is {LARGEST} units."
