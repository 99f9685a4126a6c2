"""What can be told of single objects without placing anything: what may not change, and their status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from closeknit.dialects.family import Condition, Event, Family
from closeknit.dialects.reading import gather, in_order, load
from closeknit.dialects.store.view import View
from closeknit.dialects.text.documents import Located, Served, Source
from closeknit.dialects.wire.kinds import Skipped
from closeknit.hub.workload import ObjectName


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """What an object's own operator would write about it."""

    object: ObjectName
    family: str
    conditions: tuple[Condition, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Statuses:
    """The status of every object that has one, and all that is wrong with the files."""

    objects: tuple[ObjectStatus, ...]
    """In the order of families, kinds and documents."""
    problems: tuple[Located, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """What may not change from old files to new ones."""

    problems: tuple[Located, ...]
    """At the place in the new files."""
    unread: tuple[Located, ...]
    """What is wrong with the old files, which keeps objects of theirs from being compared."""
    shared: int
    """How many objects stand in both, whether they could be compared or not."""


def statuses_with(
    families: Sequence[Family], sources: Sequence[Source | Served], *, lenient: bool
) -> Statuses:
    """The status of every object; the promises are those of ``closeknit.dialects.statuses``."""
    loaded = load(families, sources, lenient=lenient)
    return Statuses(
        objects=tuple(_statuses(loaded.view)),
        problems=in_order(gather(loaded).problems, sources),
        skipped=loaded.skipped,
    )


def _statuses(view: View) -> Iterator[ObjectStatus]:
    for family in view.families:
        for shape, status_of in family.status.items():
            for stored in view.of(shape):
                status = status_of(stored, view)
                if status.conditions or status.events:
                    yield ObjectStatus(stored.object, family.name, status.conditions, status.events)


def update_with(
    families: Sequence[Family],
    old: Sequence[Source | Served],
    new: Sequence[Source | Served],
    *,
    lenient: bool,
) -> Update:
    """Compare each new object with the old one of its key."""
    before, after = load(families, old, lenient=lenient), load(families, new, lenient=lenient)
    problems: list[Located] = []
    for family in families:
        for shape, problems_of in family.update.items():
            for stored in after.view.of(shape):
                earlier = before.view.get(stored.key)
                if earlier is not None:
                    found = problems_of(earlier, stored, after.view)
                    problems.extend(after.located(stored.report(problem)) for problem in found)
    return Update(
        in_order(dict.fromkeys(problems), new),
        before.problems,
        len(before.origins.keys() & after.origins.keys()),
    )
