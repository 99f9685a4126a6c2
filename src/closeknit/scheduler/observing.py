"""What the scheduler did, for metrics and as structured log lines: one line a decision."""

from __future__ import annotations

from typing import Any

from closeknit.hub.outcome import Placed
from closeknit.hub.workload import Workload
from closeknit.live.log import Log
from closeknit.scheduler import wording
from closeknit.scheduler.metrics import Metrics
from closeknit.scheduler.overcommitment import LaterBinding
from closeknit.scheduler.planning import Verdict
from closeknit.scheduler.status import reports


class Observer:
    """Hears of everything that is decided and done."""

    def __init__(self, metrics: Metrics, log: Log) -> None:
        self._metrics = metrics
        self._log = log

    def decided(self, verdict: Verdict, seconds: float) -> None:
        """A unit was decided."""
        self._metrics.decided(verdict, seconds)
        facts: dict[str, Any] = {"unit": str(verdict.workload.object.key), "status": verdict.status.value}
        if isinstance(verdict.outcome, Placed):
            facts["pods"] = len(verdict.outcome.assignments)
            facts["domains"] = {
                group.name: [wording.place(domain) for domain in group.domains]
                for group in verdict.outcome.groups
                if group.required or group.preferred
            }
        else:
            facts["reason"] = reports.report(verdict).brief
        self._log.info("decided", **facts, milliseconds=round(seconds * 1000, 3))

    def bound(self, seconds: float) -> None:
        """A pod was bound; the decision's line says where."""
        self._metrics.bound(seconds)

    def not_bound(self, pod: str, node: str, result: str, why: str) -> None:
        """A binding was answered with a ``conflict``, was ``refused``, or its answer was ``lost``."""
        self._metrics.not_bound(result)
        self._log.warning("not bound", pod=pod, node=node, result=result, why=why)

    def scheduled(self, workload: Workload, seconds: float) -> None:
        """All pods of a unit's minimum are bound, so long after they were all there."""
        self._metrics.scheduled(seconds)
        self._log.info("scheduled", unit=str(workload.object.key), seconds=round(seconds, 3))

    def let_go(self, workload: Workload, reason: str, why: str) -> None:
        """A unit was ``released``, ``stale`` or ``displaced``."""
        self._metrics.let_go(reason)
        self._log.warning("let go", unit=str(workload.object.key), reason=reason, why=why)

    def overcommitted(self, later: LaterBinding) -> None:
        """The eviction of a pod was accepted for which its node has no room."""
        self._metrics.overcommitted()
        self._log.warning("evicted from an overcommitted node", pod=str(later.pod), node=later.node)
