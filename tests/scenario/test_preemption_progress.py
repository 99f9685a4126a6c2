"""Every eviction leads to the binding of its preemptor, or to a recorded ending; nothing that is freed stays idle.

An embedded cluster in virtual time, with events that make a plan useless after it began.
"""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.errors import ApiError, ForbiddenError, InternalServerError, TooManyRequestsError
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import PODS
from closeknit.scheduler.preempt.preemptions import Ending
from closeknit.scheduler.settings import Settings
from tests.scenario.bound import POD_GROUPS, QUEUES
from tests.scenario.preemption import Contest, budget, contest, gang, lone, member, nodes, queue
from tests.unit.scheduler.objects import node, pod_group

WITHOUT_RESERVATIONS = Settings(reserving=False)


async def _hold(live: Contest, *pods: str) -> None:
    """Keep pods of which the deletion is accepted, as a slow kubelet does."""
    for pod in pods:
        await _patch_pod(live, pod, {"metadata": {"finalizers": ["example.com/wait"]}})


async def _let_go(live: Contest, *pods: str) -> None:
    for pod in pods:
        await _patch_pod(live, pod, {"metadata": {"finalizers": None}})


async def _patch_pod(live: Contest, pod: str, body: dict[str, Any]) -> None:
    await live.cluster.patch(PODS, pod, MergePatch(body), namespace="default")


@pytest.mark.parametrize("reserving", [True, False])
async def test_a_reservation_that_ends_lets_a_later_unit_preempt(*, reserving: bool) -> None:
    running = [*gang("top", 1, "high"), *gang("low", 1, gpus=4)]
    async with contest([*nodes(2), *running], Settings(reserving=reserving)) as live:
        # Nothing can ever help this one, and the first of the queue has a reservation.
        await live.create(*gang("big", 2, "high"))
        await live.settle(5)
        await live.create(*gang("later", 1, "high"))
        await live.settle(700, step=2)

        assert await live.running() == {"top-0", "later-0"}


async def test_a_nomination_without_victims_does_not_keep_out_a_unit_for_which_a_pod_was_evicted() -> None:
    queues = [queue("qa", quota=0, limit=-1), queue("qb", quota=8, limit=-1), queue("qo", quota=8, limit=-1)]
    running = [*gang("v", 1, gpus=4, queue="qa"), *gang("w", 1, gpus=4, queue="qo")]
    async with contest([*nodes(1), *queues, *running], WITHOUT_RESERVATIONS) as live:
        await _hold(live, "v-0", "w-0")
        await live.create(*gang("a", 1, "high", gpus=4, queue="qa"))
        await live.settle(2)
        assert live.api.evicted == ["v-0"]
        await live.cluster.delete(PODS, "w-0", namespace="default")
        await live.create(*gang("b", 1, gpus=4, queue="qb"))
        await live.settle(2)
        await live.create(*gang("c", 1, "high", gpus=4, queue="qb"))
        await live.settle(2)
        await _let_go(live, "w-0")
        await live.settle(3)
        await _let_go(live, "v-0")
        await live.settle(30)

        assert len(await live.running()) == 2
        assert live.recorder.endings == []


async def test_restored_nominations_for_the_same_capacity_do_not_block_each_other() -> None:
    queues = [queue(name, quota=0, limit=-1) for name in ("qa", "qb", "qo")]
    async with contest([*nodes(1), *queues, *gang("old", 1, queue="qo")]) as live:
        await _hold(live, "old-0")
        await live.cluster.delete(PODS, "old-0", namespace="default")
        await live.settle(1)
        await live.create(*gang("a", 1, queue="qa"))
        await live.settle(2)
        await live.create(*gang("b", 1, "high", queue="qb"))
        await live.settle(2)
        await live.restart()
        await live.settle(2)
        await _let_go(live, "old-0")
        await live.settle(30)

        assert await live.running() == {"b-0"}


