"""What happened in a replay: who ran when and where, and which nodes failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from closeknit.hub.resources import Resources
from closeknit.simulator.scenario import Faults

MOST_STARTS = 100
"""A gang that has lost its nodes so often will never end, and is given up."""


@dataclass(frozen=True, slots=True)
class Stay:
    """One gang on its nodes, from when the last pod was bound until they were free again."""

    submission: int
    started: float
    ended: float
    nodes: tuple[tuple[int, int], ...]
    """Nodes by number and how many pods each has, in order."""
    lost: bool = False
    """Whether it ended before its time, because a node failed or it was displaced."""
    held: tuple[tuple[int, Resources], ...] = ()
    """By node, what its pods held there, ``pods`` included, where they were not equal."""


@dataclass
class History:
    """All stays of one replay, in the order of their ends."""

    stays: list[Stay] = field(default_factory=list)
    outages: list[tuple[int, float, float]] = field(default_factory=list)
    """Node, from, until."""


def outages(faults: Faults, seed: int, node: int) -> Iterator[tuple[float, float]]:
    """When a node fails and when it is back, for ever; nothing where nodes do not fail.

    Every node has dice of its own, so that each policy meets the same failures.
    """
    if faults.per_node_day <= 0:
        return
    dice = Random(f"{seed}/{node}")  # noqa: S311 (seeded random numbers are the point)
    now = 0.0
    while True:
        now += round(dice.expovariate(faults.per_node_day / 86_400), 3)
        yield now, now + faults.repair
        now += faults.repair
