"""The constraints of a PodCliqueSet at its three places, as levels of one topology.

Each place may say ``pack.required``, ``pack.preferred`` and, in the earlier spelling of the
first, ``packDomain``. A preference that is coarser than what is required anyway says nothing;
Grove accepts it with a warning, and here it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.grove.topologies import MANAGED, Known
from closeknit.hub.problems import Problem, shown, suggestion
from closeknit.hub.topology import Topology

SET = ""
"""Stands for the PodCliqueSet itself among the places of constraints."""


class Lost(Enum):
    """What to do about a domain that the topology does not have."""

    REFUSE = "refuse"
    """A new PodCliqueSet that names one is a mistake."""
    LEAVE_OUT = "leave out"
    """One that runs already goes on without the constraint, and its status says so."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The node labels of the levels that a place requires and prefers."""

    required: str | None = None
    preferred: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a constraint may stand."""

    path: str
    """Of the constraint itself."""
    given: wire.TopologyConstraint | None
    parent: str | None
    """The place that this one inherits from; None for the PodCliqueSet."""

    def domains(self) -> Iterator[tuple[str, str]]:
        """Path and domain of everything that the constraint names, the requirement first."""
        if self.given is None:
            return
        if self.given.pack is not None and self.given.pack.required:
            yield f"{self.path}.pack.required", self.given.pack.required
        elif self.given.pack_domain:
            yield f"{self.path}.packDomain", self.given.pack_domain
        if self.given.pack is not None and self.given.pack.preferred:
            yield f"{self.path}.pack.preferred", self.given.pack.preferred


@dataclass(frozen=True, slots=True)
class Constraints:
    """All constraints of a PodCliqueSet."""

    topology: Topology | None
    """None where nothing is constrained, or the topology cannot be used."""
    levels: Mapping[str, Levels]
    """By place; empty ones for places without a constraint."""
    unavailable: tuple[str, ...]
    """The domains that the topology does not have, sorted."""
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Bound:
    """A level that binds everything below, and the field that says so."""

    domain: str
    depth: int
    path: str


def places(given: wire.PodCliqueSet) -> dict[str, Place]:
    """All places of a PodCliqueSet by name, parents first; cliques and scaling groups carry a prefix."""
    template = given.spec.template
    found = {SET: Place("spec.template.topologyConstraint", template.topology_constraint, None)}
    above: dict[str, str] = {}
    for i, group in enumerate(template.pod_clique_scaling_groups):
        name = of_group(group.name)
        path = f"spec.template.podCliqueScalingGroups[{i}].topologyConstraint"
        found.setdefault(name, Place(path, group.topology_constraint, SET))
        for clique in group.clique_names:
            above.setdefault(clique, name)
    for i, template_clique in enumerate(template.cliques):
        path = f"spec.template.cliques[{i}].topologyConstraint"
        place = Place(path, template_clique.topology_constraint, above.get(template_clique.name, SET))
        found.setdefault(of_clique(template_clique.name), place)
    return found


def of_clique(name: str) -> str:
    """The place of a clique's constraint."""
    return f"clique {name}"


def of_group(name: str) -> str:
    """The place of a scaling group's constraint."""
    return f"group {name}"


def constraints(given: wire.PodCliqueSet, known: Known, lost: Lost = Lost.REFUSE) -> Constraints:
    """Read every constraint, with everything that is wrong with any of them."""
    where = places(given)
    used = {name: place for name, place in where.items() if place.given is not None}
    empty = {name: Levels() for name in where}
    if not used:
        return Constraints(None, empty, (), ())
    if not known.enabled:
        off = "Topology aware scheduling is switched off in the OperatorConfiguration."
        message = f"{off} Switch it on, or leave the constraint out."
        found = [Problem(place.path, message) for place in used.values()]
        return Constraints(None, empty, (), tuple(found) if lost is Lost.REFUSE else ())
    problems = [problem for place in used.values() for problem in _form_problems(place)]
    name = topology_name(where, problems)
    topology = known.topologies.get(name) if name is not None else None
    if topology is None:
        if name is not None and lost is Lost.REFUSE:
            problems.append(_no_topology(name, used, known))
        return Constraints(None, empty, (), tuple(problems))
    domains = {level.name: depth for depth, level in enumerate(topology.levels) if level.name}
    unavailable: set[str] = set()
    for place in used.values():
        for path, domain in place.domains():
            if domain in domains:
                continue
            unavailable.add(domain)
            if lost is Lost.REFUSE:
                message = f"Topology {shown(topology.name)} has no domain {shown(domain)}."
                problems.append(Problem(path, f"{message} {suggestion(domain, domains)}"))
    levels = dict(empty)
    problems.extend(_fill(where, topology, domains, levels))
    return Constraints(topology, levels, tuple(sorted(unavailable)), tuple(problems))


