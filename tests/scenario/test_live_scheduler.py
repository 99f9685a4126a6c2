"""The scheduler on an embedded cluster: what becomes of the objects that people create."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from closeknit.hub.keys import Key
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import claims, kai
from closeknit.hub.workload import Workload
from closeknit.kube.port import DeleteOptions, JsonPatch
from closeknit.kube.resources import NODES, PODS
from closeknit.kube.standins import run_standins
from closeknit.scheduler.gangs.states import BelowMinimum
from closeknit.scheduler.planning import AnyVerdict, Verdict
from closeknit.scheduler.preempt.preemptions import Plan
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from tests.kit.problems import Finding, finding, findings
from tests.unit.scheduler.living import living
from tests.unit.scheduler.objects import GPU, node, pod, pod_group, together, topology


def racks(number: int = 3, gpus: int = 4) -> list[dict[str, Any]]:
    """Racks of two nodes each, in one zone."""
    nodes = (node(f"n{i}", gpus, zone="z", rack=f"r{i // 2}") for i in range(2 * number))
    return [topology("zone", "rack"), *nodes]


def rack_of(name: str) -> str:
    """The rack that a node of these lies in; empty for none."""
    return f"r{int(name[1:]) // 2}" if name else ""


class Heard(Silence):
    """What was reported, in order."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.problems: dict[str, list[Finding]] = {}

    def placed(self, verdict: Verdict) -> None:
        self.said.append(("placed", verdict.workload.object.name))

    def waiting(
        self, verdict: AnyVerdict, plan: Plan | None = None, stored: Callable[[], None] | None = None
    ) -> None:
        super().waiting(verdict, plan, stored)
        self.said.append(("waiting", verdict.workload.object.name))
        self.problems[verdict.workload.object.name] = findings(verdict.problems)

    def released(self, workload: Workload, below: BelowMinimum) -> None:
        assert below.running
        self.said.append(("released", workload.object.name))

    def gone(self, key: Key) -> None:
        self.said.append(("gone", key.name))


async def test_a_lone_pod_is_bound_and_one_of_another_scheduler_is_left_alone() -> None:
    async with living([*racks(), pod("ours"), pod("theirs", scheduler="default-scheduler")]) as live:
        assert await live.nodes() == {"ours": "n0", "theirs": ""}


@pytest.mark.requirement("A5", "A6")
async def test_a_gang_is_bound_whole_in_one_rack() -> None:
    gang = [pod_group("g", minMember=4, topologyConstraint=together("rack"))]
    async with living([*racks(), *gang, *(pod(f"p{i}", "g", gpus=2) for i in range(4))]) as live:
        nodes = await live.nodes()

        assert len({rack_of(each) for each in nodes.values()}) == 1
        assert all(nodes.values())


@pytest.mark.requirement("A2", "A40")
async def test_nested_subgroups_share_a_zone_and_each_has_a_rack() -> None:
    subgroups = [
        {"name": "decode", "minSubGroup": 2, "topologyConstraint": together("zone")},
        *(
            {"name": name, "parent": "decode", "minMember": 2, "topologyConstraint": together("rack")}
            for name in ("leaders", "workers")
        ),
    ]
    pods = [
        pod(f"{name}-{i}", "g", gpus=4, subgroup=name) for name in ("leaders", "workers") for i in range(2)
    ]
    async with living([*racks(), pod_group("g", subGroups=subgroups, minSubGroup=1), *pods]) as live:
        nodes = await live.nodes()
        found = {name: {rack_of(nodes[f"{name}-{i}"]) for i in range(2)} for name in ("leaders", "workers")}

        assert all(len(each) == 1 for each in found.values())
        assert found["leaders"] != found["workers"]


@pytest.mark.requirement("A5", "A37", "A50")
async def test_nothing_is_bound_before_as_many_pods_exist_as_must_run() -> None:
    heard = Heard()
    gang = [pod_group("g", minMember=3), pod("p0", "g"), pod("p1", "g")]
    async with living([*racks(), *gang], reporter=heard) as live:
        assert set((await live.nodes()).values()) == {""}
        assert heard.problems["g"] == [
            finding(kai.PODS_MISSING, "spec.minMember", needed="3 pods", given="2 are there", missing=1)
        ]
        await live.create(pod("p2", "g"))
        await live.settle()

        assert all((await live.nodes()).values())


async def test_a_gated_pod_counts_when_its_gate_opens() -> None:
    gated = pod("p1", "g", schedulingGates=[{"name": "later"}])
    async with living([*racks(), pod_group("g", minMember=2), pod("p0", "g"), gated]) as live:
        assert set((await live.nodes()).values()) == {""}
        opened = JsonPatch([{"op": "remove", "path": "/spec/schedulingGates"}])
        await live.cluster.patch(PODS, "p1", opened, namespace="default")
        await live.settle()

        assert all((await live.nodes()).values())


@pytest.mark.requirement("A40")
async def test_a_subgroup_without_pods_is_left_out_where_fewer_will_do() -> None:
    subgroups = [{"name": name, "minMember": 2} for name in ("a", "b")]
    pods = [pod(f"a{i}", "g", subgroup="a") for i in range(2)]
    async with living([*racks(), pod_group("g", subGroups=subgroups, minSubGroup=1), *pods]) as live:
        assert all((await live.nodes()).values())
        await live.create(*(pod(f"b{i}", "g", subgroup="b") for i in range(2)))
        await live.settle()

        assert all((await live.nodes()).values())


