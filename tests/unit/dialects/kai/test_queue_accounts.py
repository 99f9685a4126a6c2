"""What Queues may use: limits, quotas, weights, parents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.sentences import core
from closeknit.scheduler.planning import AnyVerdict, plan
from tests.kit.problems import finding
from tests.unit.dialects.kit import node, pod, pod_group, reading, reported

FREE: Mapping[str, Any] = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def queue(name: str, parent: str = "", priority: int | None = None, **gpu: Any) -> str:
    """A queue that limits nothing but GPUs."""
    spec: dict[str, Any] = {"resources": {"gpu": {**FREE, **gpu}, "cpu": FREE, "memory": FREE}}
    if parent:
        spec["parentQueue"] = parent
    if priority is not None:
        spec["priority"] = priority
    return json.dumps(
        {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}
    )


def gang(name: str, queue: str, pods: int, **spec: Any) -> list[str]:
    """A PodGroup with pods of one GPU, all of which must run; the name says who is older."""
    made = pod_group({"queue": queue, "minMember": pods, **spec}, name)
    return [made, *(pod(f"{name}-{i}", name) for i in range(pods))]


def planned(*texts: str, gpus: int = 8) -> list[AnyVerdict]:
    read = reading(node("x", **{"nvidia.com/gpu": str(gpus), "cpu": "64", "memory": "64Gi"}), *texts)
    assert read.problems == ()
    return list(plan(Engine(read.cluster), read.cluster, read.workloads))


def placed(verdicts: Sequence[AnyVerdict]) -> list[str]:
    return [v.workload.object.name for v in verdicts if isinstance(v.outcome, Placed)]


@dataclass
class Case:
    queues: Sequence[str]
    groups: Sequence[Sequence[str]]
    want: Sequence[str]
    gpus: int = 8
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By PodGroup, the queue that has no room for it."""


@pytest.mark.requirement("A45")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case(
                [queue("q", limit=4)],
                [gang("a", "q", 3), gang("b", "q", 2)],
                ["a"],
                lacking={"b": ("Queue q",)},
            ),
            id="a limit stops what goes beyond it",
        ),
        pytest.param(
            Case([queue("q", quota=2)], [gang("a", "q", 3), gang("b", "q", 2)], ["a", "b"]),
            id="a quota stops nobody who is preemptible",
        ),
        pytest.param(
            Case(
                [queue("q", quota=2)],
                [gang("a", "q", 3, priorityClassName="build"), gang("b", "q", 2, priorityClassName="build")],
                ["b"],
                lacking={"a": ("Queue q", "not preemptible")},
            ),
            id="a quota stops who is not preemptible by its priority",
        ),
        pytest.param(
            Case(
                [queue("q", quota=2)],
                [gang("a", "q", 3, preemptibility="non-preemptible"), gang("b", "q", 2)],
                ["b"],
                lacking={"a": ("Queue q", "not preemptible")},
            ),
            id="a quota stops who says that it is not preemptible",
        ),
        pytest.param(
            Case(
                [queue("q", quota=2)],
                [gang("a", "q", 3, priorityClassName="build", preemptibility="preemptible")],
                ["a"],
            ),
            id="what is said goes before what the priority stands for",
        ),
        pytest.param(
            Case(
                [queue("top", limit=4), queue("q", "top"), queue("r", "top")],
                [gang("a", "q", 3), gang("b", "r", 2)],
                ["a"],
                lacking={"b": ("Queue top",)},
            ),
            id="the limit of a parent holds for all queues below it",
        ),
        pytest.param(
            Case(
                [queue("top", quota=2), queue("q", "top")],
                [gang("a", "q", 3, priorityClassName="build")],
                [],
                lacking={"a": ("Queue top", "not preemptible")},
            ),
            id="the quota of a parent holds for who is not preemptible below it",
        ),
        pytest.param(
            Case(
                [queue("rich", quota=8), queue("poor", quota=0)],
                [gang("a", "poor", 4), gang("b", "rich", 4), gang("c", "rich", 4)],
                ["b", "c"],
            ),
            id="who stays within a quota goes before who does not",
        ),
        pytest.param(
            Case(
                [queue("q", quota=0, overQuotaWeight=1), queue("r", quota=0, overQuotaWeight=3)],
                [*(gang(f"a{i}", "q", 1) for i in range(8)), *(gang(f"b{i}", "r", 1) for i in range(8))],
                ["b0", "b1", "a0", "b2", "b3", "b4", "a1", "b5"],
            ),
            id="what is beyond all quotas is parted by weight",
        ),
        pytest.param(
            Case(
                [queue("q", quota=0, overQuotaWeight=0), queue("r", quota=0)],
                [gang("a", "q", 1), *(gang(f"b{i}", "r", 1) for i in range(3))],
                ["b0", "b1", "b2"],
                gpus=3,
            ),
            id="a weight of zero comes last",
        ),
        pytest.param(
            Case([queue("q", quota=0, overQuotaWeight=0)], [gang("a", "q", 1)], ["a"]),
            id="a weight of zero keeps nobody from what nobody else wants",
        ),
        pytest.param(
            Case(
                [queue("q", quota=0), queue("r", priority=200, quota=0)],
                [gang("a", "q", 4), gang("b", "r", 4)],
                ["b"],
                gpus=4,
            ),
            id="beyond their quotas the queue of higher priority goes first",
        ),
        pytest.param(
            Case(
                [
                    queue("top1", quota=4),
                    queue("top2", quota=0),
                    queue("q", "top1", quota=0),
                    queue("r", "top2", quota=8),
                ],
                [gang("a", "r", 4), gang("b", "q", 4)],
                ["b"],
                gpus=4,
            ),
            id="the queues at the top are compared before those below them",
        ),
        pytest.param(
            Case(
                [queue("q", limit=3)],
                [[*gang("a", "q", 1), *(pod(f"a-{i}", "a") for i in range(1, 6))]],
                ["a"],
            ),
            id="pods above the minimum are given up to the limit",
        ),
    ],
)
def test_what_queues_let_run(case: Case) -> None:
    verdicts = planned(*case.queues, *(text for group in case.groups for text in group), gpus=case.gpus)
    assert placed(verdicts) == case.want
    for verdict in verdicts:
        queues = case.lacking.get(verdict.workload.object.name)
        if queues is not None:
            assert isinstance(verdict.outcome, Unplaceable)
            assert verdict.outcome.shortfalls[0].best[0].domain == queues


