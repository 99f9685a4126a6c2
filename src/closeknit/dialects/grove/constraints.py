"""The constraints of a PodCliqueSet at its three places, as levels of one topology.

Each place may have ``pack.required``, ``pack.preferred`` and, in the earlier spelling of the
first, ``packDomain``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.dialects.core.levels import LevelField, Levels, nested
from closeknit.dialects.grove.places import Place, places
from closeknit.dialects.grove.terms import GROVE, Loss, Terms
from closeknit.dialects.grove.topologies import MANAGED, Known
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Code, Field, OneOf, Problem, parted
from closeknit.hub.sentences import core
from closeknit.hub.sentences import grove as sentences
from closeknit.hub.topology import Topology


@dataclass(frozen=True, slots=True)
class Constraints:
    """All constraints of a PodCliqueSet or a PodGang."""

    topology: Topology | None
    """None where nothing is constrained, or the topology cannot be used."""
    levels: Mapping[str, Levels]
    """By place; empty ones for places without a constraint."""
    unavailable: tuple[str, ...] = ()
    """The domains of a set that its topology does not have, sorted."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    """Preferences without effect, and what a set that runs already has lost."""


def constraints(
    given: wire.PodCliqueSet, known: Known, *, running: bool = False, terms: Terms = GROVE
) -> Constraints:
    """Read every constraint, with everything that is wrong with any of them.

    A new set that names a domain which its topology does not have is a mistake. One that is ``running`` goes
    on without the constraint, and its status has a condition for it. The same holds where its topology is
    gone or was never named; and where the levels have changed places, what is now coarser than the
    constraint around it.
    """
    where = places(given)
    used = {name: place for name, place in where.items() if place.given is not None}
    empty = dict.fromkeys(where, Levels())
    if not used:
        return Constraints(None, empty)
    if not known.enabled:
        if running:
            lost = (_lost(sentences.LOST_SWITCH, place.path, Loss.SWITCH, terms) for place in used.values())
            return Constraints(None, empty, notes=tuple(first_of(lost)))
        off = (sentences.SWITCHED_OFF.at(place.path) for place in used.values())
        return Constraints(None, empty, problems=tuple(first_of(off)))
    odd = (place for place in used.values() if not _is_formed(place.given))
    problems = [*first_of(problem for place in odd for problem in _form_problems(place))]
    unnamed: list[Problem] = []
    name = topology_name(where, unnamed, terms)
    if not running:
        problems.extend(first_of(unnamed))
        name = name or _likely(used, known)
    topology = known.topologies.get(name) if name is not None else None
    if topology is None:
        if name is not None and not running:
            problems.append(_no_topology(name, used, known, terms))
        gone = first_of(_lost_topology(name, place, terms) for place in used.values()) if running else ()
        return Constraints(None, empty, problems=tuple(problems), notes=tuple(gone))
    depths = {level.name: depth for depth, level in enumerate(topology.levels) if level.name}
    close = nested(
        {name: place.part() for name, place in where.items()},
        topology,
        depths,
        lambda name, field: where[name].field(field),
    )
    refused, notes = parted(first_of(close.coarser()))
    if running:
        gone = (
            _lost(
                sentences.LOST_DOMAIN,
                field.path,
                Loss.DOMAIN,
                terms,
                topology=topology.name,
                domain=field.value,
            )
            for field in close.unknown()
        )
        notes = tuple(first_of(gone))
    else:
        problems.extend(first_of(_unknown(each, topology, tuple(depths)) for each in close.unknown()))
        problems.extend(refused)
    return Constraints(topology, close.levels, tuple(sorted(close.strange)), tuple(problems), notes)


def _unknown(field: LevelField, topology: Topology, domains: tuple[str, ...]) -> Problem:
    remedy = OneOf(field.value, domains)
    return sentences.UNKNOWN_DOMAIN.at(field.path, topology=topology.name, domain=field.value, remedy=remedy)


def topology_name(where: Mapping[str, Place], problems: list[Problem], terms: Terms = GROVE) -> str | None:
    """The topology that all constraints name, themselves or by inheritance; a PodCliqueSet can name one only.

    In the earlier spelling there was only one topology, so it need not be named.
    """
    first: tuple[str, Path] | None = None
    unnamed = False
    for place in where.values():
        if place.given is None:
            continue
        own = place.given.topology_name
        if not own and _inherited(place, where):
            continue
        if not own and place.given.pack is not None:
            problems.append(sentences.TOPOLOGY_UNNAMED.at((*place.path, "topologyName")))
            unnamed = True
            continue
        name = own or MANAGED
        if first is None:
            first = (name, place.path)
        elif name != first[0]:
            code = terms.second_topology if own else terms.second_topology_meant
            path = (*place.path, "topologyName")
            problems.append(code.at(path, name=name, first=first[0], field=Field(first[1])))
    return first[0] if first is not None and not unnamed else None


def _likely(used: Mapping[str, Place], known: Known) -> str | None:
    """The topology that is likely meant where a name is missing, so that domains can be checked all the same.

    It is the one that another constraint names, or the only one that there is.
    """
    named = (place.given.topology_name for place in used.values() if place.given is not None)
    only = next(iter(known.topologies)) if len(known.topologies) == 1 else None
    return next(filter(None, named), only)


def _inherited(place: Place, where: Mapping[str, Place]) -> str:
    """The topology that the nearest constraint above names; empty for none."""
    above = place.parent
    while above is not None:
        given = where[above].given
        if given is not None and given.topology_name:
            return given.topology_name
        above = where[above].parent
    return ""


def _is_formed(given: wire.TopologyConstraint | None) -> bool:
    """Whether a constraint says something, and nothing twice."""
    if given is None:
        return True
    if (pack := given.pack) is None:
        return bool(given.pack_domain)
    return bool(pack.required and not given.pack_domain) or bool(pack.preferred and not pack.required)


def _form_problems(place: Place) -> Iterator[Problem]:
    given = place.given
    if given is None:
        return
    if given.pack is not None and not given.pack.required and not given.pack.preferred:
        yield sentences.EMPTY_PACK.at((*place.path, "pack"))
    if given.pack is None and not given.pack_domain:
        yield sentences.EMPTY_CONSTRAINT.at(place.path)
    if given.pack is not None and given.pack.required and given.pack_domain:
        yield sentences.REQUIRED_TWICE.at((*place.path, "packDomain"))


def _no_topology(name: str, used: Mapping[str, Place], known: Known, terms: Terms) -> Problem:
    """A topology that cannot be used, reported where it is named or at the first constraint that means it."""
    named = (each for each in used.values() if each.given is not None and each.given.topology_name == name)
    place = next(named, None)
    code = terms.no_binding if place else sentences.NO_BINDING_MEANT
    path = (*(place or next(iter(used.values()))).path, "topologyName")
    if name in known.unusable:
        return core.HAS_PROBLEMS.at(path, kind="Topology", name=name)
    return code.at(path, name=name, remedy=OneOf(name, tuple(known.topologies)))


def _lost_topology(topology: str | None, place: Place, terms: Terms) -> Problem:
    """What a running set has lost with the whole of its topology."""
    if topology is None:
        return _lost(sentences.LOST_NAME, place.path, Loss.NAME, terms)
    return _lost(sentences.LOST_TOPOLOGY, place.path, Loss.TOPOLOGY, terms, name=topology)


def _lost(code: Code, path: Path, loss: Loss, terms: Terms, **facts: str) -> Problem:
    return code.at(path, condition=terms.condition, reason=terms.reasons[loss], **facts)
