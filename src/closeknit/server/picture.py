"""The tree of one topology as columns: every domain, and every node in the order of the tree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from closeknit.hub.natural_order import NaturalKeys
from closeknit.hub.nodes import Node
from closeknit.hub.resources import is_extended
from closeknit.hub.topology import DomainPath, Topology
from closeknit.server.documents import Domains, Level, Nodes


@dataclass(frozen=True, slots=True)
class Tree:
    """Domains and nodes of a topology, and the place of each node in the columns."""

    topology: Topology
    levels: list[Level]
    domains: Domains
    nodes: Nodes
    place: Mapping[str, int]
    paths: Mapping[DomainPath, int]


def tree(topology: Topology, nodes: Iterable[Node], resource: str) -> Tree:
    """The tree of these nodes, each level sorted by name, with numbers in names by their value."""
    # Below single nodes there is nothing to draw.
    depth = len(topology.down_to_nodes().levels)
    keys = NaturalKeys()
    sorted_nodes = sorted(
        ((topology.path(node.labels)[:depth], node) for node in nodes),
        key=lambda found: (not found[0], [keys[value] for value in found[0]], keys[found[1].name]),
    )
    domains = Domains(parent=[], level=[], name=[])
    columns = Nodes(name=[], domain=[], size=[], closed=[])
    paths: dict[DomainPath, int] = {}
    for path, node in sorted_nodes:
        for level, name in enumerate(path):
            here = path[: level + 1]
            if here not in paths:
                paths[here] = len(domains.name)
                domains.parent.append(paths[here[:-1]] if level else -1)
                domains.level.append(level)
                domains.name.append(name)
        if node.unschedulable or not node.ready:
            columns.closed.append(len(columns.name))
        columns.name.append(node.name)
        columns.domain.append(paths[path] if path else -1)
        columns.size.append(node.allocatable.get(resource, 0))
    place = {name: i for i, name in enumerate(columns.name)}
    levels = [Level(label=each.label, name=each.name or each.label) for each in topology.levels[:depth]]
    return Tree(topology, levels, domains, columns, place, paths)


def shown_resource(nodes: Iterable[Node]) -> str:
    """The scarce resource that most nodes offer, such as GPUs; the processor where nobody has one."""
    offering: dict[str, int] = {}
    for node in nodes:
        for name in node.allocatable:
            if is_extended(name):
                offering[name] = offering.get(name, 0) + 1
    return max(sorted(offering), key=offering.__getitem__, default="cpu")
