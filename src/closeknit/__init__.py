"""Closeknit places the pods of AI workloads close together.

The names exported here are the library: a cluster and a request in, an outcome
out, without Kubernetes. Everything else is internal to the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.nodes import Node, NodeFilter, Taint, Toleration
from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology

if TYPE_CHECKING:
    from closeknit.engine import Budget, Engine, solve

__all__ = [
    "Budget",
    "Cluster",
    "Engine",
    "Group",
    "Holding",
    "InvalidError",
    "Level",
    "Node",
    "NodeFilter",
    "Outcome",
    "Placed",
    "PodSet",
    "Request",
    "Resources",
    "Taint",
    "Toleration",
    "Topology",
    "Undecided",
    "Unplaceable",
    "solve",
]


def __getattr__(name: str) -> Any:
    """The engine's names, loaded when first used: who only reads or translates files needs no NumPy."""
    if name in ("Budget", "Engine", "solve"):
        return getattr(import_module("closeknit.engine"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
