"""Whether a waiting unit fits once some pods are gone: tried on a fork of the engine, never applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from closeknit.hub.accounts import Accounts, Booking
from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Placed
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.deciding import Verdict, decide
from closeknit.scheduler.portions import part_of, step
from closeknit.scheduler.preempt.running import BoundPod, Victim

if TYPE_CHECKING:
    from closeknit.engine import Engine


class Goal(Enum):
    """How much of a unit must fit for a victim set to help."""

    ALL_PODS = "all pods"
    LEAST = "least"
    """The least that is worth placing: its minimum, or one more pod if its minimum runs."""


@dataclass
class Trials:
    """Trials for one waiting unit, counted; use inside ``prepared``."""

    engine: Engine
    cluster: Cluster
    workload: PlaceableWorkload
    accounts: Accounts
    """A copy: usage of victims is released from it and restored."""
    count: int = 0

    @contextmanager
    def prepared(self, leaving: Sequence[Holding], nominated_for_others: Sequence[Holding]) -> Iterator[None]:
        """The cluster once the pods that are being deleted are gone, less what is nominated for others."""
        with self.engine.fork():
            for holding in leaving:
                self.engine.release_pods(holding)
            for holding in nominated_for_others:
                self.engine.hold(holding)
            yield

    def verdict(self, victims: Sequence[Victim], goal: Goal) -> Verdict | None:
        """Where the unit is placed once the victims are gone; None if it does not fit.

        Their usage is released too, so that a queue at its limit can preempt within itself.
        """
        self.count += 1
        with self.engine.fork(), self._usage_released(victims):
            for victim in victims:
                # Pod by pod: single pods of one controller hold their nodes under one name.
                for pod in victim.pods:
                    if pod.holding.pods:
                        self.engine.release_pods(pod.holding)
            verdict = decide(self.engine, self.cluster, self.workload, self.accounts, explained=False)
            return self.part(verdict, goal)

    def part(self, verdict: Verdict, goal: Goal) -> Verdict | None:
        """The verdict with exactly the pods that the goal asks for; None if they are not placed."""
        placed = verdict.outcome
        if not isinstance(placed, Placed) or not placed.assignments:
            return None
        if goal is Goal.ALL_PODS:
            return verdict if placed.wishes.left_out == 0 else None
        if verdict.option is not None:
            # A workload that is charged as a whole gets its pods in one decision.
            return verdict
        request = verdict.workload.request
        least = part_of(self.engine, request, placed, step(request, placed))
        return replace(verdict, outcome=least) if least.assignments else None

    @contextmanager
    def without(self, victims: Sequence[Victim]) -> Iterator[KeptPods]:
        """Trials around one large set of victims, of which some are kept: each costs as much as is kept."""
        with self.engine.fork(), self._usage_released(victims) as before:
            for victim in victims:
                for pod in victim.pods:
                    if pod.holding.pods:
                        self.engine.release_pods(pod.holding)
            yield KeptPods(self, {victim.holder: victim for victim in victims}, before)

    @contextmanager
    def _usage_released(self, victims: Sequence[Victim]) -> Iterator[dict[str, Booking]]:
        """Yields what each of them was charged before; there is one victim for each holder."""
        before = {
            victim.holder: self.accounts.release(
                victim.holder, None if victim.is_broken else _resources(victim.pods), len(victim.pods)
            )
            for victim in victims
        }
        try:
            yield before
        finally:
            for holder, booking in before.items():
                self.accounts.restore(holder, booking)


@dataclass
class KeptPods:
    """The cluster without a set of victims, of which some are kept for a trial or for good."""

    trials: Trials
    gone: dict[str, Victim]
    """By holder, the pods that are gone."""
    before: dict[str, Booking]

    def verdict(self, kept: Sequence[Victim], goal: Goal) -> Verdict | None:
        """Where the unit is placed if these pods stay after all; None if it does not fit then."""
        trials = self.trials
        trials.count += 1
        gone = dict(self.gone)
        with trials.engine.fork():
            self._keep(kept)
            try:
                verdict = decide(
                    trials.engine, trials.cluster, trials.workload, trials.accounts, explained=False
                )
                return trials.part(verdict, goal)
            finally:
                self.gone = gone
                for victim in kept:
                    self._charge(victim.holder)

    def keep(self, kept: Sequence[Victim]) -> None:
        """Let these pods stay in all further trials."""
        self._keep(kept)

    def _keep(self, kept: Sequence[Victim]) -> None:
        for victim in kept:
            for pod in victim.pods:
                if pod.holding.pods:
                    self.trials.engine.hold(pod.holding)
            stays = {pod.key for pod in victim.pods}
            left = self.gone[victim.holder]
            pods = tuple(pod for pod in left.pods if pod.key not in stays)
            self.gone[victim.holder] = Victim(left.unit, pods, left.is_broken and bool(pods))
            self._charge(victim.holder)

    def _charge(self, holder: str) -> None:
        """Charge a unit for what is not gone of it."""
        accounts, gone = self.trials.accounts, self.gone[holder]
        accounts.restore(holder, self.before[holder])
        accounts.release(holder, None if gone.is_broken else _resources(gone.pods), len(gone.pods))


def _resources(pods: Sequence[BoundPod]) -> Resources:
    return sum((pod.holding.resources for pod in pods), Resources())
