"""How many pods of a role every node takes, and which rules about running pods close nodes to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from closeknit.engine.node_fits import NodeFits
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.neighbours import Neighbour
from closeknit.hub.outcome import ExclusionReason


@dataclass(frozen=True, slots=True)
class Closing:
    """Why a rule about running pods closes nodes to a role."""

    reason: ExclusionReason
    key: str
    in_the_way: Callable[[Neighbour], bool]
    """Whether a running pod is one of those that keep it away."""
    open: Flags
    """By slot, whether the node is open."""


class RuledFits(NodeFits):
    """How many pods of a role every slot takes: those of its shape, less what rules close."""

    closings: Sequence[Closing] = ()

    def __init__(
        self, plain: NodeFits, fit: Ints, price: Ints | None, demand: tuple[tuple[int, int], ...]
    ) -> None:
        self.shape = plain.shape
        self.demand = demand
        self.fit, self.price = fit, price
