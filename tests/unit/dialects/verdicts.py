"""Short ways to plan what manifests ask for, and to look at what comes of it."""

from __future__ import annotations

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.scheduler.planning import AnyVerdict, plan
from tests.unit.dialects.kit import reading


def decided(*texts: str) -> dict[str, AnyVerdict]:
    """What becomes of each workload, by its name; the manifests must be without problems."""
    read = reading(*texts)
    assert [str(problem) for problem in read.problems] == []
    verdicts = plan(Engine(read.cluster), read.cluster, read.workloads)
    return {verdict.workload.object.name: verdict for verdict in verdicts}


def places_of(verdict: AnyVerdict) -> list[str]:
    """The node of each pod that is placed, sorted."""
    assert isinstance(verdict.outcome, Placed)
    return sorted(assignment.node for assignment in verdict.outcome.assignments)


def nodes_of(verdict: AnyVerdict) -> set[str]:
    """The nodes that get pods."""
    return set(places_of(verdict))
