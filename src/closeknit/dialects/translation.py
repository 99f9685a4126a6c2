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
from closeknit.dialects.places import Located, Source
from closeknit.dialects.reading import Gathered, gather, in_order
from closeknit.hub.problems import InvalidError, Problem, shown
from closeknit.hub.workload import Workload

TARGETS = ("kai", "grove", "podgang", "kueue", "pods")
"""What can be translated to."""
_ON_THE_WAY = {"podgang": "grove", "pods": "kai"}
"""Targets that are no family of their own, and the family whose objects lead to them."""
_AMONG = {"pods": "Pod"}
"""Targets that stand among the objects of that family, and their kind."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Objects to write, and all that was wrong on the way."""

    objects: tuple[Object, ...]
    """In the order of the documents they come from; equal ones once."""
    problems: tuple[Located, ...]


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
    namesakes: dict[tuple[object, ...], list[Object]] = {}
    for dialect in dialects:
        for result in _translated(dialects, dialect, found, target, lenient=lenient):
            if isinstance(result, Located):
                problems.append(result)
                continue
            # Only objects of one name can be equal, and there are seldom two.
            alike = namesakes.setdefault(_named(result), [])
            if result not in alike:
                alike.append(result)
                objects.append(result)
    return Translation(tuple(objects), in_order(dict.fromkeys(problems), sources))


def _named(made: Object) -> tuple[object, ...]:
    metadata = made.get("metadata", {})
    return made.get("kind"), metadata.get("namespace"), metadata.get("name")


def _translated(
    dialects: Sequence[Dialect], dialect: Dialect, found: Gathered, target: str, *, lenient: bool
) -> Iterator[Object | Located]:
    own = dialect.translations.get(target)
    if own is not None:
        yield from own(found.manifests, found.seen_by[dialect.name])
        return
    family = _ON_THE_WAY.get(target, target)
    speaker = next((one for one in dialects if one.name == family and one.express is not None), None)
    if speaker is None or speaker.express is None:
        return
    for workload in found.workloads:
        if workload.dialect != dialect.name or workload.request is None:
            continue
        try:
            said = list(speaker.express(workload, found.seen_by[dialect.name].topologies))
        except InvalidError as error:
            yield from (_unsaid(found, workload, family, problem) for problem in error.problems)
            continue
        if family == target:
            yield from said
        elif target in _AMONG:
            yield from (made for made in said if made["kind"] == _AMONG[target])
        elif target in speaker.translations:
            # Values in a row are read as JSON, which is faster than YAML.
            again = Source(f"<{family}>", "\n".join(json.dumps(made) for made in said).encode())
            further = gather(dialects, [again], lenient=lenient)
            yield from (_unsaid(found, workload, family, one.problem) for one in further.problems)
            yield from speaker.translations[target](further.manifests, further.seen_by[speaker.name])


def _unsaid(found: Gathered, workload: Workload, family: str, problem: Problem) -> Located:
    """What the target has no words for, at the object that asks for it."""
    name = workload.object
    message = f"{name.kind} {shown(name.name)} cannot be said in the words of {family}: {problem}"
    return replace(found.manifests.origin(name).located(Problem("metadata.name", message)), object=name)
