"""From any family to the objects of another.

A family's own rules come first: what its operator would create. Where it has none
for the target, the workload is restated in the target's words from what the hub
knows of it. Whatever the way, the objects are plain data in today's spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from closeknit.dialects.core.priority import queue_order
from closeknit.dialects.family import Family, Object
from closeknit.dialects.reading import Gathered, gather, load
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.translate.name_conflicts import TOPOLOGIES, Renamed, Written, same
from closeknit.dialects.translate.other_families import NAME, Restating, at, by_own_rules, targets_of
from closeknit.dialects.wire.kinds import Skipped
from closeknit.hub.keys import Key
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import wire as sentences
from closeknit.hub.workload import ObjectName, PlaceableWorkload, Workload
from closeknit.text.documents import Located, Source

_Result: TypeAlias = Object | Located | ObjectName | Renamed
"""What becomes of something; a name stands for a workload that nothing became of."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Objects to write, and all that was wrong on the way."""

    objects: tuple[Object, ...]
    """In the order of the documents they come from, each key once."""
    problems: tuple[Located, ...]
    unwritten: tuple[ObjectName, ...] = ()
    """The workloads that ask for something, and of which nothing is left to write for this target."""
    skipped: tuple[Skipped, ...] = ()
    """Documents of kinds that nobody here reads."""
    noted: tuple[Workload, ...] = ()
    """The workloads of which something is worth knowing, in queue order."""
    notes: tuple[Located, ...] = ()
    """What is worth knowing about objects that ask for nothing, and what was passed over."""
    renamed: tuple[Renamed, ...] = ()
    """What is written under another name, because two of one name cannot stand side by side."""


def translate_with(
    families: Sequence[Family], sources: Sequence[Source], target: str, *, lenient: bool
) -> Translation:
    """Translate sources; the promises are those of ``closeknit.dialects.translate``."""
    if target not in (targets := targets_of(families)):
        wrong = sentences.UNKNOWN_TARGET.at((Verbatim("--to"),), target=target, targets=", ".join(targets))
        raise InvalidError([wrong])
    found = gather(load(families, sources, lenient=lenient, partial=True))
    written = Written(found.workloads)
    restating = Restating(families, found, target, written)
    results: dict[str, list[_Result]] = {}
    # Names that operators give cannot be changed, so they come first, whatever the order of writing.
    for family in sorted(families, key=lambda one: target not in one.render):
        sound = [
            workload
            for workload in found.workloads
            if workload.dialect == family.name and isinstance(workload, PlaceableWorkload)
        ]
        if target in family.render:
            results[family.name] = list(_by_own_rules(family, found, target, written, sound))
        else:
            results[family.name] = list(restating.restated(sound))
    every = [
        result
        for family in families
        for result in results[family.name]
        if not (isinstance(result, dict) and _is_assumed(result, found))
    ]
    problems = dict.fromkeys([*found.problems, *(each for each in every if isinstance(each, Located))])
    noted = sorted((each for each in found.workloads if each.notes), key=queue_order)
    return Translation(
        objects=tuple(each for each in every if isinstance(each, dict)),
        problems=found.loaded.in_order(problems),
        unwritten=tuple(each for each in every if isinstance(each, ObjectName)),
        skipped=found.loaded.skipped,
        noted=tuple(noted),
        notes=found.loaded.in_order(found.notes),
        renamed=tuple(each for each in every if isinstance(each, Renamed)),
    )


def _is_assumed(made: Object, found: Gathered) -> bool:
    """Whether this describes a topology of which nothing but its use is known; it is not ours to write."""
    view = found.loaded.view
    names = (view.derive(family.topologies).assumed for family in view.families)
    return made["kind"] in TOPOLOGIES and any(made["metadata"]["name"] in each for each in names)


def _by_own_rules(
    family: Family, found: Gathered, target: str, written: Written, sound: Sequence[Workload]
) -> Iterator[_Result]:
    """What the family's operator makes of its objects."""
    nothing = True
    clashing: list[tuple[Object, Key | None, Key | None]] = []
    for result, maker in by_own_rules(family, found, target):
        nothing = False
        if isinstance(result, Reported):
            yield found.loaded.located(result)
            continue
        there, other = written.take(result, maker)
        if there is result:
            yield result
        elif not same(result, there):
            clashing.append((result, maker, other))
    if nothing:
        yield from (workload.object for workload in sound)
    if clashing and sound:
        yield from _clashes(found, sound, clashing)


def _clashes(
    found: Gathered, sound: Sequence[Workload], clashing: Sequence[tuple[Object, Key | None, Key | None]]
) -> Iterator[Located]:
    """Objects of one key that differ, where operators' rules give both their name.

    Two workloads may have thousands of pods that clash; the first of each kind is reported. What was made
    for no workload, because another object speaks for it by now, gives way.
    """
    own = {workload.key: workload for workload in sound}
    every = {workload.key: workload for workload in found.workloads}
    reported: set[tuple[str, Key]] = set()
    for made, maker, other_maker in clashing:
        kind, name = made["kind"], made["metadata"]["name"]
        if kind in TOPOLOGIES:
            yield at(found, sound[0], sentences.TOPOLOGY_WRITTEN_TWICE.at(NAME, kind=kind, name=name))
            continue
        if maker is None or other_maker is None:
            continue
        mine, other = own.get(maker), every.get(other_maker)
        if mine is None or other is None or mine is other or (kind, mine.key) in reported:
            continue
        reported.add((kind, mine.key))
        twice = sentences.OBJECT_WRITTEN_TWICE.at(
            NAME,
            kind=kind,
            name=name,
            other_kind=other.object.kind,
            other=other.object.name,
            own_kind=mine.object.kind,
            own=mine.object.name,
        )
        yield at(found, mine, twice)
