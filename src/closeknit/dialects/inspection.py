"""Single objects without placing anything: what may not change in them, their status, OSMO's pools."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Pool
from closeknit.dialects.family import Condition, Event
from closeknit.dialects.osmo.status import PoolOnNodes, pool_on_nodes
from closeknit.dialects.reading import Loaded, gather, kinds_of
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.store import Entry
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Skipped
from closeknit.hub.keys import Key
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.workload import ObjectName
from closeknit.text.documents import Located


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
class Pools:
    """OSMO's pools without problems, sorted by name, and all that is wrong with the files."""

    pools: tuple[PoolOnNodes, ...]
    problems: tuple[Located, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """What operators are installed with, and all that is wrong with the files."""

    entries: tuple[Entry, ...]
    problems: tuple[Located, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """What may not change from old files to new ones."""

    problems: tuple[Located, ...]
    """At the place in the new files."""
    unread: tuple[Located, ...]
    """What is wrong with the old files, which keeps objects of theirs from being compared."""
    shared: AbstractSet[Key]
    """The objects that stand in both, whether they could be compared or not."""


def statuses_of(loaded: Loaded) -> Statuses:
    """The status of every object; the promises are those of ``closeknit.dialects.statuses``."""
    return Statuses(
        objects=tuple(_statuses(loaded.view)),
        problems=loaded.in_order(gather(loaded).problems),
        skipped=loaded.skipped,
    )


def _statuses(view: View) -> Iterator[ObjectStatus]:
    for family in view.families:
        for shape, status_of in family.status.items():
            for stored in view.of(shape):
                status = status_of(stored, view)
                if status.conditions or status.events:
                    yield ObjectStatus(stored.object, family.name, status.conditions, status.events)


def pools_of(loaded: Loaded) -> Pools:
    """OSMO's pools; the promises are those of ``closeknit.dialects.pools``."""
    view = loaded.view
    found = (view.derive(pool_on_nodes, name) for name in sorted(key.name for key in view.keys(Pool)))
    return Pools(
        pools=tuple(each for each in found if each is not None),
        problems=loaded.in_order(gather(loaded).problems),
        skipped=loaded.skipped,
    )


def operator_settings_of(loaded: Loaded) -> OperatorSettings:
    """What operators are told in files; promises are those of ``closeknit.dialects.operator_settings``."""
    view = loaded.view
    nameless = dict.fromkeys(kind.shape for kind in kinds_of(view.families) if not kind.named)
    entries = tuple(stored for shape in nameless for stored in view.of(shape))
    known = {stored.key for stored in entries}
    others = [
        loaded.located(Reported(key, sentences.NO_OPERATOR_SETTINGS.at((), kind=key.kind)))
        for key in loaded.origins
        if key not in known and (found := view.entry(key)) is not None and found.shape not in nameless
    ]
    return OperatorSettings(entries, loaded.in_order(dict.fromkeys([*gather(loaded).problems, *others])))


def update_between(before: Loaded, after: Loaded) -> Update:
    """Compare each new object with the old one of its key."""
    problems: list[Located] = []
    for family in after.view.families:
        for shape, problems_of in family.update.items():
            for stored in after.view.of(shape):
                earlier = before.view.get(stored.key)
                if earlier is not None:
                    found = problems_of(earlier, stored, after.view)
                    problems.extend(after.located(stored.report(problem)) for problem in found)
    shared = before.origins.keys() & after.origins.keys()
    return Update(after.in_order(dict.fromkeys(problems)), before.problems, shared)
