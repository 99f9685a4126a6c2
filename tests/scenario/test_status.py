"""What objects show of their units is what is true, however it came to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import EVENTS, NODES, PODS
from closeknit.testing.faulty_api import Fault, FaultyApi
from tests.scenario.bound import POD_GROUPS, TOPOLOGIES
from tests.scenario.reported import Cluster, running
from tests.unit.scheduler.objects import pod, pod_group, together, topology


def gang(pods: int = 3, level: str = "rack", **spec: Any) -> list[dict[str, Any]]:
    """A PodGroup that requires a level, and its pods."""
    made = pod_group("g", minMember=pods, **{"topologyConstraint": together(level), **spec})
    return [made, *(pod(f"p{i}", "g", gpus=2) for i in range(pods))]


async def bind(cluster: Cluster, **nodes: str) -> None:
    """Bind pods as another scheduler does."""
    for name, on in nodes.items():
        await cluster.api.bind(name, on, namespace="default")


# ------------------------------------------------------------------------------------------------ S22


async def test_a_pod_group_of_which_others_bound_all_pods_runs() -> None:
    group, *pods = gang(2)
    foreign = [{**each, "spec": {**each["spec"], "schedulerName": "other"}} for each in pods]
    async with running(group, foreign[0]) as cluster:
        assert await cluster.shown() == ("False", "NotReady")
        await cluster.create(foreign[1])
        await bind(cluster, p0="n0", p1="n1")
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.wrong() == []


async def test_a_pod_group_whose_pods_were_bound_before_they_were_annotated_runs() -> None:
    group, *_ = gang(2)
    lone = [pod(f"p{i}", gpus=2) for i in range(2)]
    async with running(group, *lone) as cluster:
        assert await cluster.shown() == ("False", "NotReady")
        for each in lone:
            patch = {"metadata": {"annotations": {"pod-group-name": "g"}}}
            await cluster.patch(PODS, each["metadata"]["name"], patch)
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.wrong() == []


@pytest.mark.parametrize("told_before", [True, False])
async def test_a_report_that_was_lost_in_a_crash_is_written_by_the_next_scheduler(
    *, told_before: bool
) -> None:
    group, *pods = gang(3)
    async with running(group, *pods[:1], start=False) as cluster:
        if told_before:
            cluster.start()
            await cluster.settle()
            assert await cluster.shown() == ("False", "NotReady")
            await cluster.kill()
        dying = FaultyApi(cast("KubernetesApi", cluster.api), _reports_that_it_runs, Fault.KILLED_BEFORE)
        cluster.start(dying)
        await cluster.create(*pods[1:])
        await cluster.settle()
        assert dying.killed.is_set()
        assert [each["spec"].get("nodeName") for each in (await cluster.api.list(PODS)).items].count(
            None
        ) == 0
        await cluster.kill()
        cluster.start()
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.wrong() == []


@pytest.mark.parametrize("surplus", ["none waits", "one pod waits"])
async def test_a_bound_pod_that_a_killed_scheduler_reported_to_wait_is_corrected_by_the_next_one(
    surplus: str,
) -> None:
    waiting = [pod("p9", "g", gpus=3)] * (surplus == "one pod waits")
    async with running(*gang(4), *waiting) as cluster:
        await cluster.kill()
        late = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        patch = MergePatch({"status": {"conditions": [late]}})
        await cluster.api.patch(PODS, "p0", patch, namespace="default", subresource="status")
        cluster.start()
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.wrong() == []


def _reports_that_it_runs(writes: Any) -> bool:
    return writes[-1].startswith("patch PodGroup") and any(each.startswith("bind") for each in writes)


async def test_nothing_is_written_at_a_start_where_objects_show_what_is_true() -> None:
    async with running(*gang(3), pod("single", gpus=1)) as cluster:
        await cluster.kill()
        again = FaultyApi(cast("KubernetesApi", cluster.api))
        cluster.start(again)
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert again.writes == []


# ------------------------------------------------------------------------------------------------ S15


async def _lose_level(cluster: Cluster) -> None:
    await cluster.patch(TOPOLOGIES, "tree", {"spec": {"levels": [{"nodeLabel": "zone"}]}})


async def _lose_topology(cluster: Cluster) -> None:
    await cluster.delete(TOPOLOGIES, "tree")


@pytest.mark.parametrize("lose", [_lose_level, _lose_topology])
async def test_a_pod_group_runs_whatever_becomes_of_its_topology(
    lose: Callable[[Cluster], Any],
) -> None:
    async with running(*gang(3)) as cluster:
        assert await cluster.shown() == ("True", "Scheduled")
        await lose(cluster)
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.shown(kind="TopologyConstraintSatisfied") == ("Unknown", "SpecificationInvalid")
        assert await cluster.wrong() == []

        if lose is _lose_topology:
            await cluster.create(topology("zone", "rack"))
        else:
            levels = [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]
            await cluster.patch(TOPOLOGIES, "tree", {"spec": {"levels": levels}})
        await cluster.settle()

        assert await cluster.shown(kind="TopologyConstraintSatisfied") == ("True", "Satisfied")
        assert await cluster.wrong() == []


async def test_a_constraint_that_is_tightened_over_running_pods_is_violated() -> None:
    async with running(*gang(5, "zone")) as cluster:
        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.shown(kind="TopologyConstraintSatisfied") is None
        await cluster.patch(POD_GROUPS, "g", {"spec": {"topologyConstraint": together("rack")}})
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        violated = ("False", "RequiredLevelViolated")
        assert await cluster.shown(kind="TopologyConstraintSatisfied") == violated
        assert ("Warning", "RequiredLevelViolated", "Scheduling") in await cluster.events("g")
        assert await cluster.wrong() == []


async def test_a_node_that_moves_to_another_rack_with_its_pods_breaks_their_constraint() -> None:
    async with running(*gang(3)) as cluster:
        on = {each["spec"]["nodeName"] for each in (await cluster.api.list(PODS)).items}
        assert len(on) == 2
        moved = min(on)
        await cluster.patch(NODES, moved, {"metadata": {"labels": {"rack": "elsewhere"}}})
        await cluster.settle()
        violated = ("False", "RequiredLevelViolated")
        assert await cluster.shown(kind="TopologyConstraintSatisfied") == violated
        assert await cluster.wrong() == []

        await cluster.patch(NODES, moved, {"metadata": {"labels": {"rack": f"r{int(moved[1:]) // 2}"}}})
        await cluster.settle()
        assert await cluster.shown(kind="TopologyConstraintSatisfied") == ("True", "Satisfied")
        assert await cluster.wrong() == []


async def test_pods_that_others_bind_outside_the_domain_break_the_constraint() -> None:
    group, *pods = gang(2)
    async with running(group, *pods) as cluster:
        on = {each["spec"]["nodeName"] for each in (await cluster.api.list(PODS)).items}
        far = next(f"n{i}" for i in (0, 2, 4) if not {f"n{i}", f"n{i + 1}"} & on)
        await cluster.create(pod("late", "g", gpus=0, scheduler="other"))
        await bind(cluster, late=far)
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.shown(kind="TopologyConstraintSatisfied") == ("False", "RequiredLevelViolated")
        assert await cluster.wrong() == []


async def test_a_surplus_pod_that_waits_leaves_its_pod_group_scheduled() -> None:
    async with running(*gang(4)) as cluster:
        await cluster.create(pod("more", "g", gpus=2))
        await cluster.settle()
        assert await cluster.shown() == ("True", "Scheduled")
        assert ("Warning", "FailedScheduling", "Scheduling") in await cluster.events("more")
        assert await cluster.wrong() == []

        # The running pods break what is required now, so the surplus fits nowhere at all.
        on = {each["spec"].get("nodeName") for each in (await cluster.api.list(PODS)).items} - {None}
        await cluster.patch(NODES, min(map(str, on)), {"metadata": {"labels": {"rack": "elsewhere"}}})
        await cluster.settle()
        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.wrong() == []


# ------------------------------------------------------------------------------------------------ S10


async def test_pods_have_the_events_of_kube_scheduler() -> None:
    group, *pods = gang(3)
    async with running(group, *pods, pod("single", gpus=1), pod("large", gpus=9)) as cluster:
        for name in ("p0", "p1", "p2", "single"):
            assert ("Normal", "Scheduled", "Binding") in await cluster.events(name)
        assert await cluster.events("large") == [("Warning", "FailedScheduling", "Scheduling")]
        found = (await cluster.api.list(EVENTS)).items
        single = await cluster.api.get(PODS, "single", namespace="default")
        (event,) = (each for each in found if each["regarding"]["name"] == "single")
        assert event["reportingController"] == "closeknit"
        assert event["regarding"]["uid"] == single["metadata"]["uid"]


async def test_a_single_pod_that_waited_shows_that_it_runs() -> None:
    async with running(*(pod(f"busy{i}", gpus=4, on=f"n{i}") for i in range(6)), pod("late")) as cluster:
        assert [reason for _, reason, _ in await cluster.events("late")] == ["FailedScheduling"]
        await cluster.delete(PODS, "busy0")
        await cluster.settle(15)

        assert ("Normal", "Scheduled", "Binding") in await cluster.events("late")
        assert await cluster.wrong() == []


async def test_pods_that_run_do_not_show_what_a_scheduler_that_was_killed_wrote_too_late() -> None:
    group, *pods = gang(2)
    async with running(group, *pods) as cluster:
        await cluster.kill()
        late = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        await cluster.patch(PODS, "p0", {"status": {"conditions": [late]}}, "status")
        cluster.start()
        await cluster.settle()

        assert await cluster.wrong() == []


# ----------------------------------------------------------------------------------------- others' writes


async def test_a_condition_that_others_overwrite_is_corrected_ever_more_seldom() -> None:
    async with running(*gang(3)) as cluster:
        wrong = {
            "type": "Scheduled",
            "status": "False",
            "reason": "NotReady",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        corrected = 0
        for _ in range(240):
            if await cluster.shown() == ("True", "Scheduled"):
                corrected += 1
                await cluster.patch(POD_GROUPS, "g", {"status": {"conditions": [wrong]}}, "status")
            await cluster.settle(0.5)
        # Two minutes of fighting.
        assert 4 <= corrected <= 12
        await cluster.settle(300)
        assert await cluster.shown() == ("True", "Scheduled")
        assert await cluster.wrong() == []


async def test_a_condition_that_is_removed_once_is_back_within_seconds() -> None:
    async with running(*gang(3)) as cluster:
        await cluster.patch(POD_GROUPS, "g", {"status": None}, "status")
        assert await cluster.shown() is None
        await cluster.settle()

        assert await cluster.shown() == ("True", "Scheduled")


async def test_a_pod_that_is_recreated_under_its_name_shows_why_it_waits() -> None:
    group, *pods = gang(9)
    async with running(group, *pods) as cluster:
        assert await cluster.wrong() == []
        await cluster.delete(PODS, "p3")
        await cluster.create(pods[3])
        await cluster.settle()

        assert await cluster.wrong() == []
        assert await cluster.shown() == ("False", "Unschedulable")
