"""The order of Kueue's queues in a plan: who does not borrow goes first, and who is strict lets nobody pass."""

from __future__ import annotations

import json
from typing import Any

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.shortfall import BehindStrictFifo
from closeknit.scheduler.planning import plan
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import cluster_queue, flavor, job, local_queue, node, topology

NODES = [node(f"n{i}", "b", "r", gpus=8) for i in range(2)]


def placed(*texts: str) -> dict[str, bool]:
    found = reading(topology(), flavor(), *NODES, *texts)
    assert [*map(str, found.problems)] == []
    verdicts = plan(Engine(found.cluster), found.cluster, found.workloads)
    return {each.workload.object.name: isinstance(each.outcome, Placed) for each in verdicts}


def at(text: str, minute: int) -> str:
    made: dict[str, Any] = json.loads(text)
    made["metadata"]["creationTimestamp"] = f"2026-01-01T00:{minute:02}:00Z"
    return json.dumps(made)


def test_who_stays_within_its_quota_goes_before_who_borrows() -> None:
    queues = [
        cluster_queue(name, quota={"nvidia.com/gpu": 8}, cohortName="all") for name in ("first", "second")
    ]
    locals_ = [local_queue("a", "first"), local_queue("b", "second")]
    greedy = at(job(12, name="greedy", queue="a"), 0)
    modest = at(job(8, name="modest", queue="b"), 1)

    assert placed(*queues, *locals_, greedy, modest) == {"greedy": False, "modest": True}
    assert placed(*queues, *locals_, greedy) == {"greedy": True}


def test_nobody_passes_the_first_of_a_strict_queue() -> None:
    def outcome(strategy: str) -> dict[str, bool]:
        return placed(
            cluster_queue(queueingStrategy=strategy),
            local_queue(),
            at(job(20, name="large"), 0),
            at(job(1, name="small"), 1),
        )

    assert outcome("BestEffortFIFO") == {"large": False, "small": True}
    assert outcome("StrictFIFO") == {"large": False, "small": False}


def test_who_waits_behind_another_is_told_so() -> None:
    queue = cluster_queue(queueingStrategy="StrictFIFO")
    large, small = at(job(20, name="large"), 0), at(job(1, name="small"), 1)
    found = reading(topology(), flavor(), *NODES, queue, local_queue(), large, small)

    *_, last = plan(Engine(found.cluster), found.cluster, found.workloads)

    assert isinstance(last.outcome, Unplaceable)
    (shortfall,) = last.outcome.shortfalls
    assert (shortfall.group, shortfall.reason) == ("default/small", BehindStrictFifo("research"))
