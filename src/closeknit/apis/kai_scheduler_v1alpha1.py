"""kai.scheduler/v1alpha1: Topology. OSMO's documents call the same shape v1."""

from __future__ import annotations

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Wire


class TopologyLevel(Wire, frozen=True, kw_only=True):
    """A node label, and a shorter name that may stand for it."""

    node_label: str
    alias: str = ""


class TopologySpec(Wire, frozen=True, kw_only=True):
    """The levels, coarsest first."""

    levels: tuple[TopologyLevel, ...]


class Topology(KubernetesObject, frozen=True, kw_only=True):
    """How nodes are laid out."""

    spec: TopologySpec
