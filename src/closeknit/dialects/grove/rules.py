"""The rules for a PodCliqueSet that have nothing to do with topology."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from closeknit.apis import grove_io_v1alpha1 as wire
from closeknit.apis.grove_keys import MNNVL_GROUP
from closeknit.dialects.core.durations import seconds
from closeknit.dialects.grove.names import (
    LONGEST,
    is_dns_label,
    own_name_problems,
    part_name_problems,
    well_named,
)
from closeknit.dialects.grove.places import places
from closeknit.dialects.grove.terms import GROVE, Terms
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Choices, Field, OneOf, Problem, Range, shown
from closeknit.hub.sentences import core
from closeknit.hub.sentences import grove as sentences

IN_ORDER, EXPLICIT = "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"
_STARTUP_TYPES = ("CliqueStartupTypeAnyOrder", IN_ORDER, EXPLICIT)
_WITHOUT_TOPOLOGY = ("lpx-scheduler", "volcano")
"""Schedulers for which Grove refuses constraints."""
_LONGEST_CIRCLE = 16
"""How many of the cliques of a circle are named."""
_CLIQUES: Path = ("spec", "template", "cliques")
_GROUPS: Path = ("spec", "template", "podCliqueScalingGroups")


def rules(given: wire.PodCliqueSet, known: Known, terms: Terms = GROVE) -> Iterator[Problem]:
    """Everything that Grove would refuse, whatever the topology."""
    template = given.spec.template
    yield from own_name_problems(given.metadata.name, LONGEST - 1)
    if given.spec.replicas < 0:
        yield sentences.NEGATIVE.at(("spec", "replicas"), replicas=given.spec.replicas, least="zero")
    if not template.cliques:
        yield sentences.NO_CLIQUES.at(_CLIQUES)
    startup = template.clique_startup_type
    if startup and startup not in _STARTUP_TYPES:
        yield sentences.STARTUP_TYPE.at(
            ("spec", "template", "cliqueStartupType"),
            startup=startup,
            remedy=OneOf(startup, _STARTUP_TYPES),
        )
    names = Choices(clique.name for clique in template.cliques)
    yield from first_of(_each_clique_problems(given, names))
    yield from first_of(_scheduler_problems(given, known, terms))
    delay = template.termination_delay
    if delay and not (seconds(delay) or 0) > 0:
        yield sentences.TERMINATION_DELAY.at(("spec", "template", "terminationDelay"), found=delay)
    yield from first_of(_nvlink_problems(given))
    yield from first_of(_role_problems(template.cliques))
    yield from _circles(template.cliques)
    yield from first_of(_scaling_group_problems(given, names))


def _each_clique_problems(given: wire.PodCliqueSet, names: Choices) -> Iterator[Problem]:
    template = given.spec.template
    grouped = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    well = well_named([clique.name for clique in template.cliques])
    startup = template.clique_startup_type
    in_order = startup == EXPLICIT or startup not in ("", *_STARTUP_TYPES)
    longest = LONGEST - len(given.metadata.name)
    seen: dict[str, Path] = {}
    for i, clique in enumerate(template.cliques):
        scaled = clique.name in grouped
        if not well:
            yield from part_name_problems((*_CLIQUES, i), clique.name, seen)
        if not _is_plain(clique.spec, in_order=in_order):
            yield from _clique_problems(
                (*_CLIQUES, i, "spec"), clique, names, scaled=scaled, in_order=in_order
            )
        if not scaled and len(clique.name) > longest:
            yield from _length((*_CLIQUES, i, "name"), given.metadata.name, clique.name)


def _is_plain(spec: wire.PodCliqueSpec, *, in_order: bool) -> bool:
    """Whether nothing can be wrong with a clique, as with nearly all of a large set."""
    replicas, least = spec.replicas or 1, spec.min_available
    fits = replicas > 0 and (least is None or 1 <= least <= replicas)
    return fits and spec.auto_scaling_config is None and not (in_order and spec.starts_after)


def _length(path: Path, pod_clique_set: str, *parts: str) -> Iterator[Problem]:
    names = (pod_clique_set, *parts)
    length = sum(map(len, names))
    # A set whose name alone leaves no room is reported at its own name, and not at every clique.
    if length > LONGEST > len(pod_clique_set):
        yield sentences.NAMES_TOO_LONG.at(path, names=names, length=length, longest=LONGEST)


def _clique_problems(
    path: Path,
    clique: wire.PodCliqueTemplate,
    names: Choices,
    *,
    scaled: bool,
    in_order: bool,
) -> Iterator[Problem]:
    spec = clique.spec
    replicas = spec.replicas or 1
    if spec.replicas is not None and spec.replicas < 0:
        yield sentences.NEGATIVE.at((*path, "replicas"), replicas=spec.replicas, least="one")
    elif spec.min_available is not None and not 1 <= spec.min_available <= replicas:
        yield _minimum(path, spec.min_available, replicas)
    if spec.auto_scaling_config is not None:
        inner = (*path, "autoScalingConfig")
        if scaled:
            yield sentences.SCALED_AS_A_WHOLE.at(inner)
        least = replicas if spec.min_available is None else spec.min_available
        yield from _autoscaling(inner, spec.auto_scaling_config, replicas, least)
    seen: set[str] = set()
    for i, other in enumerate(spec.starts_after if in_order else ()):
        here = (*path, "startsAfter", i)
        if other == clique.name:
            yield sentences.STARTS_AFTER_ITSELF.at(here)
        elif other not in names:
            yield core.NOT_FOUND.at(here, kind="clique", name=other, remedy=names.instead_of(other))
        elif other in seen:
            yield sentences.CLIQUE_LISTED_BEFORE.at(here, name=other)
        seen.add(other)


def _minimum(path: Path, least: int, replicas: int) -> Problem:
    return sentences.MINIMUM_OUT_OF_RANGE.at(
        (*path, "minAvailable"), least=least, replicas=replicas, remedy=Range(1, replicas)
    )


def _autoscaling(path: Path, given: wire.AutoScalingConfig, replicas: int, least: int) -> Iterator[Problem]:
    lowest = replicas if given.min_replicas is None else given.min_replicas
    if lowest < least:
        yield sentences.AUTOSCALING_BELOW_MINIMUM.at((*path, "minReplicas"), lowest=lowest, least=least)
    if given.max_replicas < max(lowest, replicas):
        yield sentences.AUTOSCALING_TOO_LOW.at(
            (*path, "maxReplicas"), most=given.max_replicas, lowest=max(lowest, replicas)
        )


def _nvlink_problems(given: wire.PodCliqueSet) -> Iterator[Problem]:
    """Groups of pods that share an NVLink domain, by annotation of the set and its parts."""
    template = given.spec.template
    groups, cliques = enumerate(template.pod_clique_scaling_groups), enumerate(template.cliques)
    where: Iterator[tuple[Path, dict[str, str]]] = chain(
        [(("metadata",), given.metadata.annotations)],
        (((*_GROUPS, i), one.annotations) for i, one in groups if one.annotations),
        (((*_CLIQUES, i), one.annotations) for i, one in cliques if one.annotations),
    )
    for path, given_there in where:
        value = given_there.get(MNNVL_GROUP)
        if value is not None and not is_dns_label(value):
            yield sentences.NOT_AN_MNNVL_GROUP.at((*path, "annotations", MNNVL_GROUP), value=value)


def scheduler_named(given: wire.PodCliqueSet, known: Known) -> str:
    """The scheduler of a set's pods."""
    named = ((clique.spec.pod_spec or {}).get("schedulerName") for clique in given.spec.template.cliques)
    return next((name for name in named if isinstance(name, str) and name), known.scheduler)


