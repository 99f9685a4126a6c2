"""What becomes of each workload, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Outcome, Placed, Undecided, Unplaceable
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Workload

if TYPE_CHECKING:
    from closeknit.engine import Engine


class Status(Enum):
    """What became of a workload, in the words of the JSON output."""

    PLACED = "placed"
    UNPLACEABLE = "unplaceable"
    UNDECIDED = "undecided"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One workload and what became of it; invalid where there is no outcome."""

    workload: Workload
    outcome: Outcome | None
    problems: tuple[Problem, ...] = ()
    topology: Topology | None = None
    """The topology whose levels the workload speaks of."""

    @property
    def status(self) -> Status:
        """The outcome in one word."""
        match self.outcome:
            case Placed():
                return Status.PLACED
            case Unplaceable():
                return Status.UNPLACEABLE
            case Undecided():
                return Status.UNDECIDED
            case None:
                return Status.INVALID


def decide(engine: Engine, cluster: Cluster, workload: Workload) -> Verdict:
    """What becomes of one workload on the cluster as it is now; nothing is applied."""
    request = workload.request
    if request is None or workload.problems:
        return Verdict(workload, None, workload.problems)
    topology = cluster.topology(request.topology) if request.topology is not None else None
    try:
        return Verdict(workload, engine.solve(request), (), topology)
    except InvalidError as error:
        return Verdict(workload, None, error.problems, topology)


def plan(
    engine: Engine,
    cluster: Cluster,
    workloads: Iterable[Workload],
    *,
    until: Callable[[Workload], bool] | None = None,
) -> Iterator[Verdict]:
    """Decide the workloads in the order given, each seeing the earlier ones placed.

    Ends after the first workload for which ``until`` holds; that one is not applied,
    so that the engine is as the workload found it.
    """
    for workload in workloads:
        verdict = decide(engine, cluster, workload)
        yield verdict
        if until is not None and until(workload):
            return
        if workload.request is not None and isinstance(verdict.outcome, Placed):
            engine.apply(workload.request, verdict.outcome)
