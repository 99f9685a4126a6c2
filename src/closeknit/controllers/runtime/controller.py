"""What a controller is: a pure function of what it observes and of the time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from closeknit.controllers.runtime.writes import Decision
from closeknit.dialects.store.store import Entry, Index
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.engine import Pace
from closeknit.hub.keys import Key

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Controller(Generic[_T]):
    """Looks after the objects of one kind, one object at a time.

    What ``observe`` has asked the view for is what it depends on: when some of it changes, the object is
    looked at again. So is it when something changes that its last decision would have written. ``observe``
    makes values that are equal when they mean the same; ``decide`` is called with the last one and the time.
    """

    name: str
    """As log lines have it, and its field manager after ``closeknit-``."""
    shape: type[Any]
    observe: Callable[[View, Key], _T]
    """The object may be gone, or unreadable."""
    decide: Callable[[_T, datetime], Decision]
    manager: str = ""
    """The field manager, where several controllers write the same objects; its name otherwise."""
    looks_after: Callable[[Entry], bool] = lambda _: True
    """Whether an object is one that it looks after; what has never been one is not looked at."""


class Item(NamedTuple):
    """One object of one controller."""

    controller: Controller[Any]
    key: Key


class Planner(Protocol):
    """Decides about many objects in one, as who shares out quota has to; its controller writes that.

    What it knows is worked out from the view, so that one that starts anew comes to the same.
    """

    controller: Controller[Any]

    def look(self, view: View, changed: Mapping[Key, type[Any]], now: datetime) -> Iterable[Key]:
        """Take in which objects have changed, with their shapes; who is to be looked at after that."""

    def next_time(self, now: datetime) -> datetime | None:
        """When it would decide something though nothing changes."""


@dataclass(frozen=True, eq=False)
class Operator:
    """The controllers of one family, and what they read beside the kinds of all families."""

    family: str
    controllers: tuple[Controller[Any], ...]
    kinds: tuple[Kind, ...] = ()
    indexes: tuple[Index, ...] = ()
    planner: Callable[[Any, Pace], Planner] | None = None
    """Makes one from a source of chance, which spreads retries in time, and a pace for long decisions."""
    start: Callable[[Any, Sequence[Entry], Any], Awaitable[None]] | None = None
    """What is done before the controllers begin, with the API, the settings and the log.

    It raises ``InvalidError`` where they must not begin.
    """