def _scheduler_problems(given: wire.PodCliqueSet, known: Known, terms: Terms) -> Iterator[Problem]:
    """All pods of a set have one scheduler, and one that can keep them together if they ask for it."""
    named: dict[str, int] = {}
    for i, clique in enumerate(given.spec.template.cliques):
        name = (clique.spec.pod_spec or {}).get("schedulerName")
        if isinstance(name, str) and name:
            named.setdefault(name, i)
    first = next(iter(named), "")
    for name, i in named.items():
        path = (*_CLIQUES, i, "spec", "podSpec", "schedulerName")
        if name != first:
            where = Field((*_CLIQUES, named[first]))
            yield terms.schedulers_differ.at(path, name=name, first=first, field=where)
        if known.schedulers and name not in known.schedulers:
            remedy = OneOf.among(name, known.schedulers)
            yield sentences.SCHEDULER_NOT_ENABLED.at(path, name=name, remedy=remedy)
        if name in _WITHOUT_TOPOLOGY and any(place.given is not None for place in places(given).values()):
            yield sentences.SCHEDULER_WITHOUT_TOPOLOGY.at(path, name=name)


def _role_problems(cliques: Sequence[wire.PodCliqueTemplate]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for i, clique in enumerate(cliques):
        role = clique.spec.role_name
        if role and (first := seen.setdefault(role, i)) != i:
            yield sentences.ROLE_TAKEN.at(
                (*_CLIQUES, i, "spec", "roleName"), role=role, first=Field((*_CLIQUES, first))
            )


def _circles(cliques: Sequence[wire.PodCliqueTemplate]) -> Iterator[Problem]:
    """Cliques that wait for each other."""
    if not any(clique.spec.starts_after for clique in cliques):
        return
    after: dict[str, list[str]] = {}
    for clique in cliques:
        after.setdefault(clique.name, []).extend(clique.spec.starts_after)
    waiting = {name: {other for other in others if other in after} - {name} for name, others in after.items()}
    followers: dict[str, list[str]] = {}
    for name, others in waiting.items():
        for other in others:
            followers.setdefault(other, []).append(name)
    started = [name for name, others in waiting.items() if not others]
    for name in started:
        for follower in followers.get(name, ()):
            waiting[follower].discard(name)
            if not waiting[follower]:
                started.append(follower)
    if len(started) < len(waiting):
        name = min(waiting.keys() - started)
        trail: dict[str, None] = {}
        while name not in trail:
            trail[name] = None
            name = min(waiting[name])
        steps = list(trail)
        circle = [*steps[steps.index(name) :], name]
        listed = [*map(shown, circle[:_LONGEST_CIRCLE]), *(["…"] if len(circle) > _LONGEST_CIRCLE else ())]
        index = next(i for i, clique in enumerate(cliques) if clique.name == name)
        path = (*_CLIQUES, index, "spec", "startsAfter")
        yield sentences.START_CIRCLE.at(path, circle=" after ".join(listed))


def _scaling_group_problems(given: wire.PodCliqueSet, names: Choices) -> Iterator[Problem]:
    owners: dict[str, int] = {}
    seen: dict[str, Path] = {}
    groups = given.spec.template.pod_clique_scaling_groups
    well = well_named([group.name for group in groups])
    longest = LONGEST - len(given.metadata.name)
    for i, group in enumerate(groups):
        path = (*_GROUPS, i)
        if not well:
            yield from part_name_problems(path, group.name, seen)
        if not group.clique_names:
            yield sentences.GROUP_WITHOUT_CLIQUES.at((*path, "cliqueNames"), remedy=names.instead_of(""))
        own: set[str] = set()
        for j, name in enumerate(group.clique_names):
            if name in names and name not in owners and len(group.name) + len(name) <= longest:
                owners[name] = i
                own.add(name)
                continue
            here = (*path, "cliqueNames", j)
            if name not in names:
                yield core.NOT_FOUND.at(here, kind="clique", name=name, remedy=names.instead_of(name))
                continue
            first = owners.setdefault(name, i)
            if first != i:
                yield sentences.CLIQUE_IN_TWO_GROUPS.at(here, name=name, first=Field((*_GROUPS, first)))
            elif name in own:
                yield sentences.CLIQUE_LISTED_BEFORE.at(here, name=name)
            own.add(name)
            yield from _length(here, given.metadata.name, group.name, name)
        replicas = 1 if group.replicas is None else group.replicas
        least = 1 if group.min_available is None else group.min_available
        if replicas < 1:
            yield sentences.LESS_THAN_ONE.at((*path, "replicas"), replicas=replicas)
        elif not 1 <= least <= replicas:
            yield _minimum(path, least, replicas)
        if group.scale_config is not None:
            yield from _autoscaling((*path, "scaleConfig"), group.scale_config, replicas, least)
