"""Clusters drawn as text, and what is left free on them."""

from __future__ import annotations

from closeknit.hub.cluster import Cluster
from closeknit.hub.drawing import GPU, HOSTNAME, draw, parse
from closeknit.hub.resources import Resources

__all__ = ["GPU", "HOSTNAME", "draw", "free", "parse"]


def free(cluster: Cluster) -> dict[str, Resources]:
    """What each node has left, by its name; less than nothing where it is overcommitted.

    A node that lists no ``pods`` has no entry for them, since it takes any number.
    """
    left = {node.name: node.allocatable for node in cluster.nodes}
    counted = {node.name for node in cluster.nodes if "pods" in node.allocatable}
    for holding in cluster.holdings:
        used = holding.resources * holding.pods
        if holding.node in counted:
            used += Resources({"pods": holding.pods})
        left[holding.node] -= used
    return left
