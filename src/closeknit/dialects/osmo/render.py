"""What OSMO's service creates for a pool and for a workflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Pool, Workflow
from closeknit.dialects.family import Rendered
from closeknit.dialects.osmo.compile import open_groups
from closeknit.dialects.osmo.naming import class_of
from closeknit.dialects.osmo.pools import pool_named
from closeknit.dialects.osmo.to_kai import (
    to_pod_group,
    to_pods,
    to_priority_class,
    to_queues,
    to_topology_object,
)
from closeknit.dialects.osmo.workflows import workflow_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key


def pool_to_kai(stored: Stored[Pool], view: View) -> Rendered:
    """The Topology of a pool, and its queue after the one that it hangs below."""
    pool = view.derive(pool_named, stored.name)
    if pool is None or pool.problems:
        return Rendered()
    topology = () if pool.topology is None else (to_topology_object(pool, pool.topology),)
    return Rendered((*topology, *to_queues(pool)))


def workflow_to_kai(stored: Stored[Workflow], view: View) -> Rendered:
    """The PriorityClass of a workflow, and for each group of tasks its PodGroup and pods."""
    return Rendered(tuple(_objects(stored, view)))


def workflow_to_pods(stored: Stored[Workflow], view: View) -> Rendered:
    """The pods of a workflow."""
    return Rendered(tuple(made for made in _objects(stored, view) if made["kind"] == "Pod"))


def _objects(stored: Stored[Workflow], view: View) -> Iterator[dict[str, Any]]:
    workflow = view.derive(workflow_of, stored.key)
    if workflow is None:
        return
    priority = workflow.priority
    if priority and not view.has(Key("scheduling.k8s.io", "PriorityClass", "", class_of(priority))):
        yield to_priority_class(priority)
    for group in open_groups(workflow, view):
        yield to_pod_group(group, workflow)
        yield from to_pods(group, workflow)
