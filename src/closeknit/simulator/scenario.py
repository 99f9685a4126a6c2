"""What is replayed: a site, the workloads that arrive there, and what goes wrong meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from closeknit.hub.copying import replace
from closeknit.hub.nodes import Node
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Topology

_USUAL = {"pods": 110}


@dataclass(frozen=True, slots=True)
class Ask:
    """A gang of equal pods, and how close they want to be. Levels are named by node label."""

    pods: int
    resources: Resources
    """Per pod."""
    required: str | None = None
    preferred: str | None = None
    selector: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Node labels that every pod needs, and the values that each may have."""
    units: int | None = None
    """How much of the scarce resource all pods ask for together; None where they are equal."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What is created for a workload that is more than a gang of equal pods."""

    objects: tuple[Mapping[str, Any], ...]
    """Of any family; its operator makes pods of them."""
    setup: tuple[Mapping[str, Any], ...] = ()
    """What all workloads of the trace find there, such as queues."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A gang that arrives at a moment and runs so long once all its pods have a node."""

    name: str
    at: float
    runs: float
    ask: Ask
    priority: int = 0
    manifests: Manifests | None = None
    """None for a gang of equal pods, which every policy can place."""


@dataclass(frozen=True)
class Site:
    """Nodes in the order of their domains, and the one topology over them."""

    topology: Topology
    nodes: tuple[Node, ...]
    resource: str
    """The scarce resource, whose use is told."""
    scale: int = 1
    """Units of that resource which make one device."""
    about: str = ""
    """Where the nodes come from, for the report."""

    @classmethod
    def of(
        cls, topology: Topology, nodes: Sequence[Node], resource: str, *, scale: int = 1, about: str = ""
    ) -> Site:
        """A site of nodes in any order; one that does not say takes the usual number of pods."""
        whole = [replace(node, allocatable=Resources({**_USUAL, **node.allocatable})) for node in nodes]
        in_order = tuple(sorted(whole, key=lambda node: (topology.path(node.labels), node.name)))
        return cls(topology.down_to_nodes(), in_order, resource, scale, about)

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """The labels of the levels above single nodes, coarsest first."""
        paths = [self.topology.path(node.labels) for node in self.nodes]
        labels = self.topology.labels
        single = bool(labels) and len({path for path in paths if len(path) == len(labels)}) == len(self.nodes)
        return labels[:-1] if single else labels

    @property
    def rack(self) -> str | None:
        """The finest level above single nodes, whatever it is called."""
        return self.levels[-1] if self.levels else None

    @property
    def block(self) -> str | None:
        """The level above that of racks."""
        return self.levels[-2] if len(self.levels) > 1 else None

    def word(self, label: str | None) -> str:
        """What people call a level."""
        found = next((level for level in self.topology.levels if level.label == label), None)
        return (found.name or found.label.rpartition("/")[2]) if found is not None else "cluster"

    def level(self, word: str) -> str | None:
        """The label of a level by its label or its word; rack and block also by their place in the tree."""
        for level in self.topology.levels:
            if word in (level.label, level.name, level.label.rpartition("/")[2]):
                return level.label
        return {"rack": self.rack, "block": self.block}.get(word)

    @cached_property
    def devices(self) -> float:
        """How much of the scarce resource there is."""
        return sum(node.allocatable.get(self.resource, 0) for node in self.nodes) / self.scale

    def devices_of(self, ask: Ask) -> float:
        """How much of it a gang asks for."""
        units = ask.units if ask.units is not None else ask.pods * ask.resources.get(self.resource, 0)
        return units / self.scale


@dataclass(frozen=True, slots=True)
class SiteVariant:
    """The topology of a run: that of the scenario, or a changed one that policies are compared on as well."""

    name: str
    """Of the topology in reports."""
    is_original: bool = False


ORIGINAL_SITE = SiteVariant("as it is", is_original=True)


@dataclass(frozen=True, slots=True)
class Faults:
    """Nodes that fail by chance: each so often a day, and each for so many seconds."""

    per_node_day: float = 0.0
    repair: float = 4 * 3600.0


@dataclass(frozen=True)
class Scenario:
    """Everything that decides a run; equal scenarios give equal histories."""

    site: Site
    submissions: tuple[Submission, ...]
    """In the order of their times."""
    faults: Faults = Faults()
    seed: int = 1
    about: Mapping[str, str] = field(default_factory=dict)
    """What the report says of it."""
