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
from closeknit.testing.meaning import Scene, Spread, order, wishes_of
from closeknit.testing.random_clusters import RULED
from closeknit.testing.random_requests import random_instance
from tests.trials.planted import Planted, planted_instance


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


def instance_of(seed: int, *, planted: bool = False) -> Planted | tuple[Cluster, Request]:
    """The instance with this seed."""
    return planted_instance(Random(seed)) if planted else random_instance(Random(seed), RULED)


def decided(cluster: Cluster, request: Request) -> Outcome:
    """The engine's answer, without explanations."""
    return Engine(cluster).decide(request)


def judged(
    cluster: Cluster,
    request: Request,
    planted: Spread | None = None,
    *,
    seed: int = 0,
    decide: Callable[[Cluster, Request], Outcome] = decided,
) -> Trial:
    """Let the engine decide, and judge it by the placement that was planted, or else by the exact oracle."""
    try:
        outcome = decide(cluster, request)
    except Exception:  # noqa: BLE001  A run goes on and counts its crashes.
        return Trial(seed, "crashed", traceback=traceback.format_exc())
    match outcome:
        case Unplaceable():
            missed = planted is not None or oracle.feasible(cluster, request)
            return Trial(seed, "unplaceable", missed=missed)
        case Undecided():
            return Trial(seed, "undecided")
        case Placed():
            if unsound := check.violations(cluster, request, outcome):
                return Trial(seed, "placed", unsound=tuple(unsound), proven=outcome.proven)
            if planted is None:
                better = oracle.better(cluster, request, outcome.wishes)
            else:
                known = wishes_of(Scene.of(cluster, request), planted)
                better = known if order(known) < order(outcome.wishes) else None
            return Trial(seed, "placed", optimal=better is None, proven=outcome.proven, better=better)
