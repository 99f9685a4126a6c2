"""Who holds how much of one resource on which node, in versions, with what has changed between two of them.

A reader that has seen one version asks for what came after it, and so one that falls behind gets the newest
state, and never a queue of all that lies between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from closeknit.hub.cluster import Holding

KEPT_STEPS = 2_000
"""How many steps of the past are kept."""


@dataclass(slots=True)
class Held:
    """What one workload holds on one node."""

    amount: int = 0
    pods: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What one workload took or gave back between two versions."""

    version: int
    time: float
    workload: str
    pods: int
    """More than before, or fewer."""
    moved: Mapping[str, int]
    """By node, how much more it holds there; less than zero for what it gave back."""


@dataclass(slots=True)
class _Moving:
    pods: int = 0
    moved: dict[str, int] = field(default_factory=dict)


class Usage:
    """Follows holdings pod by pod; ``close`` ends a version."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.version = 1
        self._on: dict[str, dict[str, Held]] = {}
        self._changed: dict[str, int] = {}
        """By node, the version in which it last changed; the latest come last."""
        self._moving: dict[str, _Moving] = {}
        self._steps: deque[Step] = deque(maxlen=KEPT_STEPS)

    def change(self, before: Holding | None, after: Holding | None) -> None:
        """A pod held the first and holds the second."""
        for holding, sign in ((before, -1), (after, 1)):
            if holding is not None:
                self._add(holding, sign * holding.pods)

    def _add(self, holding: Holding, pods: int) -> None:
        on = self._on.setdefault(holding.node, {})
        held = on.setdefault(holding.workload, Held())
        amount = holding.resources.get(self.resource, 0) * pods
        held.amount += amount
        held.pods += pods
        if held.pods <= 0:
            del on[holding.workload]
            if not on:
                del self._on[holding.node]
        # What changed last stands last.
        self._changed.pop(holding.node, None)
        self._changed[holding.node] = self.version + 1
        moving = self._moving.setdefault(holding.workload, _Moving())
        moving.pods += pods
        moving.moved[holding.node] = moving.moved.get(holding.node, 0) + amount

    def close(self, now: float) -> None:
        """Make what has changed a version of its own."""
        self.version += 1
        for workload, moving in self._moving.items():
            moved = {node: amount for node, amount in moving.moved.items() if amount}
            if moved or moving.pods:
                self._steps.append(Step(self.version, now, workload, moving.pods, moved))
        self._moving = {}

    def on(self, node: str) -> Mapping[str, Held]:
        """By workload, what is held on a node."""
        return self._on.get(node, {})

    def nodes(self) -> Iterator[str]:
        """The nodes on which something is held."""
        return iter(self._on)

    def since(self, version: int) -> list[str]:
        """The nodes that have changed after a version, those of the version under way left out."""
        found = []
        for node in reversed(self._changed):
            if self._changed[node] <= version:
                break
            if self._changed[node] <= self.version:
                found.append(node)
        return found

    def steps(self, after: int = 0) -> list[Step]:
        """What happened after a version, as far back as it is kept, oldest first."""
        found = []
        for step in reversed(self._steps):
            if step.version <= after:
                break
            found.append(step)
        return found[::-1]
