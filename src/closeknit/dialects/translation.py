"""From any dialect to the objects of another.

A family's own rules come first: what its operator would create. Where it has none
for the target, the workload is said over again in the target's words from what the hub
knows of it. Whatever the way, the objects are plain data in today's spelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from closeknit.dialects.dialect import Dialect, Object
from closeknit.dialects.places import Located, Skipped, Source
from closeknit.dialects.queueing import queue_order
from closeknit.dialects.reading import Gathered, gather, in_order
from closeknit.hub.problems import InvalidError, Problem, shown, suggestion
from closeknit.hub.workload import ObjectName, Workload

TARGETS = ("kai", "grove", "podgang", "kueue", "pods")
"""What can be translated to."""
_ON_THE_WAY = {"podgang": "grove", "pods": "kai"}
"""Targets that are no family of their own, and the family whose objects lead to them."""
_AMONG = {"pods": "Pod"}
"""Targets that stand among the objects of that family, and their kind."""
_TOPOLOGIES = ("ClusterTopologyBinding", "Topology")
"""The kinds by which families describe levels."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Objects to write, and all that was wrong on the way."""

    objects: tuple[Object, ...]
    """In the order of the documents they come from; equal ones once."""
    problems: tuple[Located, ...]
    unwritten: tuple[ObjectName, ...] = ()
    """The workloads that ask for something, and of which nothing is left to write for this target."""
    skipped: tuple[Skipped, ...] = ()
    """Documents of kinds that nobody here reads."""
    noted: tuple[Workload, ...] = ()
    """The workloads of which something is worth knowing, in queue order."""


def translate_with(
    dialects: Sequence[Dialect], sources: Sequence[Source], target: str, *, lenient: bool
) -> Translation:
    """Translate sources; the promises are those of ``closeknit.dialects.translate``."""
    if target not in TARGETS:
        message = f"{shown(target)} is no target. Allowed: {', '.join(TARGETS)}."
        raise InvalidError([Problem("--to", message)])
    found = gather(dialects, sources, lenient=lenient)
    problems = list(found.problems)
    objects: list[Object] = []
    unwritten: list[ObjectName] = []
    namesakes: dict[tuple[object, ...], list[Object]] = {}
    for dialect in dialects:
        for result in _translated(dialects, dialect, found, target, lenient=lenient):
            if isinstance(result, Located):
                problems.append(result)
                continue
            if isinstance(result, ObjectName):
                unwritten.append(result)
                continue
            # Only objects of one name can be equal, and there are seldom two.
            alike = namesakes.setdefault(_named(result), [])
            if result not in alike:
                alike.append(result)
                objects.append(result)
    told = in_order(dict.fromkeys(problems), sources)
    noted = sorted((each for each in found.workloads if each.notes), key=queue_order)
    return Translation(tuple(objects), told, tuple(unwritten), tuple(found.skipped), tuple(noted))


def _named(made: Object) -> tuple[object, ...]:
    metadata = made.get("metadata", {})
    return made.get("kind"), metadata.get("namespace"), metadata.get("name")


def _translated(
    dialects: Sequence[Dialect], dialect: Dialect, found: Gathered, target: str, *, lenient: bool
) -> Iterator[Object | Located | ObjectName]:
    """What becomes of a dialect's objects; a name stands for a workload that nothing became of."""
    sound = [each for each in found.workloads if each.dialect == dialect.name and each.request is not None]
    own = dialect.translations.get(target)
    if own is not None:
        nothing = True
        for result in own(found.manifests, found.seen_by[dialect.name]):
            nothing = False
            yield result
        yield from (workload.object for workload in sound if nothing)
        return
    family = _ON_THE_WAY.get(target, target)
    speaker = next((one for one in dialects if one.name == family and one.express is not None), None)
    for workload in sound:
        if speaker is None:
            yield _impossible(dialects, dialect, found, workload, target)
            continue
        said = list(_said_over(dialects, speaker, found, workload, target, lenient=lenient))
        yield from said
        if not said:
            yield workload.object


def _said_over(
    dialects: Sequence[Dialect],
    speaker: Dialect,
    found: Gathered,
    workload: Workload,
    target: str,
    *,
    lenient: bool,
) -> Iterator[Object | Located]:
    """A workload in the words of the target's family, or what these words cannot say."""
    assert speaker.express is not None
    try:
        said = list(speaker.express(workload, found.seen_by[workload.dialect].topologies))
    except InvalidError as error:
        yield from (_unsaid(found, workload, speaker.name, problem) for problem in error.problems)
        return
    if speaker.name == target:
        yield from said
    elif target in _AMONG:
        yield from (made for made in said if made["kind"] == _AMONG[target])
    else:
        # Values in a row are read as JSON, which is faster than YAML.
        again = Source(f"<{speaker.name}>", "\n".join(json.dumps(made) for made in said).encode())
        further = gather(dialects, [again], lenient=lenient)
        yield from (_unsaid(found, workload, speaker.name, one.problem) for one in further.problems)
        view = further.seen_by[speaker.name]
        # Nobody else writes the topology and the pods of a set that is only on the way, and gangs name both.
        yield from (made for made in said if made["kind"] in _TOPOLOGIES)
        for step in (target, "pods"):
            yield from speaker.translations[step](further.manifests, view)


def _impossible(
    dialects: Sequence[Dialect], dialect: Dialect, found: Gathered, workload: Workload, target: str
) -> Located:
    """A target for which nobody has words, and those that there are."""
    speakers = {one.name for one in dialects if one.express is not None}
    possible = [
        each for each in TARGETS if each in dialect.translations or _ON_THE_WAY.get(each, each) in speakers
    ]
    name = workload.object
    message = f"{name.kind} {shown(name.name)} cannot be translated to {target}. {suggestion('', possible)}"
    return _at(found, workload, message)


def _unsaid(found: Gathered, workload: Workload, family: str, problem: Problem) -> Located:
    """What the target has no words for."""
    name = workload.object
    message = f"{name.kind} {shown(name.name)} cannot be said in the words of {family}: {problem.message}"
    return _at(found, workload, message)


def _at(found: Gathered, workload: Workload, message: str) -> Located:
    """A problem with translating a workload, at the object that asks for it."""
    origin = found.manifests.origin(workload.object)
    return replace(origin.located(Problem("metadata.name", message)), object=workload.object)
