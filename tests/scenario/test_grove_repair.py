"""What Grove's operator mends: pods that fail, gangs that break, parts that somebody deletes or edits."""

from __future__ import annotations

import pytest

from closeknit.kube.port import DeleteOptions, Propagation
from closeknit.testing.controlling import controlling
from tests.scenario.groves import NODES, OPERATORS, all_parts, condition, phases, web


async def test_a_gang_that_has_lost_pods_for_too_long_is_made_anew() -> None:
    given = web(model=1, terminationDelay="10m")
    async with controlling(OPERATORS, *NODES, given, scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = {pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        broken = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await cluster.patch("Pod", "web-0-router-0", broken, subresource="status")
        await cluster.quiet()
        assert (await condition(cluster, "PodClique", "web-0-router", "MinAvailableBreached"))[
            "status"
        ] == "True"
        await cluster.settle(500)
        assert {pod["metadata"]["uid"] for pod in await cluster.every("Pod")} == before
        await cluster.settle(200)
        await cluster.quiet()
        after = {pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        assert len(after) == len(before)
        assert not after & before, "the whole gang is made anew"
        assert set((await phases(cluster)).values()) == {"Running"}
        assert "GangTerminated" in [each["reason"] for each in await cluster.every("Event")]


async def test_a_replica_of_a_scaling_group_that_can_be_spared_is_made_anew_alone() -> None:
    given = web(terminationDelay="10m")
    async with controlling(OPERATORS, *NODES, given, scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        broken = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await cluster.patch("Pod", "web-0-model-1-worker-0", broken, subresource="status")
        await cluster.settle(610)
        await cluster.quiet()
        after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        anew = {name for name in before if before[name] != after[name]}
        assert anew == {f"web-0-model-1-{each}" for each in ("leader-0", "worker-0", "worker-1")}
        assert set((await phases(cluster)).values()) == {"Running"}


async def test_a_failed_pod_is_replaced() -> None:
    async with controlling(OPERATORS, *NODES, web(model=1), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        uid = (await cluster.get("Pod", "web-0-router-0"))["metadata"]["uid"]
        await cluster.patch("Pod", "web-0-router-0", {"status": {"phase": "Failed"}}, subresource="status")
        await cluster.quiet()
        found = await cluster.get("Pod", "web-0-router-0")
        assert (found["metadata"]["uid"] != uid, found["status"]["phase"]) == (True, "Running")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("PodCliqueScalingGroup", "web-0-model"),
        ("PodClique", "web-0-model-0-worker"),
        ("PodClique", "web-0-router"),
        ("PodGang", "web-0"),
        ("PodGroup", "web-0-model-0"),
        ("Pod", "web-0-router-0"),
    ],
)
@pytest.mark.parametrize("propagation", [Propagation.BACKGROUND, Propagation.ORPHAN])
async def test_a_part_that_somebody_deletes_comes_back(
    kind: str, name: str, propagation: Propagation
) -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = await all_parts(cluster)
        await cluster.delete(kind, name, options=DeleteOptions(propagation=propagation))
        await cluster.settle(60)
        await cluster.quiet()
        assert await all_parts(cluster) == before
        assert set((await phases(cluster)).values()) == {"Running"}
        assert (await cluster.get("PodCliqueSet", "web"))["status"]["availableReplicas"] == 1


@pytest.mark.parametrize(
    ("kind", "name", "edit"),
    [
        ("PodClique", "web-0-router", {"spec": {"minAvailable": 7}}),
        ("PodClique", "web-0-router", {"metadata": {"labels": {"grove.io/podgang": "other"}}}),
        ("PodGang", "web-0", {"spec": {"podgroups": []}}),
        ("PodGroup", "web-0", {"spec": {"minMember": 1}}),
        ("PodCliqueScalingGroup", "web-0-model", {"spec": {"cliqueNames": ["leader"]}}),
        (
            "PodCliqueScalingGroup",
            "web-0-model",
            {"metadata": {"annotations": {"closeknit.dev/applied": "x"}}},
        ),
    ],
)
async def test_an_edit_of_a_part_is_undone(kind: str, name: str, edit: dict[str, object]) -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = await cluster.objects(kind)
        await cluster.patch(kind, name, edit)
        await cluster.quiet()
        assert await cluster.objects(kind) == before
