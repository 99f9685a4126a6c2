"""Which nodes a PodGroup may use: those of its pool, and for a required level, those that have its labels."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.core_v1 import Node
from closeknit.apis.kai_keys import NODE_POOL
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.kai.constraints import Constraints
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.problems import Problem
from closeknit.hub.request import Group, PodSet
from closeknit.hub.sentences import kai as sentences


def in_pool(pool: str, root: Group) -> Group:
    """The same tree, with all pods on nodes of a pool; the empty name stands for all nodes."""
    return root.mapped(pods=lambda pods: _limited(pods, pool)) if pool else root


def _limited(pods: PodSet, pool: str) -> PodSet:
    selector = tuple(sorted({**dict(pods.filter.selector), NODE_POOL: pool}.items()))
    return replace(pods, filter=replace(pods.filter, selector=selector))


def unlabelled_nodes(view: View, levels: Constraints) -> Iterator[Problem]:
    """A note on nodes that lack the label of a level, where a level is asked for; told of files alone."""
    asked = any(each.required or each.preferred for each in levels.levels.values())
    if view.schedulers is not None or not asked or levels.topology is None:
        return
    found = view.derive(_lacking, levels.topology)
    if found is not None:
        label, nodes = found
        lacking = "1 node lacks label" if nodes == 1 else f"{nodes} nodes lack label"
        facts = {"nodes": lacking, "label": label, "topology": levels.topology}
        yield sentences.NODES_WITHOUT_LABEL.at(("spec",), **facts)


def _lacking(view: View, topology: str) -> tuple[str, int] | None:
    """The coarsest label of a topology that some nodes lack, and how many do."""
    levels = view.derive(topologies_of, FAMILY)[topology]
    nodes = [node.content.metadata.labels for node in view.of(Node)]
    for label in levels.labels:
        if missing := sum(label not in labels for labels in nodes):
            return label, missing
    return None
