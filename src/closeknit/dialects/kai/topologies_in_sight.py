"""The topologies that PodGroups can name: those given, those that several make together, those asked for."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import kai_scheduler_v1alpha1 as wire
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup, PodGroupSpec, TopologyConstraint
from closeknit.dialects.assumed_topologies import Asked, chains, with_assumed
from closeknit.dialects.compiling import described
from closeknit.dialects.core.levels import Part
from closeknit.dialects.family import Described
from closeknit.dialects.kai.joint_topologies import joint_topologies
from closeknit.dialects.kai.owners import OWNERS, implicit_groups
from closeknit.dialects.kai.subgroups import tree
from closeknit.dialects.kai.topologies import to_topology, topology_problems
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.topology import Level


def topologies(view: View) -> Described:
    """All Topologies that KAI would take, and what is wrong with the others."""
    found = described(view, wire.Topology, topology_problems, to_topology)
    found = with_assumed(view, found, (wire.Topology,), _asked_for(view))
    joint = {each.name: each for each in joint_topologies(view, found.topologies)}
    return replace(found, topologies={**found.topologies, **joint}) if joint else found


def _asked_for(view: View) -> Iterator[Asked]:
    """The levels of PodGroups, and of those that KAI would make."""
    for group in view.of(PodGroup):
        yield from _levels_of(group.content.spec)
    for shape in OWNERS:
        for owner in view.of(shape):
            for made in view.derive(implicit_groups, owner.key):
                yield from _levels_of(made.spec())


def _levels_of(spec: PodGroupSpec) -> Iterator[Asked]:
    subgroups = tree(spec, [])
    given = {"": spec.topology_constraint} | {
        name: each.topology_constraint for name, each in subgroups.subgroups.items()
    }
    for topology in sorted({each.topology for each in given.values() if each.topology}):
        parts = {
            name: _part(parent, given[name] if given[name].topology == topology else TopologyConstraint())
            for name, parent in subgroups.walk()
        }
        for labels in chains(parts):
            yield Asked(topology, tuple(map(Level, labels)))


def _part(parent: str | None, given: TopologyConstraint) -> Part:
    return Part(parent, given.required_topology_level, given.preferred_topology_level)
