"""What goes wrong with one object, as a value."""

from __future__ import annotations

from enum import Enum

import msgspec

from closeknit.hub.keys import Key


class Step(Enum):
    """What was done with an object when it failed; the label of a metric."""

    READ = "read"
    """It was decoded and stored."""
    COUNT = "count"
    """What it offers or holds was counted."""
    ESTIMATE = "estimate"
    """What it holds was estimated, because it could not be counted."""
    COMPILE = "compile"
    """Its request was compiled."""
    QUEUE = "queue"
    """It was queued, with what follows for reservations and preemptions."""
    DECIDE = "decide"
    """It was decided."""
    BIND = "bind"
    """A decision about it was carried out."""
    PREEMPT = "preempt"
    """Victims were chosen or evicted for it."""
    REPORT = "report"
    """Its report was made or written."""
    RECONCILE = "reconcile"
    """A controller observed it and decided what to write."""
    WRITE = "write"
    """A controller carried out what it had decided."""
    REVIEW = "review"
    """A write of it was reviewed."""
    SHOW = "show"
    """Its row of the map was made."""


class ObjectFailure(msgspec.Struct, frozen=True, gc=False):
    """An object that could not be worked with because of an error that nothing expected."""

    key: Key
    step: Step
    error: str
    """The type of the error and its text, in one line."""


def described(error: BaseException) -> str:
    """An error in one line: its type and the first line of its text."""
    try:
        text = next(iter(str(error).splitlines()), "")
    except Exception:  # noqa: BLE001 (the text of an error is made by code that may fail as well)
        text = ""
    return f"{type(error).__name__}: {text[:500]}"


class UncontainedError(Exception):
    """An error that is no failure of the object that was worked on, so containment lets it pass."""
