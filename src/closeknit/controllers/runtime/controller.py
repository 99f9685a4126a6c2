"""What a controller is: a pure function of what it observes and of the time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from closeknit.controllers.runtime.writes import Decision
from closeknit.dialects.store.store import Index
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
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
    """As its field manager and its log lines have it, after ``closeknit-``."""
    shape: type[Any]
    observe: Callable[[View, Key], _T]
    """The object may be gone, or unreadable."""
    decide: Callable[[_T, datetime], Decision]


@dataclass(frozen=True, eq=False)
class Operator:
    """The controllers of one family, and what they read beside the kinds of all families."""

    family: str
    controllers: tuple[Controller[Any], ...]
    kinds: tuple[Kind, ...] = ()
    indexes: tuple[Index, ...] = ()
