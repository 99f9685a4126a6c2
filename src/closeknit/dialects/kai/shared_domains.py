"""PodGroups that must share a domain although each is scheduled by itself.

The gangs of one replica of a PodCliqueSet are such PodGroups.
Two annotations of each name the PodGroup that is placed first, its *leader*, and the level. Where pods of one
of them run or are assumed to run, the others may only use nodes of that domain. Until then, the domain
for the leader is chosen so that the others fit as well, if that is possible: they are its companions.
Only live clusters do this; in files, the object that the PodGroups were generated from is planned as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from closeknit.apis.closeknit_keys import SHARED_DOMAIN, SHARED_DOMAIN_LEVEL
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.node_amounts import node_of
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.ownership import pods_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.request import Group, PodSet
from closeknit.hub.topology import DomainPath, Topology

_SHARING = "kai pod groups by the domain that they share"


def _shared(group: Stored[PodGroup]) -> Iterator[Key]:
    if name := group.content.metadata.annotations.get(SHARED_DOMAIN):
        yield group.key._replace(name=name)


SHARING = Index(_SHARING, PodGroup, _shared, of_metadata=True)
"""Finds PodGroups that share a domain by the key of their leader."""


def leader_of(group: Stored[PodGroup]) -> Key | None:
    """The leader of the PodGroups that share a domain with this one, maybe itself; None if it shares none."""
    return next(_shared(group), None)


def level_of(view: View, group: Stored[PodGroup], topology: str | None) -> str | None:
    """The level of the shared domain; None if the topology does not have it."""
    level = group.content.metadata.annotations.get(SHARED_DOMAIN_LEVEL, "")
    found = view.derive(topologies_of, FAMILY).get(topology or "")
    return level if found is not None and level in found.labels else None


def sharing(view: View, leader: Key) -> tuple[Key, ...]:
    """The PodGroups that share a domain, the leader among them if it is annotated."""
    return tuple(sorted(group.key for group in view.found(_SHARING, leader)))


def domain_in_use(view: View, leader: Key, topology: str, level: str) -> DomainPath | None:
    """The domain of a level where the pods of PodGroups that share it run; None if none runs.

    Should they run in several, because labels of nodes have changed: that of most pods.
    """
    found = view.derive(topologies_of, FAMILY).get(topology)
    if found is None or level not in found.labels:
        return None
    pods: Counter[DomainPath] = Counter()
    for group in {leader, *view.derive(sharing, leader)}:
        for pod in pods_of(view, group, FAMILY):
            node = view.derive(node_of, Key("", "Node", "", pod.node)) if pod.stage is Stage.RUNNING else None
            if node is not None and level in node.labels:
                pods[found.path(node.labels)[: found.labels.index(level) + 1]] += 1
    return min(pods, key=lambda domain: (-pods[domain], domain), default=None)


def inside(root: Group, domain: DomainPath, topology: Topology) -> Group:
    """The same tree, with all pods on nodes of a domain."""
    labels = dict(zip(topology.labels, domain, strict=False))

    def limited(pods: PodSet) -> PodSet:
        selector = tuple(sorted({**dict(pods.filter.selector), **labels}.items()))
        return replace(pods, filter=replace(pods.filter, selector=selector))

    return root.mapped(pods=limited)