async def test_a_plan_that_the_quota_does_not_allow_any_more_releases_what_was_freed() -> None:
    running = gang("a", 2, queue="q")
    async with contest([*nodes(2), queue("q", quota=16, limit=16), *running], WITHOUT_RESERVATIONS) as live:
        await _hold(live, "a-0", "a-1")
        await live.create(*gang("high", 2, "high", queue="q"))
        await live.settle(3)
        lower = MergePatch({"spec": {"resources": {"gpu": {"limit": 8, "quota": 8}}}})
        await live.cluster.patch(QUEUES, "q", lower)
        await live.settle(2)
        await _let_go(live, "a-0", "a-1")
        await live.create(*gang("x", 1, queue="q"), lone("alone"))
        await live.settle(30)

        assert await live.running() == {"x-0", "alone"}
        assert live.recorder.endings == [Ending.NO_LONGER_FITS]


@pytest.mark.parametrize("change", ["it is deleted", "another pod of it comes", "a budget forbids it"])
async def test_a_unit_does_not_wait_for_pods_that_another_plan_evicts_no_longer(change: str) -> None:
    async with contest([*nodes(1), *gang("low", 1)], WITHOUT_RESERVATIONS) as live:
        await live.create(*gang("mid", 1, "middle"))
        await live.settle(0.2, step=0.05)
        await live.create(*gang("high", 1, "high"))
        await live.settle(0.1, step=0.05)
        assert live.api.evicted == []
        match change:
            case "it is deleted":
                await live.cluster.delete(PODS, "mid-0", namespace="default")
                await live.cluster.delete(POD_GROUPS, "mid", namespace="default")
            case "another pod of it comes":
                await live.create(member("mid", 1))
            case _:
                await live.create(budget("keeps", "low", 1))
        await live.settle(10)
        if change == "a budget forbids it":
            assert (live.api.evicted, await live.running()) == ([], {"low-0"})
            await live.cluster.delete(await _budgets(live), "keeps", namespace="default")
            await live.settle(20)

        assert live.api.evicted == ["low-0"]
        assert await live.running() == {"high-0"}


async def _budgets(live: Contest) -> Any:
    resources = await live.cluster.resources()
    return next(resource for resource in resources if resource.kind == "PodDisruptionBudget")


async def test_another_victim_is_chosen_when_the_eviction_of_one_is_refused_for_good() -> None:
    running = [*gang("a", 1), *gang("c", 1, "middle")]
    async with contest([*nodes(2), *running], WITHOUT_RESERVATIONS) as live:
        live.api.errors["a-0"] = [ForbiddenError("no") for _ in range(100)]
        await live.create(*gang("high", 1, "high"))
        await live.settle(60)

        assert await live.running() == {"a-0", "high-0"}
        assert live.api.refused == ["a-0"]


@pytest.mark.parametrize("error", [ForbiddenError("no"), InternalServerError("the webhook fails")])
async def test_no_pod_is_evicted_again_for_a_set_of_which_another_pod_cannot_be(error: ApiError) -> None:
    async with contest([*nodes(2), *gang("a", 1), *gang("b", 1)], WITHOUT_RESERVATIONS) as live:
        live.api.errors["b-0"] = [error for _ in range(10_000)]
        await live.create(*gang("high", 2, "high"))
        for _ in range(180):
            await live.settle(5, step=1)
            if "a-0" not in await live.pods():
                await live.create(member("a", 0))

        assert live.api.evicted == ["a-0"]
        assert await live.running() == {"a-0", "b-0"}


async def test_a_restart_between_two_evictions_keeps_what_was_freed() -> None:
    async with contest([*nodes(2), *gang("a", 1), *gang("b", 1)], WITHOUT_RESERVATIONS) as live:
        await _hold(live, "a-0")
        live.api.errors["b-0"] = [TooManyRequestsError("later") for _ in range(4)]
        await live.create(*gang("high", 2, "high"))
        await live.settle(3)
        await live.restart()
        await live.create(lone("mid", "middle"))
        await live.settle(1)
        await _let_go(live, "a-0")
        await live.settle(60)

        assert await live.running() == {"high-0", "high-1"}
        assert sorted(live.api.evicted) == ["a-0", "b-0"]
        assert live.recorder.endings == []


