"""Closeknit places the pods of AI workloads close together.

The names exported here are the library: a cluster and a request in, an outcome
out, without Kubernetes. Everything else is internal to the package.
"""

from __future__ import annotations

from importlib import import_module

# The name that type checkers know. To load typing takes milliseconds in which an interrupt is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from closeknit.engine import Budget, Engine, solve
    from closeknit.hub.cluster import Cluster, Holding
    from closeknit.hub.nodes import Node, NodeFilter, Taint, Toleration
    from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable
    from closeknit.hub.problems import InvalidError
    from closeknit.hub.request import Group, PodSet, Request
    from closeknit.hub.resources import Resources
    from closeknit.hub.topology import Level, Topology

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


_NAMES = {
    "closeknit.engine": ("Budget", "Engine", "solve"),
    "closeknit.hub.cluster": ("Cluster", "Holding"),
    "closeknit.hub.nodes": ("Node", "NodeFilter", "Taint", "Toleration"),
    "closeknit.hub.outcome": ("Outcome", "Placed", "Undecided", "Unplaceable"),
    "closeknit.hub.problems": ("InvalidError",),
    "closeknit.hub.request": ("Group", "PodSet", "Request"),
    "closeknit.hub.resources": ("Resources",),
    "closeknit.hub.topology": ("Level", "Topology"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A name of the library, loaded when first used.

    Who only reads or translates files needs no NumPy, and the command line loads nothing before it can end
    quietly when it is interrupted.
    """
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
