"""How a data center is laid out: levels, coarsest first, each read from a node label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

HOSTNAME = "kubernetes.io/hostname"
"""The label that every kubelet gives its node, and no other node has with the same value."""

DomainPath: TypeAlias = tuple[str, ...]
"""A domain's identity: the label values from the coarsest level down to its own.

rack-1 of block-1 is therefore never mistaken for rack-1 of block-2.
"""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a topology: the node label it is read from, and what people call it."""

    label: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """A named, ordered list of levels, coarsest first."""

    name: str
    levels: tuple[Level, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The node labels of all levels, coarsest first."""
        return tuple(level.label for level in self.levels)

    def index(self, label: str) -> int | None:
        """How deep the level with this label lies, or None where there is no such level."""
        for depth, level in enumerate(self.levels):
            if level.label == label:
                return depth
        return None

    def covers(self, other: Topology) -> bool:
        """Whether all levels of another one are among these, in the same order."""
        labels = iter(self.labels)
        return all(label in labels for label in other.labels)

    def down_to_nodes(self) -> Topology:
        """The same without levels below that of single nodes, which tell nothing apart that nodes do not."""
        depth = self.index(HOSTNAME)
        if depth is None or depth == len(self.levels) - 1:
            return self
        return Topology(self.name, self.levels[: depth + 1])

    def path(self, node_labels: Mapping[str, str]) -> DomainPath:
        """The domain of a node, as far down as it carries the labels without a gap.

        A node that lacks a level's label is outside every domain of that level
        and of the finer ones, whatever finer labels it has.
        """
        path = []
        for level in self.levels:
            value = node_labels.get(level.label)
            if value is None:
                break
            path.append(value)
        return tuple(path)
