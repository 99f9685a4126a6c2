"""Closeknit places the pods of AI workloads close together.

The names exported here are the library: a cluster and a request in, an outcome
out, without Kubernetes. Everything else is internal to the package.
"""

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
