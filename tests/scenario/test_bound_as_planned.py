"""Gangs of KAI's and OSMO's designs, bound on a cluster exactly as ``closeknit plan`` says.

The same cases run on the embedded cluster and, in ``make e2e``, on a real API server.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS
from closeknit.scheduler.settings import Settings
from closeknit.testing.control_plane import ControlPlane
from tests.scenario import bound
from tests.scenario.commands import EXAMPLES, planned, translated
from tests.scenario.controlled import connected

KAI, OSMO = EXAMPLES / "kai", EXAMPLES / "osmo"
REAL = "kube-apiserver"


@pytest.fixture(params=["embedded", pytest.param(REAL, marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    """A cluster with the definitions and nothing else."""
    if request.param == REAL:
        plane: ControlPlane = request.getfixturevalue("plane")
        async with connected(plane) as real:
            yield real
        return
    embedded = EmbeddedCluster(bound.DEFINITIONS)
    yield embedded
    await embedded.close()


def kai(*samples: str) -> list[bound.Json]:
    """The samples of KAI's design with their pods, and a cluster that is partly in use."""
    files = [KAI / f"{sample}{part}.yaml" for sample in samples for part in ("", "-pods")]
    made = bound.objects_in(KAI / "nodes.yaml", *files)
    if os.environ.get("PUBLISHED") == "1":
        # The design's spelling is none that KAI's own definition keeps.
        for each in made:
            if "subgroups" in each.get("spec", {}):
                each["spec"]["subGroups"] = each["spec"].pop("subgroups")
    return made


def osmo(workflow: str, cluster: str) -> list[bound.Json]:
    """What OSMO makes of a workflow, and the cluster that its design draws."""
    made = translated("kai", OSMO / "pool.yaml", OSMO / f"{workflow}.yaml")
    nodes = bound.objects_in(OSMO / "clusters" / f"{cluster}.yaml")
    there = {(each["kind"], each["metadata"]["name"]) for each in made}
    return [*(each for each in nodes if (each["kind"], each["metadata"]["name"]) not in there), *made]


CASES = [
    pytest.param(kai("sample1"), id="KAI sample 1, two subgroups that each require a rack"),
    pytest.param(kai("sample2"), id="KAI sample 2, subgroups in subgroups"),
    pytest.param(kai("sample1", "sample2"), id="both KAI samples on one cluster"),
    pytest.param(osmo("single-nvl72-rack", "use-case-1"), id="OSMO use case 1"),
    pytest.param(osmo("multiple-nvl72-racks", "use-case-2"), id="OSMO use case 2"),
    pytest.param(osmo("multiple-nvl72-same-zone", "use-case-3"), id="OSMO use case 3"),
    pytest.param(osmo("best-effort-topology", "use-case-4-one-spine"), id="OSMO use case 4, satisfied"),
    pytest.param(
        osmo("best-effort-topology", "use-case-4-two-spines"), id="OSMO use case 4, where it cannot be"
    ),
]


def plan_of(objects: list[bound.Json], folder: Path) -> dict[str, dict[str, str]]:
    """By PodGroup, the nodes that ``plan`` gives to its pods."""
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    status, outcomes = planned(file)
    assert status == 0
    return {name: {pod["name"]: pod["node"] for pod in outcome["pods"]} for name, outcome in outcomes.items()}


@pytest.mark.requirement("A26", "A50", "O43")
@pytest.mark.parametrize("objects", CASES)
async def test_bound_exactly_as_planned(
    api: KubernetesApi, objects: list[bound.Json], tmp_path: Path
) -> None:
    plan = plan_of(objects, tmp_path)
    assert sum(map(len, plan.values())) > 3

    await bound.create(api, objects)
    async with bound.scheduling(api):
        for group in plan:
            condition = await bound.told(api, group, "Scheduled")
            assert condition["status"] == "True"
    nodes = await bound.nodes_of(api)

    for pods in plan.values():
        assert {name: nodes[name] for name in pods} == pods
    for group in plan:
        await bound.event(api, group, "Normal", "Scheduled")
        assert (await bound.outcome(api, group))["status"] == "placed"


