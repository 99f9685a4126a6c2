"""Kueue's Topology: the levels of a data center, by node label."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.core.topologies import label_problems, number_problems
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.topology import Level, Topology

FAMILY = "kueue"
GROUP = "kueue.x-k8s.io"


def kueue_key(kind: str, name: str, namespace: str = "") -> Key:
    """The key of an object of Kueue's own kinds."""
    return Key(GROUP, kind, namespace, name)


def to_topology(given: wire.Topology) -> Topology:
    """The hub's view of a Topology without problems."""
    return Topology(given.metadata.name, tuple(Level(level.node_label) for level in given.spec.levels))


def topology_problems(given: wire.Topology) -> Iterator[Problem]:
    """Everything about a Topology that Kueue would refuse."""
    yield from number_problems(given.spec.levels)
    levels = given.spec.levels
    seen: dict[str, Path] = {}
    for i, level in enumerate(levels):
        yield from label_problems(level.node_label, ("spec", "levels", i), seen, last=level is levels[-1])
