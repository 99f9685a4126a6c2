"""The constraints of a PodCliqueSet at its three places, as levels of one topology.

Each place may say ``pack.required``, ``pack.preferred`` and, in the earlier spelling of the
first, ``packDomain``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.core.levels import Asked, Levels, Written, nested
from closeknit.dialects.grove.topologies import MANAGED, Known
from closeknit.hub.problems import Problem, as_told, parted, shown, suggestion
from closeknit.hub.topology import Topology

SET = ""
"""Stands for the PodCliqueSet itself among the places of constraints."""

MEANT = " It is meant where no topology is named."
"""Why a topology is looked for that nobody wrote."""


class Lost(Enum):
    """What to do about a domain that the topology does not have."""

    REFUSE = "refuse"
    """A new PodCliqueSet that names one is a mistake."""
    LEAVE_OUT = "leave out"
    """One that runs already goes on without the constraint, and its status says so.

    The same holds where its topology is gone or was never named; and where the levels have changed
    places, what is now coarser than the constraint around it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a constraint may stand."""

    path: str
    """Of the constraint itself."""
    given: wire.TopologyConstraint | None
    parent: str | None
    """The place that this one inherits from; None for the PodCliqueSet."""

    def asked(self) -> Asked:
        """The domains that the constraint names."""
        if self.given is None:
            return Asked(self.parent)
        required = preferred = None
        pack = self.given.pack or wire.TopologyPackConstraint()
        if pack.required:
            required = Written(f"{self.path}.pack.required", pack.required)
        elif self.given.pack_domain:
            required = Written(f"{self.path}.packDomain", self.given.pack_domain)
        if pack.preferred:
            preferred = Written(f"{self.path}.pack.preferred", pack.preferred)
        return Asked(self.parent, required, preferred)


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


def places(given: wire.PodCliqueSet) -> dict[str, Place]:
    """All places of a PodCliqueSet by name, parents first; cliques and scaling groups carry a prefix.

    Of several with one name, which is a mistake, all but the first carry their number as well.
    """
    template = given.spec.template
    found = {SET: Place("spec.template.topologyConstraint", template.topology_constraint, None)}
    above: dict[str, str] = {}
    for i, group in enumerate(template.pod_clique_scaling_groups):
        name = of_group(group.name)
        path = f"spec.template.podCliqueScalingGroups[{i}].topologyConstraint"
        found[name if name not in found else f"{name} {i}"] = Place(path, group.topology_constraint, SET)
        for clique in group.clique_names:
            above.setdefault(clique, name)
    for i, template_clique in enumerate(template.cliques):
        path = f"spec.template.cliques[{i}].topologyConstraint"
        place = Place(path, template_clique.topology_constraint, above.get(template_clique.name, SET))
        name = of_clique(template_clique.name)
        found[name if name not in found else f"{name} {i}"] = place
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
        found = [as_told(place.path, message) for place in used.values()]
        return Constraints(None, empty, (), tuple(found) if lost is Lost.REFUSE else ())
    problems = [problem for place in used.values() for problem in _form_problems(place)]
    unnamed: list[Problem] = []
    name = topology_name(where, unnamed)
    if lost is Lost.REFUSE:
        problems.extend(unnamed)
        name = name or _likely(used, known)
    topology = known.topologies.get(name) if name is not None else None
    if topology is None:
        if name is not None and lost is Lost.REFUSE:
            problems.append(_no_topology(name, used, known))
        return Constraints(None, empty, (), tuple(problems))
    domains = {level.name: depth for depth, level in enumerate(topology.levels) if level.name}
    asked = {place: each.asked() for place, each in where.items()}
    unknown = [each for place in asked.values() for each in place.words() if each.word not in domains]
    if lost is Lost.REFUSE:
        for each in unknown:
            message = f"Topology {shown(topology.name)} has no domain {shown(each.word)}."
            problems.append(as_told(each.path, f"{message} {suggestion(each.word, domains)}"))
    levels, coarser = nested(asked, topology, domains)
    if lost is Lost.REFUSE:
        problems.extend(parted(coarser)[0])
    unavailable = tuple(sorted({each.word for each in unknown}))
    return Constraints(topology, levels, unavailable, tuple(problems))


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
            problems.append(as_told(f"{place.path}.topologyName", f"{message} {remedy}"))
            unnamed = True
            continue
        name = own or MANAGED
        if first is None:
            first = (name, place.path)
        elif name != first[0]:
            written = shown(name) if own else f"{shown(name)}, which is meant where none is named,"
            message = f"{written} is not {shown(first[0])}, which {first[1]} speaks of."
            problems.append(
                as_told(
                    f"{place.path}.topologyName", f"{message} A PodCliqueSet can speak of one topology only."
                )
            )
    return first[0] if first is not None and not unnamed else None


def _likely(used: Mapping[str, Place], known: Known) -> str | None:
    """The topology that is likely meant where a name is missing, so that domains can be checked all the same.

    It is the one that another constraint names, or the only one that there is.
    """
    named = (place.given.topology_name for place in used.values() if place.given is not None)
    only = next(iter(known.topologies)) if len(known.topologies) == 1 else None
    return next(filter(None, named), only)


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
        yield as_told(f"{place.path}.pack", "This says nothing. Give required, preferred or both.")
    if given.pack is None and not given.pack_domain:
        yield as_told(place.path, "This says nothing. Give pack.required, pack.preferred or both.")
    if given.pack is not None and given.pack.required and given.pack_domain:
        message = (
            "This is the earlier spelling of pack.required, which stands here as well. Keep pack.required."
        )
        yield as_told(f"{place.path}.packDomain", message)


def _no_topology(name: str, used: Mapping[str, Place], known: Known) -> Problem:
    named = (each for each in used.values() if each.given is not None and each.given.topology_name == name)
    place = next(named, None)
    meant = "" if place else MEANT
    place = place or next(iter(used.values()))
    if name in known.unusable:
        message = f"Topology {shown(name)} has problems of its own. Correct them first."
    else:
        remedy = suggestion(name, known.topologies)
        message = f"There is no ClusterTopologyBinding {shown(name)}.{meant} {remedy}"
    return as_told(f"{place.path}.topologyName", message)
