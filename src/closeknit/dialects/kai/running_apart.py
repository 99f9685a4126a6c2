"""Running pods in several domains of a level which their group requires, so that nothing more fits."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.core.pods import Stage
from closeknit.dialects.kai.constraints import Constraints
from closeknit.dialects.kai.members import Members
from closeknit.dialects.kai.subgroups import Tree
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.topology import DomainPath

_MOST_NAMED = 4


def running_apart(view: View, tree: Tree, levels: Constraints, present: Members) -> Iterator[Problem]:
    """A note for each group whose running pods break the level that it requires; told of files alone."""
    topology = view.derive(topologies_of, FAMILY).get(levels.topology or "")
    if view.schedulers is not None or topology is None or not present.by_leaf:
        return
    for name, _ in tree.walk():
        own = levels.levels[name]
        depth = topology.index(own.required) if own.required else None
        if depth is None:
            continue
        leaves = [name] if not tree.children.get(name) else tree.leaves(name)
        first: dict[DomainPath, str] = {}
        for pod in (pod for leaf in leaves for pod in present.by_leaf.get(leaf, ())):
            node = view.get(Key("", "Node", "", pod.node)) if pod.stage is Stage.RUNNING else None
            if node is not None:
                domain = topology.path(node.content.metadata.labels)[: depth + 1]
                first.setdefault(domain, pod.name)
        if len(first) > 1:
            named = [f"{pod} in {'/'.join(domain) or 'none'}" for domain, pod in sorted(first.items())]
            listed = ", ".join(named[:_MOST_NAMED]) + (" and more" if len(named) > _MOST_NAMED else "")
            path = tree.path(name, "topologyConstraint")
            yield sentences.RUNNING_APART.at(path, level=own.required or "", pods=listed)
