"""The units to schedule: what families make of objects, and again only where something has changed of it.

Nothing here does I/O or knows the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

from closeknit.dialects.compiling import place_object
from closeknit.dialects.family import Family
from closeknit.dialects.ownership import CLAIM, Claim
from closeknit.dialects.store.objects import Stored, Unreadable
from closeknit.dialects.store.store import Store
from closeknit.dialects.store.view import View
from closeknit.engine import UNPACED, Pace
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload, UnplaceableWorkload, Workload
from closeknit.live.containment import Containment
from closeknit.scheduler.holder_names import HolderNames

POSTPONED = 10
"""In how many hurried looks, one after the other, a unit is passed over that still has too few pods."""
_WORK_OF_A_UNIT = 16
"""What compiling a unit counts as, in steps of a search: it takes 0.2 to 1 ms."""


class Units:
    """Workloads by the object that asks for each, and which of them may have changed."""

    def __init__(
        self,
        store: Store,
        view: View,
        families: Sequence[Family],
        names: HolderNames,
        renamed: Callable[[Key], None],
        *,
        pace: Pace = UNPACED,
        containment: Containment,
    ) -> None:
        """``renamed`` is called with every pod that now belongs to another unit than before.

        ``pace`` interrupts the compilation of many units.
        """
        self._pace = pace
        self._containment = containment
        self._names = names
        self._renamed = renamed
        self._store = store
        self._view = view
        self._families = {family.name: family for family in families}
        self._asking: dict[type[Any], list[Family]] = {}
        for family in families:
            for shape in family.compile:
                self._asking.setdefault(shape, []).append(family)
        self._always = {kind.shape for family in families for kind in family.kinds if kind.workload}
        """The wire types whose objects are units even where they cannot be read."""
        self._new: dict[tuple[Family, Key], None] = {}
        self._made: dict[tuple[Family, Key], tuple[Workload, ...]] = {}
        self._failed: dict[Key, dict[tuple[Family, Key], None]] = {}
        """By key, what could not be compiled because of an error of ours, and backs off."""
        self._lacking: dict[tuple[Family, Key], tuple[int, int]] = {}
        """Of a unit that lacks pods, with how many it may be whole, and how often it may be passed over."""
        self.by_key: dict[Key, Workload] = {}
        """Everything to schedule, as of the last call of ``renewed``."""
        self.postponed = False
        """Whether the last call of ``renewed`` has passed over units that have changed."""
        self.touched: list[Key] = []
        """Units that the last call of ``renewed`` has compiled and that came out the same."""

    def asked_by(self, shape: type[Any]) -> Sequence[Family]:
        """The families whose objects of this wire type may be units."""
        return self._asking.get(shape, ())

    def is_known(self, family: Family, key: Key) -> bool:
        """Whether an object was compiled before; it is stale by itself when what it is made of changes."""
        return (family, key) in self._made

    def look_at(self, family: Family, key: Key) -> None:
        """See at the next call of ``renewed`` what a family makes of an object."""
        self._new[family, key] = None

    def look_at_all(self) -> None:
        """See at the next call of ``renewed`` what families make of everything that was compiled before."""
        self._new.update(dict.fromkeys(self._made))

    def retry(self, key: Key) -> None:
        """Compile an object again that could not be compiled: it has changed, or has backed off."""
        self._new.update(self._failed.pop(key, {}))

    def is_stale(self, unit: Workload) -> bool:
        """Whether something that a unit is made of has changed since the last call of ``renewed``."""
        family = self._families[unit.dialect]
        return (family, unit.key) in self._new or self._view.is_stale(place_object, family, unit.key)

    def renewed(self, is_binding: Callable[[Key], bool], *, hurried: bool) -> dict[Key, Workload | None]:
        """Bring units up to date; those that ask for something else than before, None for one that has gone.

        Units whose pods are being bound stay as they were until that is settled. In a ``hurried`` look, so do
        those that still have too few pods, for a while: their pods come one by one. If this has to end
        because other changes wait to be read, the rest is left to the next call, and ``postponed`` is true.
        """
        units: dict[Key, Workload | None] = {}
        self.touched = []
        looked_at = _in_turns([*self._new, *self._view.stale(place_object)])
        self._new = {}
        self.postponed = False
        for number, each in enumerate(looked_at):
            with self._containment.at(each[1], Step.QUEUE) as step:
                self._renew_unless_waiting(each, units, is_binding, hurried=hurried)
            if step.failure is not None:
                self._failed.setdefault(each[1], {})[each] = None
            if self._pace.spend(_WORK_OF_A_UNIT):
                self._new.update(dict.fromkeys(looked_at[number + 1 :]))
                self.postponed |= number + 1 < len(looked_at)
                break
        return units

    def _renew_unless_waiting(
        self,
        each: tuple[Family, Key],
        units: dict[Key, Workload | None],
        is_binding: Callable[[Key], bool],
        *,
        hurried: bool,
    ) -> None:
        family, key = each
        made = self._made.get(each, ())
        if self._containment.failure(key, Step.COMPILE) is not None:
            # It is tried again when it changes, or when it has backed off.
            self._failed.setdefault(key, {})[each] = None
            if made:
                return
        if self._store.get(key) is not None:
            if made and all(is_binding(unit.object.key) for unit in made):
                self._new[each] = None
                return
            if hurried and self._lacks(family, key):
                self._new[each] = None
                self.postponed = True
                return
        self._renew(family, key, units)

    def _lacks(self, family: Family, key: Key) -> bool:
        """Whether a unit has too few pods, as far as that can be told without compiling it.

        Only for so long, since pods change as well.
        """
        each = family, key
        if each not in self._lacking:
            entry = self._store.get(key)
            if each in self._made or not isinstance(entry, Stored) or entry.shape not in family.awaits:
                return False
            self._lacking[each] = family.awaits[entry.shape](entry.content), POSTPONED
        needed, times = self._lacking[each]
        self._lacking[each] = needed, times - 1
        return times > 0 and len(self._store.found(CLAIM, Claim(key, family.name))) < needed

    def _renew(self, family: Family, key: Key, units: dict[Key, Workload | None]) -> None:
        made = self._compiled(family, key)
        before = self._made.pop((family, key), ())
        self._lacking.pop((family, key), None)
        if made or self._store.get(key) is not None:
            self._made[family, key] = made
        if len(made) == 1 and not isinstance(made[0], PlaceableWorkload):
            self._note_missing_pods(family, key, made[0])
        if before == made:
            self.touched.extend(unit.object.key for unit in made)
            return
        for gone in before:
            self.by_key.pop(gone.object.key, None)
            units[gone.object.key] = None
        for each in made:
            self.by_key[each.object.key] = each
            units[each.object.key] = each
        for pod in self._names.renew(before, made):
            self._renamed(pod)

    def _note_missing_pods(self, family: Family, key: Key, unit: UnplaceableWorkload) -> None:
        """Remember how many pods a unit must have before it is worth compiling again.

        Not for one of which pods run already, nor for that of a Job or the like, which has a maker: its pods
        are claimed by other objects, so they are not counted here.
        """
        if unit.missing_pods and not unit.running and unit.maker is None:
            existing = len(self._store.found(CLAIM, Claim(key, family.name)))
            self._lacking[family, key] = existing + unit.missing_pods, POSTPONED

    def _compiled(self, family: Family, key: Key) -> tuple[Workload, ...]:
        entry = self._store.get(key)
        if entry is None:
            return ()
        if isinstance(entry, Unreadable):
            if entry.shape not in self._always:
                return ()
            return (InvalidWorkload(entry.object, family.name, entry.problems, maker=key),)
        failure = self._containment.failure(key, Step.COMPILE)
        if failure is None:
            with self._containment.at(key, Step.COMPILE) as step:
                made = self._view.derive(place_object, family, key)
                return tuple(map(self._names.told_apart, made))
            failure = step.failure
        assert failure is not None
        self._failed.setdefault(key, {})[family, key] = None
        problem = sentences.NOT_UNDERSTOOD.at((), kind=key.kind, error=failure.error)
        return (InvalidWorkload(entry.object, family.name, (problem,), maker=key),)


def _in_turns(items: Iterable[tuple[Family, Key]]) -> list[tuple[Family, Key]]:
    """The items in the order given, one of each namespace in turn, without repetition.

    One namespace with thousands of changed units must not keep those of others from being read.
    """
    by_namespace: dict[str, list[tuple[Family, Key]]] = {}
    for item in dict.fromkeys(items):
        by_namespace.setdefault(item[1].namespace, []).append(item)
    rounds = zip_longest(*by_namespace.values())
    return [item for one_of_each in rounds for item in one_of_each if item is not None]
