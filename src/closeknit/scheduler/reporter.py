"""Who is told what becomes of units."""

from __future__ import annotations

from typing import Protocol

from closeknit.hub.keys import Key
from closeknit.hub.workload import Workload
from closeknit.scheduler.planning import Verdict


class Reporter(Protocol):
    """Is told and never waited for; raises nothing."""

    def placed(self, verdict: Verdict) -> None:
        """Every pod of a decision is bound."""

    def waiting(self, verdict: Verdict) -> None:
        """A unit found no room, or something is wrong with it."""

    def released(self, workload: Workload, why: str) -> None:
        """The running part of a gang was made to go."""

    def displaced(self, workload: Workload, by: Workload, why: str) -> None:
        """A unit was made to go for another one."""

    def gone(self, key: Key) -> None:
        """A unit is no longer there."""


class Silence:
    """Tells nobody."""

    def placed(self, verdict: Verdict) -> None:
        """Pass over it."""

    def waiting(self, verdict: Verdict) -> None:
        """Pass over it."""

    def released(self, workload: Workload, why: str) -> None:
        """Pass over it."""

    def displaced(self, workload: Workload, by: Workload, why: str) -> None:
        """Pass over it."""

    def gone(self, key: Key) -> None:
        """Pass over it."""
