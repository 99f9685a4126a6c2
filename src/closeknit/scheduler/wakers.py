"""Which change can help whom: an index of sleepers by what they wait for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from closeknit.hub.neighbours import binding
from closeknit.hub.outcome import Outcome, Undecided
from closeknit.hub.quota import lacks_quota
from closeknit.hub.request import Request
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.deciding import Failed
from closeknit.scheduler.needs import Need, Shape, needs, needs_others, shape_of

if TYPE_CHECKING:
    from closeknit.engine import Engine

Sleeper = TypeVar("Sleeper", bound=Hashable)
_Place: TypeAlias = tuple[Shape, str | None, str | None]
"""A shape, and the topology and level in a domain of which its pods must fit together."""


class _Hope(Enum):
    """What can help a unit that failed, apart from a change of its own objects."""

    QUOTA = "quota"
    ROOM = "room or quota"
    ANYTHING = "any change"


def _hope(workload: PlaceableWorkload, outcome: Outcome | Failed) -> _Hope:
    if isinstance(outcome, Failed | Undecided):
        return _Hope.ANYTHING
    if lacks_quota(outcome):
        return _Hope.QUOTA
    # What room there is says nothing of rules about other pods.
    ruled = any(binding(rule) for pods in workload.request.root.pod_sets() for rule in pods.neighbour.rules)
    return _Hope.ANYTHING if ruled else _Hope.ROOM


class Wakers(Generic[Sleeper]):
    """Sleepers by what can wake them.

    Many sleepers wait for room for the same shape at the same level. That room is asked for once a
    change, and only who needs no more than this is looked at.
    """

    def __init__(self) -> None:
        self._room: dict[_Place, dict[tuple[Sleeper, int], tuple[int, Need]]] = {}
        self._bound: dict[str, dict[Sleeper, None]] = {}
        self._accounts: dict[tuple[str, ...], dict[Sleeper, None]] = {}
        self._anything: dict[None, dict[Sleeper, None]] = {}
        self._company: dict[None, dict[Sleeper, None]] = {}
        self._hopes: dict[Sleeper, _Hope] = {}
        self._places: dict[Sleeper, list[tuple[dict[Any, Any], Any, Any]]] = {}
        """Where each sleeper stands: an index, a key of it, and the sleeper's entry there."""
        self.looked_at = 0
        """How many needs have been compared with a node one by one."""

    def note(self, sleeper: Sleeper, workload: PlaceableWorkload, outcome: Outcome | Failed) -> None:
        """Note what can help somebody who asks for what this workload asks for, given what became of it."""
        hope = _hope(workload, outcome)
        if self._hopes.get(sleeper) is hope:
            return
        self.drop(sleeper)
        self._hopes[sleeper] = hope
        if hope is _Hope.ROOM:
            self._enter_room(sleeper, workload.request)
        if hope is _Hope.ANYTHING:
            self._enter(sleeper, self._anything, None, sleeper, None)
            if needs_others(workload.request):
                self._enter(sleeper, self._company, None, sleeper, None)
        charged = (charge.account for option in workload.options for charge in option.charges)
        for account in (*charged, *workload.accounts):
            for each in account.around:
                self._enter(sleeper, self._accounts, each.name, sleeper, None)

    def _enter_room(self, sleeper: Sleeper, request: Request) -> None:
        for number, need in enumerate(needs(request)):
            finest = need.around[0]
            place = (shape_of(need.pods), need.topology, finest.level)
            self._enter(sleeper, self._room, place, (sleeper, number), (finest.wanted[0][1], need))
        for pods in request.root.pod_sets():
            for node in pods.bound:
                self._enter(sleeper, self._bound, node, sleeper, None)

    def _enter(
        self, sleeper: Sleeper, index: dict[Any, Any], key: object, entry: object, value: object
    ) -> None:
        index.setdefault(key, {})[entry] = value
        self._places.setdefault(sleeper, []).append((index, key, entry))

    def drop(self, sleeper: Sleeper) -> None:
        """Forget what wakes a sleeper."""
        self._hopes.pop(sleeper, None)
        for index, key, entry in self._places.pop(sleeper, ()):
            entries = index.get(key, {})
            entries.pop(entry, None)
            if not entries:
                index.pop(key, None)

    def for_node(self, node: str, engine: Engine) -> Iterator[Sleeper]:
        """Whom more room on a node can help, given what it and the domains around it have room for now."""
        yield from self._anything.get(None, ())
        for (_, topology, level), entries in self._room.items():
            pods = next(iter(entries.values()))[1].pods
            if not engine.fits(pods, node):
                continue
            room = engine.room(pods, node, topology, level)
            for (sleeper, _), (least, need) in entries.items():
                if least <= room:
                    self.looked_at += 1
                    if need.met(engine, node):
                        yield sleeper

    def for_bound(self, node: str) -> Iterator[Sleeper]:
        """Of whom pods run on a node, so that its labels say where the others may go."""
        yield from self._bound.get(node, ())

    def for_company(self) -> Iterator[Sleeper]:
        """Whom a pod can help that has come."""
        yield from self._company.get(None, ())

    def for_accounts(self, accounts: Iterable[tuple[str, ...]]) -> Iterator[Sleeper]:
        """Who is charged to one of the accounts."""
        yield from self._anything.get(None, ())
        for account in accounts:
            yield from self._accounts.get(account, ())

    def everybody(self) -> Iterator[Sleeper]:
        """All who sleep."""
        return iter(self._hopes)
