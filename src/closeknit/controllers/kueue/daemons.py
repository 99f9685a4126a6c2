"""What DaemonSets will use of a node on which their pods are not there yet."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import core_v1
from closeknit.apis.apps_v1 import DaemonSet
from closeknit.dialects.core.node_filters import hub_node
from closeknit.dialects.core.owner_references import identity_of, possible_controllers
from closeknit.dialects.core.pods import read_template
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.cluster import Holding
from closeknit.hub.keys import Key
from closeknit.hub.nodes import NAME_FIELD, Effect, Node, NodeFilter
from closeknit.hub.owners import OwnerIdentity

KINDS = (Kind("apps", "DaemonSet", ("v1",), DaemonSet),)
_BY_DAEMON_SET = "kueue pods of daemon sets by node"


def _daemon(pod: Stored[core_v1.Pod]) -> Iterator[tuple[OwnerIdentity, str]]:
    if node := pod.content.spec.node_name:
        yield from ((owner, node) for owner in possible_controllers(pod) if owner.kind == "DaemonSet")


INDEXES = (Index(_BY_DAEMON_SET, core_v1.Pod, _daemon),)


def owed(view: View, node: str) -> tuple[Holding, ...]:
    """What pods of DaemonSets will use of a node as soon as they are there."""
    stored = view.get(Key("", "Node", "", node))
    if stored is None:
        return ()
    made = []
    for each in view.of(DaemonSet):
        template = each.content.spec.template
        read = read_template(template.spec, namespace=each.namespace, labels=template.metadata.labels)
        if read.problems or not read.shape.resources or view.found(_BY_DAEMON_SET, (identity_of(each), node)):
            continue
        if _runs_on(read.shape.filter, hub_node(stored.content, [])):
            shape = read.shape
            made.append(
                Holding(
                    f"DaemonSet {each.namespace}/{each.name}",
                    node,
                    shape.resources,
                    1,
                    shape.host_ports,
                    shape.neighbour,
                )
            )
    return tuple(made)


def _runs_on(accepted: NodeFilter, node: Node) -> bool:
    """Whether a DaemonSet runs on a node; its pods tolerate what the node's own state is marked with."""
    labels = {**node.labels, NAME_FIELD: node.name}
    if any(labels.get(key) != value for key, value in accepted.selector):
        return False
    if accepted.affinity is not None and not any(
        term.requirements and all(each.holds(labels.get(each.key)) for each in term.requirements)
        for term in accepted.affinity
    ):
        return False
    return all(
        taint.effect is Effect.PREFER_NO_SCHEDULE
        or taint.key.startswith("node.kubernetes.io/")
        or any(each.tolerates(taint) for each in accepted.tolerations)
        for taint in node.taints
    )
