"""One instance put to the engine, and the answer put to the judges."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable, Wishes
from closeknit.hub.request import Request
from closeknit.testing import check, oracle
from closeknit.testing.meaning import Scene, order, wishes_of
from closeknit.testing.planted import Planted, planted_instance
from closeknit.testing.strategies import random_instance

INSTANCES_A_RUN = 10**9
"""Instance numbers stay below this, so that a seed tells its run and its number."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What the judges say of one decision."""

    seed: int
    kind: str
    """One of: placed, unplaceable, undecided, crashed."""
    unsound: tuple[str, ...] = ()
    missed: bool = False
    optimal: bool = False
    proven: bool = False
    better: Wishes | None = None
    traceback: str = ""

    @property
    def failures(self) -> tuple[str, ...]:
        """The promises broken, by the names that the run counts them under."""
        broken = {
            "crashed": self.kind == "crashed",
            "unsound": bool(self.unsound),
            "missed": self.missed,
            "undecided": self.kind == "undecided",
            "false proofs": self.proven and self.better is not None,
        }
        return tuple(name for name, holds in broken.items() if holds)


def seed_of(run: int, number: int) -> int:
    """The seed of one instance of a run."""
    return run * INSTANCES_A_RUN + number


def instance_of(seed: int) -> tuple[Cluster, Request]:
    """The instance with this seed."""
    return random_instance(Random(seed))


def planted_of(seed: int) -> Planted:
    """The planted instance with this seed."""
    return planted_instance(Random(seed))


def decided(cluster: Cluster, request: Request) -> Outcome:
    """The engine's answer, without explanations."""
    return Engine(cluster).decide(request)


def judged(
    cluster: Cluster,
    request: Request,
    *,
    seed: int = 0,
    decide: Callable[[Cluster, Request], Outcome] = decided,
) -> Trial:
    """Let the engine decide and the exact oracle judge."""
    return _trial(
        cluster,
        request,
        seed=seed,
        decide=decide,
        placeable=lambda: oracle.feasible(cluster, request),
        better=lambda wishes: oracle.better(cluster, request, wishes),
    )


def judged_planted(
    planted: Planted, *, seed: int = 0, decide: Callable[[Cluster, Request], Outcome] = decided
) -> Trial:
    """Let the engine decide, and judge it by the placement from which the instance was made."""
    known = wishes_of(Scene.of(planted.cluster, planted.request), planted.spread)
    return _trial(
        planted.cluster,
        planted.request,
        seed=seed,
        decide=decide,
        placeable=lambda: True,
        better=lambda wishes: known if order(known) < order(wishes) else None,
    )


def _trial(
    cluster: Cluster,
    request: Request,
    *,
    seed: int,
    decide: Callable[[Cluster, Request], Outcome],
    placeable: Callable[[], bool],
    better: Callable[[Wishes], Wishes | None],
) -> Trial:
    try:
        outcome = decide(cluster, request)
    except Exception:  # noqa: BLE001  A run goes on and counts its crashes.
        return Trial(seed, "crashed", traceback=traceback.format_exc())
    match outcome:
        case Unplaceable():
            return Trial(seed, "unplaceable", missed=placeable())
        case Undecided():
            return Trial(seed, "undecided")
        case Placed():
            if unsound := check.violations(cluster, request, outcome):
                return Trial(seed, "placed", unsound=tuple(unsound), proven=outcome.proven)
            known = better(outcome.wishes)
            return Trial(seed, "placed", optimal=known is None, proven=outcome.proven, better=known)
