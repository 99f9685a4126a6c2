"""What every domain of a topology offers and what of it is in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.natural_order import natural
from closeknit.hub.nodes import Node
from closeknit.hub.outcome import Placed
from closeknit.hub.request import Request
from closeknit.hub.resources import is_extended
from closeknit.hub.topology import DomainPath, Topology


@dataclass(frozen=True, slots=True)
class Host:
    """A node and what its pods use."""

    node: Node
    uses: tuple[Holding, ...]

    def used(self, resource: str) -> int:
        """Units of a resource in use; every pod uses one of ``pods``."""
        if resource == "pods":
            return sum(use.pods for use in self.uses)
        return sum(use.pods * use.resources.get(resource, 0) for use in self.uses)


@dataclass(slots=True)
class Domain:
    """A domain, what it offers in all and what of that is in use. The cluster's path is empty."""

    path: DomainPath
    nodes: int = 0
    capacity: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    domains: list[Domain] = field(default_factory=list)
    """Of the next finer level, in natural order."""
    hosts: list[Host] = field(default_factory=list)
    """The nodes that are in no finer domain, in natural order."""

    @property
    def name(self) -> str:
        """Its own label value; empty for the whole cluster."""
        return self.path[-1] if self.path else ""

    def walk(self) -> Iterator[Domain]:
        """The domain and all inside it, outer ones first."""
        yield self
        for inner in self.domains:
            yield from inner.walk()

    def all_hosts(self) -> Iterator[Host]:
        """Every node inside, in the order of the tree."""
        return (host for domain in self.walk() for host in domain.hosts)


def holdings_of(request: Request, placed: Placed) -> Iterator[Holding]:
    """What a placement uses, node by node."""
    asked = {pods.name: pods for pods in request.root.pod_sets()}
    counts = Counter((assignment.node, assignment.pod_set) for assignment in placed.assignments)
    for (node, pod_set), pods in counts.items():
        given = asked[pod_set]
        yield Holding(request.name, node, given.resources, pods, given.host_ports, given.neighbour)


def uses_by_node(
    holdings: Iterable[Holding], placements: Iterable[tuple[Request, Placed]] = ()
) -> dict[str, list[Holding]]:
    """Everything in use on each node: what was held before, then what is placed."""
    uses: dict[str, list[Holding]] = {}
    for use in (*holdings, *(each for placement in placements for each in holdings_of(*placement))):
        uses.setdefault(use.node, []).append(use)
    return uses


def tree(cluster: Cluster, topology: Topology | None, uses: Mapping[str, list[Holding]]) -> Domain:
    """The cluster as a tree of the topology's domains; without one, all nodes side by side."""
    root = Domain(())
    known: dict[DomainPath, Domain] = {(): root}
    for node in sorted(cluster.nodes, key=lambda each: natural(each.name)):
        path = topology.path(node.labels) if topology is not None else ()
        host = Host(node, tuple(uses.get(node.name, ())))
        for depth in range(len(path) + 1):
            domain = known.get(path[:depth])
            if domain is None:
                domain = known[path[:depth]] = Domain(path[:depth])
                known[path[: depth - 1]].domains.append(domain)
            domain.nodes += 1
            domain.capacity.update(node.allocatable)
            for use in host.uses:
                domain.used["pods"] += use.pods
                for resource, units in use.resources.items():
                    domain.used[resource] += units * use.pods
        known[path].hosts.append(host)
    for domain in known.values():
        domain.domains.sort(key=lambda each: natural(each.name))
    return root


def resources_that_matter(cluster: Cluster) -> tuple[str, ...]:
    """The resources worth a look: GPUs first, then other devices; without any, CPU and memory."""
    offered = {resource for node in cluster.nodes for resource in node.allocatable}
    gpus = sorted(resource for resource in offered if resource.endswith("/gpu"))
    devices = sorted(resource for resource in offered if is_extended(resource) and resource not in gpus)
    return (*gpus, *devices) or tuple(resource for resource in ("cpu", "memory") if resource in offered)
