"""One instance put to the engine, and the answer put to the judges."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from time import process_time
from typing import NamedTuple

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable, Wishes
from closeknit.hub.request import Request
from closeknit.testing import check, oracle
from closeknit.testing.claims import NOTHING, Claims, broken_claims
from closeknit.testing.meaning import order, wishes_of
from closeknit.testing.random_claims import counted, random_claims
from closeknit.testing.random_clusters import RULED
from closeknit.testing.random_requests import random_instance
from closeknit.testing.scene import Scene, Spread
from tests.trials.planted import planted_instance

CLAIMED = 0.25
"""Of all random requests, the share whose pods claim devices or volumes."""


class Instance(NamedTuple):
    """What is put to the engine, and what the judges know beside."""

    cluster: Cluster
    request: Request
    planted: Spread | None = None
    """A placement, where one is known."""
    claims: Claims = NOTHING
    """What pods claim, which the engine is told as resources and node filters."""


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
    leaves_out_more: bool = False
    """Whether the better placement leaves out fewer pods."""
    traceback: str = ""
    seconds: float = field(default=0.0, compare=False)
    """Of the processor, to decide."""

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


def instance_of(seed: int, *, planted: bool = False) -> Instance:
    """The instance with this seed."""
    if planted:
        return Instance(*planted_instance(Random(seed)))
    cluster, request = random_instance(Random(seed), RULED)
    # A generator of its own, so that everything else is drawn as if there were no claims.
    own = Random(f"claims {seed}")
    claims = random_claims(own, cluster, request) if own.random() < CLAIMED else NOTHING
    return Instance(cluster, request, claims=claims)


def decided(cluster: Cluster, request: Request) -> Outcome:
    """The engine's answer, without explanations."""
    return Engine(cluster).decide(request)


def judged(
    cluster: Cluster,
    request: Request,
    planted: Spread | None = None,
    claims: Claims = NOTHING,
    *,
    seed: int = 0,
    decide: Callable[[Cluster, Request], Outcome] = decided,
) -> Trial:
    """Let the engine decide, and judge it by the placement that was planted, or else by the exact oracle."""
    said = (cluster, request) if claims == NOTHING else counted(cluster, request, claims)
    began = process_time()
    try:
        outcome = decide(*said)
    except Exception:  # noqa: BLE001  A run goes on and counts its crashes.
        return Trial(seed, "crashed", traceback=traceback.format_exc())
    seconds = process_time() - began
    trial = _judged(Instance(cluster, request, planted, claims), said, outcome)
    return replace(trial, seed=seed, seconds=seconds)


def _judged(instance: Instance, said: tuple[Cluster, Request], outcome: Outcome) -> Trial:
    """Judge an outcome; ``said`` is what the engine was told."""
    cluster, request, planted, claims = instance
    match outcome:
        case Unplaceable():
            missed = planted is not None or oracle.feasible(cluster, request, claims)
            return Trial(0, "unplaceable", missed=missed)
        case Undecided():
            return Trial(0, "undecided")
        case Placed():
            scene = Scene.of(cluster, request)
            unsound = check.violations(*said, outcome)
            unsound += broken_claims(claims, scene.nodes, request, check.spread_of(outcome))
            if unsound:
                return Trial(0, "placed", unsound=tuple(unsound), proven=outcome.proven)
            if planted is None:
                better = oracle.better(cluster, request, outcome.wishes, claims)
            else:
                known = wishes_of(scene, planted)
                better = known if order(known) < order(outcome.wishes) else None
            more = better is not None and better.left_out < outcome.wishes.left_out
            return Trial(
                0,
                "placed",
                optimal=better is None,
                proven=outcome.proven,
                better=better,
                leaves_out_more=more,
            )
