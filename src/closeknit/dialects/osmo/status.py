"""What is told of pools and workflows: whether they are accepted, and which nodes lack a pool's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from closeknit.apis import core_v1
from closeknit.apis import osmo_closeknit_dev_v1alpha1 as wire
from closeknit.dialects.family import Condition, Status
from closeknit.dialects.osmo.pools import ReadPool, pool_named
from closeknit.dialects.osmo.workflows import workflow_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.problems import Problem

ACCEPTED = "Accepted"
LABELLED = "NodesLabelled"
_NAMED = 10
"""So many nodes are called by name; the others are counted."""


@dataclass(frozen=True, slots=True)
class KeyOnNodes:
    """A topology key of a pool, and the pool's nodes that lack its label."""

    key: str
    label: str
    lacking: tuple[str, ...]
    """Sorted."""


@dataclass(frozen=True, slots=True)
class PoolOnNodes:
    """A pool without problems, and its keys on the nodes that are its own."""

    pool: ReadPool
    nodes: int
    keys: tuple[KeyOnNodes, ...]


def pool_on_nodes(view: View, name: str) -> PoolOnNodes | None:
    """A pool with its keys, coarsest first; None where it is not there or has problems."""
    pool = view.derive(pool_named, name)
    if pool is None or pool.problems:
        return None
    nodes = _nodes(pool, [stored.content for stored in view.of(core_v1.Node)])
    keys = (
        KeyOnNodes(
            one.key,
            one.label,
            tuple(sorted(node.metadata.name for node in nodes if not node.metadata.labels.get(one.label))),
        )
        for one in pool.keys
    )
    return PoolOnNodes(pool, len(nodes), tuple(keys))


def _nodes(pool: ReadPool, nodes: Sequence[core_v1.Node]) -> list[core_v1.Node]:
    """The nodes that have the labels of one of the pool's platforms; all where it has no platform."""
    wanted = [platform.labels.items() for platform in pool.file.platforms.values()] or [{}.items()]
    return [node for node in nodes if any(labels <= node.metadata.labels.items() for labels in wanted)]


def pool_status(stored: Stored[wire.Pool], view: View) -> Status:
    """Whether the pool is usable, and whether all its nodes have the labels of its keys."""
    pool = view.derive(pool_named, stored.name)
    problems = (*stored.problems, *(pool.problems if pool is not None else ()))
    found = view.derive(pool_on_nodes, stored.name)
    labelled = nodes_labelled(found) if found is not None else None
    return Status((accepted(problems), *((labelled,) if labelled is not None else ())))


def nodes_labelled(found: PoolOnNodes) -> Condition | None:
    """Whether all nodes of a pool have the labels of its keys; None where there are no keys or no nodes."""
    if not found.keys or not found.nodes:
        return None
    lacking = [key for key in found.keys if key.lacking]
    if not lacking:
        every = "1 node has" if found.nodes == 1 else f"All {found.nodes} nodes have"
        return Condition(LABELLED, "True", "AllNodesLabelled", f"{every} the labels of all topology keys")
    parts = (f"{_counted(key.lacking)} the label {key.label} of key {key.key}" for key in lacking)
    return Condition(LABELLED, "False", "NodesLackLabels", "; ".join(parts))


def _counted(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"1 node lacks ({shown})" if len(names) == 1 else f"{len(names)} nodes lack ({shown}{more})"


def workflow_status(stored: Stored[wire.Workflow], view: View) -> Status:
    """Whether the workflow can be run as it is written."""
    workflow = view.derive(workflow_of, stored.key)
    found = workflow.problems if workflow is not None else ()
    return Status((accepted((*stored.problems, *found)),))


def accepted(problems: Sequence[Problem]) -> Condition:
    """Whether an object without these problems is there."""
    if not problems:
        return Condition(ACCEPTED, "True", "Valid", "Nothing is wrong with it")
    return Condition(ACCEPTED, "False", "Invalid", "; ".join(dict.fromkeys(map(str, problems))))