@pytest.mark.requirement("A5", "A16", "A38", "A51", "A53")
async def test_what_has_no_room_says_why_and_is_bound_when_room_comes(api: KubernetesApi) -> None:
    objects = kai("sample1")
    taken = next(each for each in objects if each["metadata"]["name"] == "node-3")
    others = [
        each
        for each in objects
        if each["kind"] != "Node" or each["metadata"]["name"] in ("node-1", "node-2", "node-5", "node-6")
    ]
    running = [each for each in others if each["kind"] == "Pod" and "nodeName" in each["spec"]]
    kept = [
        each for each in others if each not in running or each["spec"]["nodeName"] in ("node-5", "node-6")
    ]

    await bound.create(api, kept)
    async with bound.scheduling(api):
        condition = await bound.told(api, "sample1", "Unschedulable")
        assert condition["status"] == "False"
        assert condition["message"].startswith("default/sample1 ")
        for name in ("topology/rack", "subgroup-a"):
            assert name in condition["message"]
        await bound.event(api, "sample1", "Warning", "Unschedulable")
        outcome = await bound.outcome(api, "sample1")
        assert outcome["status"] == "unplaceable"
        short = outcome["shortfalls"][0]
        assert (short["group"], short["level"]) == ("default/sample1", None)
        assert (short["wanted"], short["fits"]) == (5, 4)
        level = {"change": "level", "group": "subgroup-a", "to": "topology/zone"}
        assert level in short["relaxations"]
        await pods_say_unschedulable(api)
        assert not any(node for name, node in (await bound.nodes_of(api)).items() if name.startswith("pod-"))

        await bound.create(api, [taken])
        condition = await bound.told(api, "sample1", "Scheduled")
        assert condition["status"] == "True"
    unschedulable = await bound.condition(api, "sample1", "Unschedulable")
    assert unschedulable is not None
    assert unschedulable["status"] == "False"


async def pods_say_unschedulable(api: KubernetesApi) -> None:
    async with asyncio.timeout(30):
        while True:
            found = [
                each for each in (await api.list(PODS)).items if each["metadata"]["name"].startswith("pod-")
            ]
            said = [
                (each["status"], each["reason"])
                for pod in found
                for each in pod["status"].get("conditions") or ()
                if each["type"] == "PodScheduled"
            ]
            if said == [("False", "Unschedulable")] * 5:
                return
            await asyncio.sleep(0.05)


async def test_a_dry_run_decides_and_writes_nothing(api: KubernetesApi) -> None:
    await bound.create(api, kai("sample1"))
    async with bound.scheduling(api, Settings(dry_run=True)) as instance:
        await bound.until(lambda: b'_count{status="placed"} 1.0' in instance.metrics.written())
        nodes = await bound.nodes_of(api)
        assert not any(node for name, node in nodes.items() if name.startswith("pod-"))
        assert await bound.condition(api, "sample1") is None


async def test_a_snapshot_is_planned_as_the_scheduler_decided(api: KubernetesApi, tmp_path: Path) -> None:
    """Of two gangs one is bound and one waits; the plan says of each what the scheduler said."""
    full = ("node-3", "node-4", "node-7", "node-8", "node-9", "node-10")
    objects = [each for each in kai("sample1", "sample2") if each["metadata"]["name"] not in full]
    there = {each["metadata"]["name"] for each in objects if each["kind"] == "Node"}
    objects = [each for each in objects if each.get("spec", {}).get("nodeName", "node-1") in there]
    await bound.create(api, objects)
    async with bound.scheduling(api) as instance:
        waiting = ("sample1", "sample2")
        for group in waiting:
            await bound.told(api, group, "Unschedulable")
        said = {group: await bound.outcome(api, group) for group in waiting}
        (tmp_path / "snapshot.json").write_bytes(b"".join(instance.probes().snapshot()))

    status, outcomes = planned(tmp_path / "snapshot.json")

    assert status == 3
    for group in waiting:
        assert outcomes[group]["status"] == said[group]["status"] == "unplaceable"
        assert outcomes[group]["shortfalls"] == said[group]["shortfalls"]


@pytest.mark.requirement("A37")
async def test_a_gang_waits_for_its_pods_and_a_snapshot_assumes_none(
    api: KubernetesApi, tmp_path: Path
) -> None:
    objects = kai("sample1")
    late = [each for each in objects if each["metadata"]["name"] == "pod-a1"]
    await bound.create(api, [each for each in objects if each not in late])
    async with bound.scheduling(api) as instance:
        await bound.told(api, "sample1", "NotReady")
        (tmp_path / "snapshot.json").write_bytes(b"".join(instance.probes().snapshot()))
        assert not any(node for name, node in (await bound.nodes_of(api)).items() if name.startswith("pod-"))
        await bound.create(api, late)
        await bound.told(api, "sample1", "Scheduled")

    status, outcomes = planned(tmp_path / "snapshot.json")

    assert (status, outcomes["sample1"]["status"]) == (2, "invalid")
    assert [each["code"] for each in outcomes["sample1"]["problems"]] == ["pods-missing"]
