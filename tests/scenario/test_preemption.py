"""Preemption on an embedded cluster in virtual time: findings S1, S2, S3, S17 and S18, and its states live."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.errors import InternalServerError, TooManyRequestsError
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import NODES, PODS
from closeknit.scheduler.preempt.preemptions import Ending, Limits
from closeknit.scheduler.settings import Settings
from tests.scenario.bound import POD_GROUPS
from tests.scenario.preemption import budget, contest, gang, job, lone, member, nodes, queue
from tests.unit.scheduler.objects import node, pod_group, together, topology


@pytest.mark.parametrize("pods", [1, 2, 3, 4])
async def test_every_pod_of_an_elastic_preemptor_gets_what_was_freed_for_it(pods: int) -> None:
    # S1: one pod was bound, and the victim took the other nodes back.
    async with contest([*nodes(4), job("low", 4)]) as live:
        assert len(await live.running("low")) == 4
        await live.create(job("high", pods, "high"))
        await live.settle(10)

        assert len(await live.running("high")) == pods
        # The victim is elastic, so it is only shrunk.
        assert len(live.api.evicted) == pods
        assert len(await live.running("low")) == 4 - pods


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.02, 0.1, 0.2])
async def test_a_preemptor_of_which_pods_still_arrive_is_not_kept_waiting(gap: float) -> None:
    # S2: a plan for the first pod alone was dropped, and put back over the newer decision, for ever.
    async with contest([*nodes(4), *gang("low", 4, minimum=1)]) as live:
        await live.create(pod_group("high", minMember=1, priorityClassName="high"))
        for number in range(3):
            await live.create(member("high", number))
            await live.settle(gap, step=gap or 0.001)
        await live.settle(10)

        assert await live.running("high") == {"high-0", "high-1", "high-2"}
        assert len(live.api.evicted) == 3
        assert live.recorder.reports == [("preempting", "high"), ("displaced", "low", "high")]


async def test_no_pod_of_a_gang_is_evicted_while_a_budget_does_not_allow_the_whole_gang() -> None:
    # S3: one pod was evicted, the other refused for ever, and both gangs were broken.
    settings = Settings(preemption=Limits(eviction_deadline=60))
    async with contest([*nodes(2), *gang("low", 2), budget("b", "low", 1)], settings) as live:
        await live.create(*gang("high", 2, "high"))
        await live.settle(50)
        assert live.api.evicted == live.api.refused == []
        assert await live.running("low") == {"low-0", "low-1"}

        await live.settle(15)
        assert live.recorder.endings == [Ending.BUDGET_EXHAUSTED]
        await live.cluster.delete(await _budgets(live), "b", namespace="default")
        await live.settle(30)
        assert await live.running() == {"high-0", "high-1"}


async def test_victims_without_a_budget_are_chosen_before_those_that_must_wait_for_one() -> None:
    low = [*gang("guarded", 2), *gang("other", 2, "middle"), budget("b", "guarded", 1)]
    async with contest([*nodes(4), *low]) as live:
        await live.create(*gang("high", 2, "high"))
        await live.settle(10)

        assert set(live.api.evicted) == {"other-0", "other-1"}
        assert await live.running() == {"guarded-0", "guarded-1", "high-0", "high-1"}


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(TooManyRequestsError("later"), id="429"),
        pytest.param(InternalServerError("broken"), id="500"),
    ],
)
async def test_no_further_unit_is_broken_while_an_eviction_is_refused(error: Any) -> None:
    async with contest([*nodes(4), *gang("a", 2), *gang("b", 2)]) as live:
        live.api.errors["a-0"] = [error] * 3
        await live.create(*gang("high", 4, "high"))
        for _ in range(20):
            await live.settle(0.5)
            if "a-0" not in live.api.evicted:
                assert not {"b-0", "b-1"} & set(live.api.evicted)
        await live.settle(10)

        assert live.api.refused == ["a-0"] * 3
        assert len(await live.running("high")) == 4


async def test_a_queue_at_its_limit_preempts_within_itself_and_stays_so() -> None:
    # S5, S17: the victim's usage was not released, the preemptor refused, the victim placed again, for ever.
    objects = [*nodes(1), queue("q", quota=6, limit=6), *gang("low", 4, gpus=1, queue="q")]
    async with contest(objects) as live:
        assert len(await live.running("low")) == 4
        await live.create(*gang("high", 2, "high", gpus=2, queue="q"))
        for _ in range(10):
            await live.settle(6)
            pods = await live.pods()
            await live.create(*(member("low", i, gpus=1) for i in range(4) if f"low-{i}" not in pods))

        assert await live.running() == {"high-0", "high-1"}
        assert sorted(live.api.evicted) == ["low-0", "low-1", "low-2", "low-3"]


async def test_a_preemptor_at_the_limit_of_its_queue_is_bound_when_its_victim_is_gone() -> None:
    # S5: the usage of the victim, of which no pod was left, was charged for ever.
    objects = [*nodes(1, gpus=2), queue("q", quota=1, limit=1), *gang("train", 1, gpus=1, queue="q")]
    async with contest(objects) as live:
        await live.create(*gang("build", 1, "high", gpus=1, queue="q"))
        await live.settle(5)

        assert await live.running() == {"build-0"}


async def test_a_queue_is_not_charged_any_more_for_what_was_nominated_once_that_is_bound() -> None:
    objects = [*nodes(1), queue("q", quota=2, limit=2), *gang("low", 2, gpus=1, queue="q")]
    async with contest(objects) as live:
        await live.create(*gang("high", 2, "high", gpus=1, queue="q"))
        await live.settle(5)
        assert await live.running() == {"high-0", "high-1"}
        for name in ("high-0", "high-1"):
            await live.cluster.delete(PODS, name, namespace="default")
        await live.create(*gang("next", 2, gpus=1, queue="q"))
        await live.settle(5)

        assert await live.running() == {"next-0", "next-1"}


@pytest.mark.parametrize(
    ("low", "high"),
    [
        pytest.param([lone("low")], [lone("high", "high")], id="a single pod for a single pod"),
        pytest.param([lone("low")], gang("high", 1, "high"), id="a single pod for a gang"),
        pytest.param(gang("low", 1), [lone("high", "high")], id="a gang for a single pod"),
        pytest.param(
            [lone("low", nodeName="n0")], [lone("high", "high")], id="a single pod that was bound by others"
        ),
    ],
)
async def test_single_pods_are_victims_and_preemptors_like_any_other_unit(low: Any, high: Any) -> None:
    # S18
    async with contest([*nodes(1), *low]) as live:
        await live.create(*high)
        await live.settle(5)

        assert len(live.api.evicted) == 1
        assert len(await live.running("high")) == 1


async def test_pods_of_other_schedulers_and_of_the_same_priority_are_not_evicted() -> None:
    foreign = lone("foreign", nodeName="n0")
    foreign["spec"]["schedulerName"] = "default-scheduler"
    async with contest([*nodes(2), foreign, lone("equal", "high")]) as live:
        await live.create(lone("high", "high"))
        await live.settle(5)

        assert live.api.evicted == []


async def test_capacity_that_is_being_freed_is_nominated_and_nobody_is_evicted() -> None:
    low = [pod_group("old", minMember=1, priorityClassName="low"), member("old", 0, grace=30)]
    async with contest([*nodes(2), *low, lone("other", "middle")]) as live:
        await live.cluster.patch(
            PODS, "old-0", MergePatch({"metadata": {"finalizers": ["example.com/wait"]}}), namespace="default"
        )
        await live.cluster.delete(PODS, "old-0", namespace="default")
        await live.create(lone("high", "high"))
        await live.settle(5)
        assert live.api.evicted == []
        pods = await live.pods()
        assert pods["high"].status.nominated_node_name == pods["old-0"].spec.node_name
        await live.create(lone("late", "middle"))
        await live.settle(3)
        await live.cluster.patch(
            PODS, "old-0", MergePatch({"metadata": {"finalizers": None}}), namespace="default"
        )
        await live.settle(5)

        assert await live.running() == {"high", "other"}


async def test_a_scheduler_that_starts_keeps_what_another_nominated() -> None:
    # The victim leaves slowly; meanwhile the scheduler dies, and an equal unit arrives.
    low = [pod_group("low", minMember=2, priorityClassName="low"), *(member("low", i) for i in range(2))]
    async with contest([*nodes(2), *low]) as live:
        for i in range(2):
            patch = MergePatch({"metadata": {"finalizers": ["example.com/wait"]}})
            await live.cluster.patch(PODS, f"low-{i}", patch, namespace="default")
        await live.create(*gang("high", 2, "high"))
        await live.settle(3)
        assert sorted(live.api.evicted) == ["low-0", "low-1"]
        assert {pod.status.nominated_node_name for pod in (await live.pods()).values()} >= {"n0", "n1"}
        await live.restart()
        await live.create(*gang("late", 2, "high"))
        await live.settle(3)
        for i in range(2):
            patch = MergePatch({"metadata": {"finalizers": None}})
            await live.cluster.patch(PODS, f"low-{i}", patch, namespace="default")
        await live.settle(5)

        assert await live.running() == {"high-0", "high-1"}
        assert sorted(live.api.evicted) == ["low-0", "low-1"]


async def test_a_nomination_is_cleared_when_its_plan_ends_without_a_binding() -> None:
    settings = Settings(preemption=Limits(nomination_deadline=20))
    low = [*gang("low", 2)]
    async with contest([*nodes(2), *low], settings) as live:
        for i in range(2):
            patch = MergePatch({"metadata": {"finalizers": ["example.com/wait"]}})
            await live.cluster.patch(PODS, f"low-{i}", patch, namespace="default")
        await live.create(*gang("high", 2, "high"))
        await live.settle(5)
        assert (await live.pods())["high-0"].status.nominated_node_name
        await live.settle(18)

        # It backs off; then it counts on the same pods again, which are still leaving.
        assert live.recorder.endings == [Ending.NOT_BOUND]
        assert not (await live.pods())["high-0"].status.nominated_node_name
        await live.settle(10)
        assert (await live.pods())["high-0"].status.nominated_node_name
        assert len(live.api.evicted) == 2


async def test_a_nomination_outlasts_the_grace_period_of_pods_that_were_being_deleted_already() -> None:
    settings = Settings(preemption=Limits(nomination_deadline=20))
    old = [pod_group("old", minMember=1, priorityClassName="low"), member("old", 0, grace=60)]
    async with contest([*nodes(1), *old], settings) as live:
        await _hold(live, "old-0")
        await live.cluster.delete(PODS, "old-0", namespace="default")
        await live.create(lone("high", "high"))
        await live.settle(70)
        assert live.recorder.endings == []
        assert (await live.pods())["high"].status.nominated_node_name == "n0"

        await live.settle(20)
        assert live.recorder.endings == [Ending.NOT_BOUND]


def _hold(live: Any, *names: str) -> Any:
    """Let pods leave only when they are let go."""
    return _finalize(live, names, ["example.com/wait"])


def _let_go(live: Any, *names: str) -> Any:
    return _finalize(live, names, None)


async def _finalize(live: Any, names: Any, finalizers: Any) -> None:
    for name in names:
        patch = MergePatch({"metadata": {"finalizers": finalizers}})
        await live.cluster.patch(PODS, name, patch, namespace="default")


async def test_units_of_the_same_priority_do_not_take_what_is_nominated() -> None:
    async with contest([*nodes(2), *gang("low", 2)]) as live:
        await _hold(live, "low-0", "low-1")
        await live.create(*gang("first", 2, "high"))
        await live.settle(2)
        # One node is free now, and nominated; the other is still held.
        await _let_go(live, "low-0")
        await live.create(lone("late", "high"), lone("later", "high"))
        await live.settle(5)
        assert await live.running() == set()

        await _let_go(live, "low-1")
        await live.settle(5)
        assert await live.running() == {"first-0", "first-1"}


@pytest.mark.parametrize(
    ("number", "gpus"),
    [pytest.param(2, 8, id="one of two nodes"), pytest.param(1, 4, id="half of a node")],
)
async def test_a_unit_of_a_higher_priority_takes_what_is_nominated_and_the_plan_ends(
    number: int, gpus: int
) -> None:
    async with contest([*nodes(number), *gang("low", 2, gpus=gpus)]) as live:
        await _hold(live, "low-0", "low-1")
        await live.create(*gang("first", 2, "middle", gpus=gpus))
        await live.settle(2)
        await _let_go(live, "low-0")
        await live.create(lone("urgent", "high", gpus=gpus))
        await live.settle(3)

        assert await live.running() == {"urgent"}
        assert live.recorder.endings == [Ending.NO_LONGER_FITS]
        await _let_go(live, "low-1")
        await live.cluster.delete(PODS, "urgent", namespace="default")
        await live.settle(30)
        assert await live.running() == {"first-0", "first-1"}


@pytest.mark.parametrize("change", ["relabelled", "cordoned"])
async def test_a_plan_ends_when_a_nominated_node_leaves_its_rack_or_is_cordoned(change: str) -> None:
    racks = [node(f"n{number}", rack=f"r{number // 2}") for number in range(4)]
    low = [*gang("low", 2), *gang("other", 2)]
    async with contest([topology("rack"), *racks, *low]) as live:
        await _hold(live, *(name for name in await live.running()))
        await live.create(*gang("high", 2, "high", topologyConstraint=together("rack")))
        await live.settle(2)
        nominated = (await live.pods())["high-0"].status.nominated_node_name
        patch: dict[str, Any] = {"spec": {"unschedulable": True}}
        if change == "relabelled":
            patch = {"metadata": {"labels": {"rack": "r9"}}}
        await live.cluster.patch(NODES, nominated, MergePatch(patch))
        await live.settle(30)
        assert live.recorder.endings == [Ending.NO_LONGER_FITS]
        await _let_go(live, *(name for name in await live.pods() if not name.startswith("high")))
        await live.settle(30)

        assert {"high-0", "high-1"} <= await live.running()
        assert len({(await live.pods())[f"high-{number}"].spec.node_name for number in range(2)}) == 2


async def test_an_elastic_unit_is_not_bound_in_part_while_its_victims_leave() -> None:
    async with contest([*nodes(2), *gang("low", 2)]) as live:
        await _hold(live, "low-0", "low-1")
        await live.create(*gang("high", 2, "high", minimum=1))
        await live.settle(2)
        await _let_go(live, "low-0")
        await live.settle(5)
        assert await live.running() == set()

        await _let_go(live, "low-1")
        await live.settle(2)
        assert await live.running() == {"high-0", "high-1"}


async def test_pods_that_arrive_during_a_plan_extend_it() -> None:
    async with contest([*nodes(3), *gang("a", 2), lone("b", "middle")]) as live:
        await _hold(live, "a-0", "a-1")
        await live.create(*gang("high", 2, "high", minimum=1))
        await live.settle(2)
        assert sorted(live.api.evicted) == ["a-0", "a-1"]
        await live.create(member("high", 2))
        await live.settle(3)
        assert sorted(live.api.evicted) == ["a-0", "a-1", "b"]
        await _let_go(live, "a-0", "a-1")
        await live.settle(3)

        assert await live.running() == {"high-0", "high-1", "high-2"}


@pytest.mark.parametrize("restarted", [False, True])
async def test_run_times_are_those_of_the_kubelet_whichever_scheduler_asks(*, restarted: bool) -> None:
    # The unit that ran longer is kept: less work is lost.
    async with contest([*nodes(2), lone("b-old")]) as live:
        await live.settle(60)
        await live.create(lone("a-young"))
        await live.settle(3)
        if restarted:
            await live.restart()
            await live.settle(3)
        await live.create(lone("high", "high"))
        await live.settle(5)

        assert live.api.evicted == ["a-young"]


async def test_the_minimum_run_time_is_counted_from_the_start_of_the_pods_after_a_restart() -> None:
    objects = [
        *nodes(1),
        queue("q", quota=8, limit=8, preemptMinRuntime="60s"),
        *gang("low", 1, queue="q"),
    ]
    async with contest(objects) as live:
        await live.settle(40)
        await live.restart()
        await live.create(*gang("high", 1, "high", queue="q"))
        await live.settle(12)
        assert live.api.evicted == []
        await live.settle(12)

        assert await live.running() == {"high-0"}


async def test_a_preemption_delay_is_counted_from_the_creation_of_the_unit() -> None:
    async with contest([*nodes(1), *gang("low", 1)]) as live:
        await live.create(*gang("high", 1, "high", preemptionDelay="30s"))
        await live.settle(10)
        await live.restart()
        await live.settle(17)
        assert live.api.evicted == []
        await live.settle(6)

        assert await live.running() == {"high-0"}


async def test_a_preemption_delay_is_counted_from_the_creation_of_a_unit_that_is_made_again() -> None:
    # Its predecessor of the same name was evicted long before.
    delayed = gang("again", 1, "middle", preemptionDelay="30s")
    async with contest([*nodes(1), *delayed]) as live:
        await live.create(lone("high", "high"))
        await live.settle(3)
        assert live.api.evicted == ["again-0"]
        await live.cluster.delete(POD_GROUPS, "again", namespace="default")
        await live.cluster.delete(PODS, "high", namespace="default")
        await live.create(*gang("low", 1))
        await live.settle(40)
        assert await live.running() == {"low-0"}
        await live.create(*delayed)
        await live.settle(27)
        assert live.api.evicted == ["again-0"]
        await live.settle(6)

        assert await live.running() == {"again-0"}


async def test_the_quota_of_pods_that_another_plan_is_to_evict_is_free_for_the_next_plan() -> None:
    low = [*gang("a", 1, gpus=1, queue="q"), *gang("b", 1, "middle", gpus=1, queue="q")]
    async with contest([*nodes(1), queue("q", quota=2, limit=2), *low]) as live:
        live.api.errors["a-0"] = [TooManyRequestsError("later")] * 100
        await live.create(*gang("first", 1, "high", gpus=1, queue="q"))
        await live.settle(3)
        assert live.api.evicted == []
        await live.create(*gang("second", 1, "high", gpus=1, queue="q"))
        await live.settle(5)

        assert live.api.evicted == ["b-0"]
        live.api.errors.clear()
        await live.settle(30)
        assert await live.running() == {"first-0", "second-0"}


async def test_the_victims_of_a_plan_that_waits_for_a_budget_are_open_to_others() -> None:
    # The budget lets one pod go, which is enough for the second unit.
    async with contest([*nodes(2), *gang("low", 2, minimum=1), budget("b", "low", 1)]) as live:
        await live.create(*gang("wide", 2, "high"))
        await live.settle(5)
        assert live.api.evicted == live.api.refused == []
        await live.create(lone("narrow", "high"))
        await live.settle(5)

        assert len(live.api.evicted) == len(await live.running("low")) == 1
        assert await live.running("narrow") == {"narrow"}


async def test_what_is_nominated_counts_once_in_what_its_queue_deserves() -> None:
    # The first queue wants 2 of 8 GPUs, so that the second may take back 6 while the first still waits.
    objects = [queue(name, quota=0, limit=8) for name in "ab"]
    low = [each for i in range(8) for each in gang(f"c{i}", 1, gpus=1, queue="c")]
    async with contest([*nodes(1), *objects, queue("c", quota=0, limit=8, priority=50), *low]) as live:
        await _hold(live, *(f"c{i}-0" for i in range(8)))
        await live.create(*gang("a", 2, gpus=1, queue="a"))
        await live.settle(5)
        assert len(live.api.evicted) == 2
        await live.create(*gang("b", 6, gpus=1, queue="b"))
        await live.settle(5)

        assert len(live.api.evicted) == 8


async def test_the_backoff_still_grows_when_a_plan_is_made_anew_because_its_unit_has_changed() -> None:
    settings = Settings(preemption=Limits(eviction_deadline=4, first_backoff=10))
    async with contest([*nodes(2), *gang("low", 2), budget("b", "low", 1)], settings) as live:
        await live.create(*gang("high", 2, "high"))
        await live.settle(17)
        assert live.recorder.endings == [Ending.BUDGET_EXHAUSTED]
        # The second plan waits for the budget by now.
        await live.create(member("high", 2))
        await live.settle(6)
        assert live.recorder.endings == [Ending.BUDGET_EXHAUSTED] * 2
        await live.cluster.delete(await _budgets(live), "b", namespace="default")
        await live.settle(13)
        assert live.api.evicted == []
        await live.settle(8)

        assert sorted(live.api.evicted) == ["low-0", "low-1"]


async def _budgets(live: Any) -> Any:
    return next(
        resource for resource in await live.cluster.resources() if resource.kind == "PodDisruptionBudget"
    )
