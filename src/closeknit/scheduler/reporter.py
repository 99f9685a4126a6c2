"""Who is told what becomes of units: users by way of a reporter, operators by way of an observer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.commit import Bind
from closeknit.scheduler.gangs.states import BelowMinimum
from closeknit.scheduler.overcommitment import LaterBinding
from closeknit.scheduler.planning import AnyVerdict, Verdict
from closeknit.scheduler.preempt.preemptions import Ending, Plan


class Reporter(Protocol):
    """Is told and never waited for; raises nothing."""

    def placed(self, verdict: Verdict) -> None:
        """Every pod of a decision is bound."""

    def waiting(
        self, verdict: AnyVerdict, plan: Plan | None = None, stored: Callable[[], None] | None = None
    ) -> None:
        """Pods of a unit found no room, above its minimum as well, or something is wrong with it.

        ``plan`` says which pods are evicted for it; ``stored`` is called once the server has stored that.
        """

    def running(self, workload: Workload) -> None:
        """No pod of a unit waits for a node that could be placed, whoever bound those that run."""

    def touched(self, key: Key) -> None:
        """Something of a unit has changed, as a pod that was recreated, and not what it asks for."""

    def pods_bound(self, pods: Iterable[Bind]) -> None:
        """These pods were bound, with others of their unit or not."""

    def released(self, workload: Workload, below: BelowMinimum) -> None:
        """The first of the running pods of a gang below its minimum was evicted."""

    def preempting(self, plan: Plan) -> None:
        """The first pod is about to be evicted for a unit."""

    def displaced(self, workload: Workload, by: Workload) -> None:
        """The first eviction of a unit for another one was accepted."""

    def gave_up(self, plan: Plan, ending: Ending) -> None:
        """A plan ended without the unit being bound; the next one waits for the backoff."""

    def overcommitted(self, later: LaterBinding) -> None:
        """The eviction of a pod was accepted for which its node has no room."""

    def gone(self, key: Key) -> None:
        """A unit is no longer there."""


class Observer(Protocol):
    """Hears of everything that is decided and done, for figures and logs; raises nothing."""

    def decided(self, verdict: Verdict, seconds: float) -> None:
        """A unit was decided."""

    def bound(self, seconds: float) -> None:
        """A pod was bound by a call that took so long."""

    def not_bound(self, pod: str, node: str, result: str, why: str) -> None:
        """A binding came to a ``conflict``, was ``refused``, or its answer was ``lost``."""

    def scheduled(self, workload: Workload, seconds: float) -> None:
        """The pods of a unit are bound, so long after it could first be decided."""

    def let_go(self, workload: Workload, reason: str, why: str) -> None:
        """Pods of a unit were made to go: it was ``released``, ``stale`` or ``displaced``."""

    def overcommitted(self, later: LaterBinding) -> None:
        """The eviction of a pod was accepted for which its node has no room."""


class Silence:
    """Tells nobody."""

    def placed(self, verdict: Verdict) -> None:
        """Pass over it."""

    def waiting(
        self,
        verdict: AnyVerdict,  # noqa: ARG002
        plan: Plan | None = None,  # noqa: ARG002
        stored: Callable[[], None] | None = None,
    ) -> None:
        """Pass over it; nobody has to be told first."""
        if stored is not None:
            stored()

    def running(self, workload: Workload) -> None:
        """Pass over it."""

    def touched(self, key: Key) -> None:
        """Pass over it."""

    def pods_bound(self, pods: Iterable[Bind]) -> None:
        """Pass over it."""

    def released(self, workload: Workload, below: BelowMinimum) -> None:
        """Pass over it."""

    def preempting(self, plan: Plan) -> None:
        """Pass over it."""

    def displaced(self, workload: Workload, by: Workload) -> None:
        """Pass over it."""

    def gave_up(self, plan: Plan, ending: Ending) -> None:
        """Pass over it."""

    def overcommitted(self, later: LaterBinding) -> None:
        """Pass over it."""

    def gone(self, key: Key) -> None:
        """Pass over it."""

    def decided(self, verdict: Verdict, seconds: float) -> None:
        """Pass over it."""

    def bound(self, seconds: float) -> None:
        """Pass over it."""

    def not_bound(self, pod: str, node: str, result: str, why: str) -> None:
        """Pass over it."""

    def scheduled(self, workload: Workload, seconds: float) -> None:
        """Pass over it."""

    def let_go(self, workload: Workload, reason: str, why: str) -> None:
        """Pass over it."""
