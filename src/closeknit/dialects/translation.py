"""From any dialect to the objects of another.

A family's own rules come first: what its operator would create. Where it has none
for the target, the workload is said over again in the target's words from what the hub
knows of it. Whatever the way, the objects are plain data in today's spelling.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.dialects.dialect import Dialect, Object
from closeknit.dialects.places import Located, Source
from closeknit.dialects.reading import Gathered, gather, in_order
from closeknit.hub.problems import InvalidError, Problem, shown

TARGETS = ("kai", "grove", "podgang", "kueue", "pods")
"""What can be translated to."""
_ON_THE_WAY = {"podgang": "grove", "pods": "kai"}
"""Targets that are no family of their own, and the family whose objects lead to them."""


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
    objects: dict[str, Object] = {}
    for dialect in dialects:
        for result in _translated(dialects, dialect, found, target, lenient=lenient):
            if isinstance(result, Located):
                problems.append(result)
            else:
                objects.setdefault(json.dumps(result, sort_keys=True), result)
    return Translation(tuple(objects.values()), in_order(dict.fromkeys(problems), sources))


def _translated(
    dialects: Sequence[Dialect], dialect: Dialect, found: Gathered, target: str, *, lenient: bool
) -> Iterator[Object | Located]:
    own = dialect.translations.get(target)
    if own is not None:
        yield from own(found.manifests, found.surroundings)
        return
    family = _ON_THE_WAY.get(target, target)
    speaker = next((one for one in dialects if one.name == family and one.express is not None), None)
    if speaker is None or speaker.express is None:
        return
    said = [
        made
        for workload in found.workloads
        if workload.dialect == dialect.name and workload.request is not None
        for made in speaker.express(workload, found.surroundings.topologies)
    ]
    if family == target:
        yield from said
    elif said and target in speaker.translations:
        again = Source(f"<{family}>", "\n".join(f"---\n{json.dumps(made)}" for made in said).encode())
        further = gather(dialects, [again], lenient=lenient)
        yield from speaker.translations[target](further.manifests, further.surroundings)