def test_pods_above_the_minimum_stop_at_the_limit() -> None:
    (verdict,) = planned(queue("q", limit=3), *gang("a", "q", 1), *(pod(f"a-{i}", "a") for i in range(1, 6)))
    assert isinstance(verdict.outcome, Placed)
    assert len(verdict.outcome.assignments) == 3
    assert verdict.outcome.wishes.left_out == 3


def test_a_limit_that_is_not_written_is_zero_as_in_kai() -> None:
    bare = json.dumps(
        {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}, "spec": {}}
    )
    (verdict,) = planned(bare, *gang("a", "q", 1))
    assert isinstance(verdict.outcome, Unplaceable)
    fit = verdict.outcome.shortfalls[0].best[0]
    assert (fit.domain, fit.limiting, fit.fits) == (("Queue q",), "nvidia.com/gpu", 0)


@pytest.mark.parametrize(
    ("resource", "limit", "asked", "fits"),
    [
        pytest.param("cpu", 1500, "1500m", True, id="CPU is written in thousandths of a core"),
        pytest.param("cpu", 1500, "1501m", False, id="one thousandth more is too much"),
        pytest.param("memory", 4, "4M", True, id="memory is written in millions of bytes"),
        pytest.param("memory", 4, "4Mi", False, id="a mebibyte is more than a million bytes"),
    ],
)
def test_the_units_of_a_queue(resource: str, limit: int, asked: str, fits: bool) -> None:
    limits = {"gpu": FREE, "cpu": FREE, "memory": FREE, resource: {"quota": 0, "limit": limit}}
    made = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"resources": limits},
    }
    one: Any = json.loads(pod("p", "g"))
    one["spec"]["containers"][0]["resources"]["requests"] = {resource: asked}
    verdicts = planned(json.dumps(made), pod_group({"queue": "q", "minMember": 1}), json.dumps(one))
    assert bool(placed(verdicts)) == fits


def test_running_pods_use_their_queue() -> None:
    running = pod("r-0", "r", nodeName="x", phase="Running")
    verdicts = planned(
        queue("q", limit=2), *gang("a", "q", 2), pod_group({"queue": "q", "minMember": 1}, "r"), running
    )
    assert placed(verdicts) == ["r"]


def test_queues_that_are_each_others_parents_count_nothing() -> None:
    read = reading(queue("q", "r", limit=0), queue("r", "q", limit=0), queue("s", "q"), *gang("a", "s", 1))
    (workload,) = read.workloads
    assert workload.accounts == ()


def test_a_minimum_runtime_that_is_no_duration_is_told() -> None:
    made: Any = json.loads(queue("q"))
    made["spec"] |= {"preemptMinRuntime": "soon", "reclaimMinRuntime": "-1s"}
    assert reported(json.dumps(made)) == [
        finding(core.NOT_A_DURATION, "1:spec.preemptMinRuntime", value="soon"),
        finding(core.NEGATIVE_DURATION, "1:spec.reclaimMinRuntime", value="-1s"),
    ]
