"""Why a group cannot be placed now, as types that programs match on. Renderers turn them into text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class QuotaScope(Enum):
    """What quota is defined for."""

    FLAVOR = "flavor"
    """A Kueue ResourceFlavor of a ClusterQueue: charged for the whole workload when it is admitted."""
    QUEUE = "queue"
    """A KAI queue: charged for each pod as it runs."""


@dataclass(frozen=True, slots=True)
class NoDomain:
    """No domain of the level has capacity for all pods that must run together."""

    level: str | None
    """None for the cluster as a whole."""


@dataclass(frozen=True, slots=True)
class PodTooLarge:
    """One pod requests more of a resource than any empty node offers, so no pod that ends can help."""

    level: str | None
    """The level that the pods must share; None for the cluster as a whole."""
    pod_set: str
    resource: str
    requested: int
    """What one pod requests, in units of the resource."""
    largest: int
    """The most that a node offers when it is empty; 0 if no node has the resource."""


@dataclass(frozen=True, slots=True)
class QuotaExceeded:
    """The queue has no quota left for it. Free capacity of nodes was not looked for."""

    scope: QuotaScope


@dataclass(frozen=True, slots=True)
class BehindStrictFifo:
    """An earlier workload of the same StrictFIFO queue is pending, and none may overtake it."""

    queue: str


ShortfallReason: TypeAlias = NoDomain | PodTooLarge | QuotaExceeded | BehindStrictFifo
