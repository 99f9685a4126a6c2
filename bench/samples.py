"""Timing calls, and what many timings come to."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from closeknit.hub.outcome import Placed, Undecided, Unplaceable

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"processor": time.thread_time, "wall": time.perf_counter}
"""The engine neither waits nor starts threads, so on an idle machine both clocks say the same;
the processor's does not count the time that other programs take."""


@dataclass(slots=True)
class Samples:
    """How long each of many calls took, in seconds, and what they returned."""

    seconds: list[float] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    """How often each kind of outcome came back."""

    @property
    def median(self) -> float:
        """The middle one."""
        return sorted(self.seconds)[len(self.seconds) // 2]

    @property
    def p99(self) -> float:
        """The one that 99 of 100 stay below; of fewer than 100 the longest."""
        return sorted(self.seconds)[min(len(self.seconds) * 99 // 100, len(self.seconds) - 1)]


def sample(calls: Iterable[Callable[[], object]], clock: Clock, patience: float) -> Samples:
    """Time the calls one by one; what happens between them is not counted.

    Past ``patience`` seconds no further call is made, but three are made in any case.
    """
    samples, spent = Samples(), 0.0
    for call in calls:
        begun = clock()
        result = call()
        took = clock() - begun
        samples.seconds.append(took)
        if (verdict := _verdict(result)) is not None:
            samples.verdicts[verdict] += 1
        spent += took
        if spent > patience and len(samples.seconds) >= 3:
            break
    return samples


def _verdict(result: object) -> str | None:
    match result:
        case Placed(proven=True):
            return "placed"
        case Placed():
            return "placed, not proven best"
        case Unplaceable():
            return "unplaceable"
        case Undecided():
            return "undecided"
        case _:
            return None
