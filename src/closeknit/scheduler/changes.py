"""What can happen in a cluster that may help a unit that waits.

What changes about a unit's own objects is told by putting the unit into the
queue again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from closeknit.hub.cluster import Holding


@dataclass(frozen=True, slots=True)
class Freed:
    """Pods gave back what they held on a node."""

    holding: Holding


@dataclass(frozen=True, slots=True)
class Joined:
    """Pods came to a node: they may be company for others, or make spreading even."""

    holding: Holding


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """A node came, or its labels, amounts, taints or state are others than before."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node went. That helps only those who are bound by rules about the pods that were there."""

    held: tuple[Holding, ...]


@dataclass(frozen=True, slots=True)
class QuotaChanged:
    """These accounts were given back something, or have another quota."""

    accounts: frozenset[tuple[str, ...]]
    """Each with all accounts that it lies in, see ``closeknit.hub.quota.Account.around``."""


@dataclass(frozen=True, slots=True)
class TopologiesChanged:
    """Levels or topologies came, went or changed, so that every domain may be another."""


Change: TypeAlias = Freed | Joined | NodeChanged | NodeGone | QuotaChanged | TopologiesChanged