async def test_what_others_bound_is_counted_the_moment_they_bind_it() -> None:
    foreign = [pod(f"f{i}", gpus=4, on=f"n{i}", scheduler="default-scheduler") for i in range(5)]
    gang = [pod_group("g", minMember=2, topologyConstraint=together("rack"))]
    pods = [pod(f"p{i}", "g", gpus=4) for i in range(2)]
    async with living([*racks(), *foreign, *gang, *pods]) as live:
        assert {(await live.nodes())[each] for each in ("p0", "p1")} == {""}
        await live.cluster.delete(PODS, "f4", namespace="default", options=DeleteOptions(grace_period=0))
        await live.settle()
        nodes = await live.nodes()

        assert {nodes["p0"], nodes["p1"]} == {"n4", "n5"}


@pytest.mark.requirement("A39", "A52")
async def test_later_pods_stay_in_the_rack_that_their_group_has() -> None:
    gang = [pod_group("g", minMember=2, topologyConstraint=together("rack"))]
    async with living([*racks(), *gang, *(pod(f"p{i}", "g", gpus=2) for i in range(2))]) as live:
        first = {rack_of(each) for each in (await live.nodes()).values()}
        await live.create(*(pod(f"q{i}", "g", gpus=2) for i in range(3)))
        await live.settle()
        nodes = await live.nodes()

        assert {rack_of(each) for each in nodes.values() if each} == first
        # The rack has room for two of the three, and the third waits rather than leave it.
        assert sorted(nodes.values()).count("") == 1


async def test_a_pod_with_a_claim_stays_pending_with_that_reason() -> None:
    heard = Heard()
    claim = pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "disk"}}])
    async with living([*racks(), claim, pod("q")], reporter=heard) as live:
        nodes = await live.nodes()

        assert nodes["p"] == ""
        assert nodes["q"]
        assert heard.problems["p"] == [
            finding(claims.NOT_IN_SIGHT, kind="PersistentVolumeClaim", name="disk")
        ]


async def test_a_pod_whose_group_is_missing_says_so_and_is_bound_when_it_comes() -> None:
    heard = Heard()
    async with living([*racks(), pod("p", "g")], reporter=heard) as live:
        assert heard.problems["p"] == [
            finding(
                kai.NO_SUCH_POD_GROUP,
                "metadata.annotations.pod-group-name",
                group="g",
                namespace="default",
                allowed=OneOf("g", (), more=None),
            )
        ]
        await live.create(pod_group("g", minMember=1))
        await live.settle()

        assert (await live.nodes())["p"]


async def test_a_job_with_the_label_of_a_queue_is_grouped_and_bound() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "default",
            "labels": {"kai.scheduler/queue": "team"},
            "annotations": {
                "kai.scheduler/topology": "tree",
                "kai.scheduler/topology-required-placement": "rack",
                "kai.scheduler/batch-min-member": "3",
            },
        },
        "spec": {
            "parallelism": 3,
            "completions": 3,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "schedulerName": "kai-scheduler",
                    "containers": [{"name": "main", "image": "pause", "resources": {"limits": {GPU: "2"}}}],
                }
            },
        },
    }
    async with living(racks()) as live:
        standins = asyncio.create_task(run_standins(live.cluster, clock=live.clock))
        await live.create(job)
        await live.settle(2)
        nodes = await live.nodes()
        standins.cancel()
        await asyncio.gather(standins, return_exceptions=True)

        assert len(nodes) == 3
        assert len({rack_of(each) for each in nodes.values()}) == 1
        assert all(nodes.values())


@pytest.mark.requirement("A42", "A52")
async def test_several_lost_nodes_are_replaced_together_and_near_what_runs() -> None:
    gang = [pod_group("g", minMember=6, topologyConstraint=together("zone"))]
    async with living([*racks(4), *gang, *(pod(f"p{i}", "g", gpus=4) for i in range(6))]) as live:
        before = await live.nodes()
        lost = [before["p1"], before["p2"]]
        for name in lost:
            await live.cluster.delete(NODES, name)
        for name in ("p1", "p2"):
            await live.cluster.delete(PODS, name, namespace="default", options=DeleteOptions(grace_period=0))
        await live.settle()
        await live.create(*(pod(f"r{i}", "g", gpus=4) for i in range(2)))
        await live.settle()
        after = await live.nodes()

        assert {after["r0"], after["r1"]}.isdisjoint(lost)
        assert all(after.values())
        assert {name: after[name] for name in before if name in after} == {
            name: before[name] for name in before if name in after
        }


async def test_a_gang_that_stays_below_its_minimum_is_released_after_its_grace() -> None:
    heard = Heard()
    gang = [pod_group("g", minMember=3, stalenessGracePeriod="20s"), *(pod(f"p{i}", "g") for i in range(3))]
    async with living([*racks(), *gang], reporter=heard) as live:
        await live.cluster.delete(PODS, "p0", namespace="default", options=DeleteOptions(grace_period=0))
        await live.settle(15)
        assert len(await live.nodes()) == 2
        await live.settle(10)

        assert ("released", "g") in heard.said
        gone = await live.cluster.list(PODS)
        assert all("deletionTimestamp" in each["metadata"] for each in gone.items)


async def test_a_dry_run_decides_and_binds_nothing() -> None:
    heard = Heard()
    objects = [*racks(), pod_group("g", minMember=2), pod("p0", "g"), pod("p1", "g"), pod("q")]
    async with living(objects, Settings(dry_run=True), heard) as live:
        assert set((await live.nodes()).values()) == {""}
        assert {name for what, name in heard.said if what == "placed"} == {"g", "q"}
