"""Nodes of a manifest as the hub knows them."""

from __future__ import annotations

from closeknit.apis import core_v1
from closeknit.dialects.core.node_filters import taint
from closeknit.dialects.core.resources import resources
from closeknit.hub.nodes import Node
from closeknit.hub.problems import Problem
from closeknit.hub.quantities import Rounding


def hub_node(node: core_v1.Node, found: list[Problem]) -> Node:
    """One node; what cannot be read is added to ``found``.

    Where a node does not list what is allocatable, all of its capacity is, as
    Kubernetes has it. A node that says nothing of being ready is taken to be ready.
    """
    status = node.status
    listed, where = (
        (status.allocatable, ("status", "allocatable"))
        if status.allocatable is not None
        else (status.capacity, ("status", "capacity"))
    )
    offered = resources(listed, where, Rounding.DOWN, found)
    return Node(
        name=node.metadata.name,
        labels=node.metadata.labels,
        allocatable=offered,
        no_pods="pods" in listed and "pods" not in offered,
        taints=tuple(taint(given, ("spec", "taints", i), found) for i, given in enumerate(node.spec.taints)),
        unschedulable=node.spec.unschedulable,
        ready=all(condition.status == "True" for condition in status.conditions if condition.type == "Ready"),
    )
