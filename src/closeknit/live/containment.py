"""Keeps what goes wrong with one object with that object.

Every layer works on objects one by one, and each does so in steps that are contained::

    with containment.at(key, Step.COMPILE) as step:
        unit = compile(key)
    if step.failure is not None:
        unit = invalid(step.failure)

An error that nothing expected ends the step and not the process. It is recorded as an ``ObjectFailure``,
counted and logged, and the object backs off: it is worked with again when it changes, or when its time has
come, after waits that grow from a second to five minutes. Until then the object shows the failure as a
condition or a problem.

States of an object, for each step:

| state | goes on with | next |
|---|---|---|
| sound | a step fails | failed |
| failed | the object changes, or its time comes | on trial |
| on trial | the step succeeds | sound |
| on trial | the step fails | failed, for twice as long |
| any | an error escapes all steps while it is worked on | withheld |
| withheld | its time comes | on trial |
| any | the object is gone | sound |

A withheld object is not worked with at all, whether it changes or not: its error could not be contained in a
step, so that the component was made again (``live.supervision``), which costs the others time.

Only subclasses of ``Exception`` are contained: ``RecursionError`` and ``MemoryError`` are among them, a
cancellation is not. Neither is a write that was not sent because the lease has expired: its object has not
failed, and the term of leadership ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self

from closeknit.hub.failures import ObjectFailure, Step, UncontainedError, described
from closeknit.hub.keys import Key

FIRST: Final = 1.0
LONGEST: Final = 300.0
"""Seconds that an object backs off after its first failure, and after many."""
FIRST_WITHHELD: Final = 60.0
"""Seconds that an object is withheld at first."""


class Record(Protocol):
    """Takes failures, to count and log them; raises nothing."""

    def failed(self, component: str, failure: ObjectFailure, error: BaseException, *, known: bool) -> None:
        """A step failed; ``known``: the object failed with the same error before."""


class NoRecord:
    """Records nothing."""

    def failed(self, component: str, failure: ObjectFailure, error: BaseException, *, known: bool) -> None:
        """Ignore it."""


@dataclass(slots=True)
class _Failing:
    """An object that has failed."""

    failure: ObjectFailure
    times: int
    until: float
    withheld: bool = False
    on_trial: bool = False


class Containment:
    """The failures of the objects that one component works on, by object and step."""

    def __init__(self, component: str, record: Record | None = None) -> None:
        self.component = component
        self.now = 0.0
        """Set by the component whenever it begins to work."""
        self._record: Record = record or NoRecord()
        self._failing: dict[Key, dict[Step, _Failing]] = {}

    @property
    def failing(self) -> int:
        """How many objects have failed and not recovered."""
        return len(self._failing)

    def at(self, key: Key, step: Step) -> Contained:
        """A context in which an error is a failure of this object."""
        return Contained(self, key, step)

    def failure(self, key: Key, *steps: Step) -> ObjectFailure | None:
        """Why one of these steps, or any, is not tried now; None if it is."""
        if not self._failing:
            return None
        return next((each.failure for each in self._waiting(key, steps)), None)

    def withheld(self, key: Key) -> ObjectFailure | None:
        """Why an object is not worked with at all; None if it is."""
        if not self._failing:
            return None
        return next((each.failure for each in self._waiting(key, ()) if each.withheld), None)

    def changed(self, key: Key) -> None:
        """An object has changed, so it is worked with again unless it is withheld."""
        for failing in self._failing.get(key, {}).values():
            failing.on_trial = not failing.withheld

    def gone(self, key: Key) -> None:
        """An object is gone, and its failures with it."""
        self._failing.pop(key, None)

    def due(self) -> list[Key]:
        """Objects that have backed off long enough; they are on trial now."""
        keys: list[Key] = []
        for key, steps in self._failing.items():
            over = [each for each in steps.values() if not each.on_trial and each.until <= self.now]
            for failing in over:
                failing.on_trial, failing.withheld = True, False
            if over:
                keys.append(key)
        return keys

    def next_time(self) -> float | None:
        """When the next object has backed off long enough; None while none backs off."""
        every = (each for steps in self._failing.values() for each in steps.values())
        return min((each.until for each in every if not each.on_trial), default=None)

    def note(self, key: Key, step: Step, error: BaseException, *, withhold: bool = False) -> ObjectFailure:
        """Record that a step failed; the object backs off, or is withheld."""
        failure = ObjectFailure(key, step, described(error))
        steps = self._failing.setdefault(key, {})
        before = steps.get(step)
        times = before.times + 1 if before is not None else 1
        first = FIRST_WITHHELD if withhold else FIRST
        wait = min(first * 2 ** min(times - 1, 10), LONGEST)
        steps[step] = _Failing(failure, times, self.now + wait, withhold)
        known = before is not None and before.failure == failure
        self._record.failed(self.component, failure, error, known=known)
        return failure

    def succeeded(self, key: Key, step: Step) -> None:
        """A step succeeded with an object."""
        if (steps := self._failing.get(key)) is not None and (failing := steps.get(step)) is not None:
            if failing.withheld:
                return
            del steps[step]
            if not steps:
                del self._failing[key]

    def _waiting(self, key: Key, steps: Collection[Step]) -> Iterator[_Failing]:
        failing = self._failing.get(key)
        if failing is not None:
            for each in steps or tuple(failing):
                if each in failing and not failing[each].on_trial:
                    yield failing[each]


class Contained:
    """One step with one object."""

    __slots__ = ("_containment", "_key", "_step", "error", "failure")

    def __init__(self, containment: Containment, key: Key, step: Step) -> None:
        self._containment = containment
        self._key = key
        self._step = step
        self.failure: ObjectFailure | None = None
        """What went wrong; None while nothing has."""
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if error is None:
            self._containment.succeeded(self._key, self._step)
            return False
        if not isinstance(error, Exception) or isinstance(error, UncontainedError):
            return False
        self.error, self.failure = error, self._containment.note(self._key, self._step, error)
        return True