@pytest.mark.parametrize(
    "change", [{"preemptibility": "non-preemptible"}, {"priorityClassName": "high"}], ids=str
)
async def test_a_victim_that_is_protected_by_now_is_not_evicted(change: dict[str, str]) -> None:
    async with contest([*nodes(2), *gang("a", 1), *gang("b", 1)], WITHOUT_RESERVATIONS) as live:
        live.api.errors["b-0"] = [TooManyRequestsError("later") for _ in range(20)]
        await live.create(*gang("high", 2, "middle"))
        await live.settle(3)
        await live.cluster.patch(POD_GROUPS, "b", MergePatch({"spec": change}), namespace="default")
        await live.settle(300, step=1)

        assert live.api.evicted == ["a-0"]
        assert "b-0" in await live.running()
        assert live.recorder.endings == [Ending.NO_LONGER_FITS]


async def test_a_victim_that_lost_a_pod_is_evicted_whole_though_it_is_protected_by_now() -> None:
    async with contest([*nodes(2), *gang("a", 2)], WITHOUT_RESERVATIONS) as live:
        live.api.errors["a-1"] = [TooManyRequestsError("later") for _ in range(4)]
        await live.create(*gang("high", 2, "middle"))
        await live.settle(3)
        assert live.api.evicted == ["a-0"]
        change = {"spec": {"preemptibility": "non-preemptible"}}
        await live.cluster.patch(POD_GROUPS, "a", MergePatch(change), namespace="default")
        await live.settle(60)

        assert live.api.evicted == ["a-0", "a-1"]
        assert await live.running() == {"high-0", "high-1"}
        assert live.recorder.endings == []


async def test_what_was_freed_for_a_unit_is_kept_for_it_when_its_plan_is_made_again() -> None:
    async with contest([*nodes(1), *gang("v", 1)], WITHOUT_RESERVATIONS) as live:
        await _hold(live, "v-0")
        # It precedes the other one, and its pod comes only when the plan was made again.
        await live.create(pod_group("older", minMember=1, priorityClassName="high"))
        await live.settle(3)
        await live.create(*gang("high", 1, "high"))
        await live.settle(3)
        assert live.api.evicted == ["v-0"]
        await live.create(member("high", 1))
        await live.settle(3)
        await live.create(member("older", 0))
        await live.settle(3)
        await _let_go(live, "v-0")
        await live.settle(30)

        assert await live.running() == {"high-0"}
        assert live.api.evicted == ["v-0"]


async def test_a_plan_that_was_to_wait_for_a_budget_is_decided_again_before_it_evicts() -> None:
    # Nothing is nominated for it meanwhile, so another unit may take the quota that it counts on.
    objects = [*nodes(3), node("small", 4), queue("q", quota=0, limit=18), budget("b", "low", 1)]
    async with contest([*objects, *gang("low", 1, queue="q")], WITHOUT_RESERVATIONS) as live:
        await live.create(*gang("wide", 2, "high", queue="q"))
        await live.settle(0.25)
        await live.create(*gang("narrow", 1, "high", gpus=4, queue="q"))
        await live.cluster.delete(await _budgets(live), "b", namespace="default")
        await live.settle(30)

        assert await live.running() == {"low-0", "narrow-0"}
        assert live.api.evicted == []


async def test_a_plan_that_begins_to_wait_for_a_budget_lets_others_have_what_it_kept() -> None:
    async with contest([*nodes(2), *gang("low", 1)], WITHOUT_RESERVATIONS) as live:
        await live.create(*gang("high", 2, "high"))
        await live.settle(0.2, step=0.1)
        # Without preemption for it, it is only tried again if it is woken.
        await live.create(lone("late", "middle", preemptionPolicy="Never"))
        await live.settle(0.1, step=0.1)
        assert await live.running() == {"low-0"}
        await live.create(budget("b", "low", 1))
        await live.settle(30)

        assert await live.running() == {"low-0", "late"}
        assert live.api.evicted == []
