"""How much of a resource is free in a cluster, and how much of that lies together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LevelCapacity:
    """What is free of one resource in the domains of one level, on nodes that take pods."""

    topology: str
    level: str
    resource: str
    free: int
    """In all domains of the level together."""
    largest_free: int
    """In the domain that has most: as many pods that ask for one unit would fit there, by this resource."""
    largest_size: int
    """What the largest domain offers, whether free or not."""
    whole_nodes: int
    """Nodes none of whose resource is in use, in the domain that has most of them."""

    @property
    def fragmentation(self) -> float:
        """0 where what is free lies together as far as domains allow, towards 1 the more it is scattered."""
        together = min(self.free, self.largest_size)
        return 1 - self.largest_free / together if together else 0.0