def topology_name(where: Mapping[str, Place], problems: list[Problem]) -> str | None:
    """The topology that all constraints speak of, own or inherited; a PodCliqueSet can speak of one only.

    In the earlier spelling there was only one topology, so it need not be named.
    """
    first: tuple[str, str] | None = None
    unnamed = False
    for place in where.values():
        if place.given is None:
            continue
        own = place.given.topology_name
        if not own and _inherited(place, where):
            continue
        if not own and place.given.pack is not None:
            message = "The topology whose domains are meant is missing, and there is none to inherit."
            remedy = "Write the name of a ClusterTopologyBinding."
            problems.append(Problem(f"{place.path}.topologyName", f"{message} {remedy}"))
            unnamed = True
            continue
        name = own or MANAGED
        if first is None:
            first = (name, place.path)
        elif name != first[0]:
            written = shown(name) if own else f"{shown(name)}, which is meant where none is named,"
            message = f"{written} is not {shown(first[0])}, which {first[1]} speaks of."
            problems.append(
                Problem(
                    f"{place.path}.topologyName", f"{message} A PodCliqueSet can speak of one topology only."
                )
            )
    return first[0] if first is not None and not unnamed else None


def _inherited(place: Place, where: Mapping[str, Place]) -> str:
    """The name of the topology that the nearest place above with a constraint speaks of; empty for none."""
    above = place.parent
    while above is not None:
        given = where[above].given
        if given is not None and given.topology_name:
            return given.topology_name
        above = where[above].parent
    return ""


def _form_problems(place: Place) -> Iterator[Problem]:
    given = place.given
    if given is None:
        return
    if given.pack is not None and not given.pack.required and not given.pack.preferred:
        yield Problem(f"{place.path}.pack", "This says nothing. Give required, preferred or both.")
    if given.pack is None and not given.pack_domain:
        yield Problem(place.path, "This says nothing. Give pack.required, pack.preferred or both.")
    if given.pack is not None and given.pack.required and given.pack_domain:
        message = (
            "This is the earlier spelling of pack.required, which stands here as well. Keep pack.required."
        )
        yield Problem(f"{place.path}.packDomain", message)


def _no_topology(name: str, used: Mapping[str, Place], known: Known) -> Problem:
    place = next(
        (each for each in used.values() if each.given is not None and each.given.topology_name == name),
        next(iter(used.values())),
    )
    if name in known.unusable:
        message = f"Topology {shown(name)} has problems of its own. Correct them first."
    else:
        message = f"There is no ClusterTopologyBinding {shown(name)}. {suggestion(name, known.topologies)}"
    return Problem(f"{place.path}.topologyName", message)


def _fill(
    where: Mapping[str, Place], topology: Topology, domains: Mapping[str, int], levels: dict[str, Levels]
) -> Iterator[Problem]:
    """Enter the levels of every place; a child's are equal to or finer than its parent's, like with like."""
    required: dict[str | None, _Bound | None] = {None: None}
    preferred: dict[str | None, _Bound | None] = {None: None}
    for name, place in where.items():
        must, wish = required[place.parent], preferred[place.parent]
        own_must: _Bound | None = None
        own_wish: _Bound | None = None
        for path, domain in place.domains():
            if domain not in domains:
                continue
            bound = _Bound(domain, domains[domain], path)
            if path.endswith(".preferred"):
                above, own_wish = wish, bound
            else:
                above, own_must = must, bound
            if above is not None and bound.depth < above.depth:
                yield Problem(
                    path,
                    f"{shown(domain)} is coarser than {shown(above.domain)}, which {above.path} names."
                    f" Name {shown(above.domain)} or a finer domain, or leave it out.",
                )
        must, wish = _finer(must, own_must), _finer(wish, own_wish)
        if own_wish is not None and must is not None and own_wish.depth < must.depth:
            own_wish = None
        levels[name] = Levels(
            topology.labels[own_must.depth] if own_must else None,
            topology.labels[own_wish.depth] if own_wish else None,
        )
        required[name], preferred[name] = must, wish


def _finer(first: _Bound | None, second: _Bound | None) -> _Bound | None:
    if first is None or second is None:
        return first or second
    return second if second.depth >= first.depth else first
