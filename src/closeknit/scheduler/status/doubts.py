"""What may be wrong with units: told when it stays so, since the objects of a unit come one by one.

Time comes in as an argument, in seconds that never run backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.planning import AnyVerdict

_PUT_OFF = 3
"""How often something is put off because more was heard of the unit since."""


class _Doubt(NamedTuple):
    due: float
    verdict: AnyVerdict
    put_off: int = 0


class Doubts:
    """Units with something wrong, in the order in which that is told."""

    def __init__(self, patience: float, outdated: Callable[[Workload], bool]) -> None:
        """``patience`` is for how many seconds something may be wrong before it is told.

        ``outdated`` says whether something was heard of a unit since it was judged.
        """
        self._patience = patience
        self._outdated = outdated
        self._by_key: dict[Key, _Doubt] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def note(self, verdict: AnyVerdict, now: float) -> None:
        """Something is wrong with a unit; that is told when what was first wrong with it would have been."""
        key = verdict.workload.object.key
        doubt = self._by_key.get(key) or _Doubt(now + self._patience, verdict)
        self._by_key[key] = doubt._replace(verdict=verdict)

    def forget(self, key: Key) -> None:
        """Nothing is wrong with a unit, or something else is told of it."""
        self._by_key.pop(key, None)

    def due(self, now: float) -> Iterator[AnyVerdict]:
        """What is to be told now. Who is judged anew in a moment may be right by then, and is put off."""
        while (first := next(iter(self._by_key.values()), None)) is not None and first.due <= now:
            key = first.verdict.workload.object.key
            del self._by_key[key]
            if first.put_off < _PUT_OFF and self._outdated(first.verdict.workload):
                self._by_key[key] = _Doubt(now + self._patience, first.verdict, first.put_off + 1)
            else:
                yield first.verdict

    def next_time(self) -> float | None:
        """When something is due; None where nothing is wrong."""
        first = next(iter(self._by_key.values()), None)
        return first.due if first is not None else None
