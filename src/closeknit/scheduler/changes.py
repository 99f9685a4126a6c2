"""What can happen in a cluster that may help a unit that waits.

What changes about a unit's own objects is told by putting the unit into the
queue again.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from closeknit.hub.cluster import Holding


class Freed(msgspec.Struct, frozen=True, gc=False):
    """Pods gave back what they held on a node."""

    holding: Holding


class Joined(msgspec.Struct, frozen=True, gc=False):
    """Pods came to a node: they may be company for others, or make spreading even."""

    holding: Holding


class NodeChanged(msgspec.Struct, frozen=True, gc=False):
    """A node came, or its labels, amounts, taints or state are others than before."""

    node: str


class NodeGone(msgspec.Struct, frozen=True, gc=False):
    """A node went. That helps only those who are bound by rules about the pods that were there."""

    held: tuple[Holding, ...]


class QuotaChanged(msgspec.Struct, frozen=True, gc=False):
    """These accounts were given back something, or have another quota."""

    accounts: frozenset[tuple[str, ...]]
    """Each with all accounts that it lies in, see ``closeknit.hub.quota.Account.around``."""


class TopologiesChanged(msgspec.Struct, frozen=True, gc=False):
    """Levels or topologies came, went or changed, so that every domain may be another."""


Change: TypeAlias = Freed | Joined | NodeChanged | NodeGone | QuotaChanged | TopologiesChanged
