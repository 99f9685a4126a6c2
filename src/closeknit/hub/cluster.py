"""A cluster at one moment: its topologies, its nodes, and who holds what on them."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.hub.nodes import Node
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
