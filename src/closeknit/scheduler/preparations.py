"""What must be ready before the pods of a commit are bound: devices of claims, and volumes.

Nothing is bound before everything is ready, so what fails here leaves no part of a gang. What was prepared
for pods that are not bound after all is undone. Both kinds of calls may be made again without harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

import msgspec

from closeknit.dialects.core.binding_volumes import Preparation
from closeknit.hub.keys import Key
from closeknit.scheduler.answers import Answer


class Prepare(msgspec.Struct, frozen=True, gc=False):
    """Make ready what pods claim."""

    what: Preparation


class Undo(msgspec.Struct, frozen=True, gc=False):
    """Take back what was made ready, as far as nobody uses it."""

    what: Preparation


class Disbelieve(msgspec.Struct, frozen=True, gc=False):
    """Believe of a claim or a volume what the server says."""

    what: Preparation


class _Step(Enum):
    SENT = "sent"
    WAITING = "waiting"
    """It was asked for, and others are at work on it."""
    READY = "ready"
    UNDOING = "undoing"
    ENDED = "ended"


@dataclass(slots=True)
class _State:
    what: Preparation
    step: _Step = _Step.SENT
    tries: int = 0


class Preparations:
    """All that one commit prepares."""

    def __init__(self, wanted: Iterable[Preparation]) -> None:
        self._states = {each.claim: _State(each) for each in wanted}
        self.failed = ""
        """Why something cannot be made ready; empty while nothing is known to."""

    def __bool__(self) -> bool:
        return bool(self._states)

    @property
    def claims(self) -> Iterable[Key]:
        """The claims that are made ready."""
        return self._states.keys()

    @property
    def wanted(self) -> Iterable[Preparation]:
        """All that is prepared."""
        return (each.what for each in self._states.values())

    @property
    def ready(self) -> bool:
        """Whether nothing is left to wait for before pods are bound."""
        return all(each.step is _Step.READY for each in self._states.values())

    @property
    def waiting(self) -> list[Preparation]:
        """What others are at work on."""
        return [each.what for each in self._states.values() if each.step is _Step.WAITING]

    @property
    def settled(self) -> bool:
        """Whether nothing is under way."""
        return all(each.step in (_Step.READY, _Step.ENDED) for each in self._states.values())

    def describe(self) -> tuple[object, ...]:
        """How far each has come, as a value that tells two moments apart."""
        return (*((claim, each.step.value) for claim, each in self._states.items()), bool(self.failed))

    def calls(self) -> list[Prepare]:
        """The first calls."""
        return [Prepare(each.what) for each in self._states.values()]

    def tries(self, claim: Key) -> int:
        """How often a call had to be made again."""
        return self._states[claim].tries

    def prepared(self, claim: Key, answer: Answer, why: str = "") -> Iterator[Prepare | Undo]:
        """A call to prepare something was answered."""
        each = self._states[claim]
        if each.step is not _Step.SENT:
            return
        if answer is Answer.DONE:
            each.step = _Step.WAITING if each.what.takes_time else _Step.READY
        elif answer in (Answer.GONE, Answer.REFUSED):
            self.fail(why or f"{claim.kind} {claim.name} has gone.")
        elif not self.failed:
            each.tries += 1
            yield Prepare(each.what)
            return
        if self.failed:
            # Also what was refused: an earlier call may have been carried out although its answer was lost.
            yield self._undo(each)

    def ready_now(self, claim: Key) -> None:
        """Others have done their part."""
        each = self._states[claim]
        if each.step is _Step.WAITING:
            each.step = _Step.READY

    def fail(self, why: str) -> None:
        """Something cannot be made ready."""
        self.failed = self.failed or why

    def undo_unused(self, used: frozenset[str]) -> Iterator[Undo]:
        """Take back what is used by none of these pods, by uid."""
        for each in self._states.values():
            if each.step in (_Step.READY, _Step.WAITING) and used.isdisjoint(
                uid for _, uid in each.what.pods
            ):
                yield self._undo(each)

    def undone(self, claim: Key, answer: Answer) -> Iterator[Undo | Disbelieve]:
        """A call to take something back was answered."""
        each = self._states[claim]
        if each.step is not _Step.UNDOING:
            return
        if answer in (Answer.DONE, Answer.GONE, Answer.REFUSED):
            each.step = _Step.ENDED
            yield Disbelieve(each.what)
        else:
            each.tries += 1
            yield Undo(each.what)

    def _undo(self, each: _State) -> Undo:
        each.step, each.tries = _Step.UNDOING, 0
        return Undo(each.what)
