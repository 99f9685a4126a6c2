"""OSMO's workflows in a cluster, with the scheduler and stand-ins for kubelets.

The same on the embedded cluster and, in ``make e2e``, on a real API server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from closeknit.controllers.osmo import OPERATOR
from closeknit.dialects import Located, Source, written
from closeknit.hub.outcome import Shortfall
from closeknit.hub.shortfall import NoDomain
from closeknit.kube.port import KubernetesApi
from closeknit.scheduler import wording
from closeknit.testing.controlling import controlling
from tests.scenario.commands import EXAMPLES
from tests.scenario.controlled import left
from tests.scenario.osmo_objects import (
    CHAIN,
    RACKS,
    TWO_RACKS,
    conditions,
    fail,
    in_cluster,
    pods,
    pool,
    told,
    workflow,
)


@pytest.mark.requirement("O3", "O13", "O38", "O43")
async def test_a_workflow_runs_where_its_requirements_let_it(real: KubernetesApi | None) -> None:
    async with in_cluster(workflow(TWO_RACKS), real=real) as cluster:
        await cluster.quiet()
        assert await told(cluster) == "RUNNING g[RUNNING a1=RUNNING a2=RUNNING b1=RUNNING b2=RUNNING]"
        racks = {task: pod["spec"]["nodeName"].split("-")[0] for task, pod in (await pods(cluster)).items()}
        assert racks["a1"] == racks["a2"]
        assert racks["b1"] == racks["b2"]
        (group,) = await cluster.every("PodGroup")
        assert {
            task: pod["metadata"]["labels"]["kai.scheduler/subgroup-name"]
            for task, pod in (await pods(cluster)).items()
        } == {"a1": "one", "a2": "one", "b1": "two", "b2": "two"}
        assert {
            pod["metadata"]["annotations"]["pod-group-name"] for pod in (await pods(cluster)).values()
        } == {group["metadata"]["name"]}
        written = len(cluster.writes)
        await cluster.settle(5)
        assert cluster.writes[written:] == [], "a quiet cluster sees no writes"


def sample(workflow: str, on: str) -> list[Mapping[str, Any]]:
    """The pool of the design's examples, one of its workflows and one of the clusters that it draws."""
    files = [EXAMPLES / "osmo" / each for each in ("pool.yaml", f"{workflow}.yaml", f"clusters/{on}.yaml")]
    found = written([Source(file.name, file.read_bytes()) for file in files])
    objects = [each[1] for each in found if not isinstance(each, Located)]
    wanted = ("Pool", "Workflow", "Node")
    return sorted(
        (each for each in objects if each["kind"] in wanted), key=lambda each: wanted.index(each["kind"])
    )


GPU_CLIQUE, ZONE = "nvidia.com/gpu-clique", "topology.kubernetes.io/zone"
SPINE, RACK = "topology.kubernetes.io/spine", "topology.kubernetes.io/rack"


@pytest.mark.parametrize(
    ("workflow", "on", "level", "domains"),
    [
        pytest.param(
            "single-nvl72-rack",
            "use-case-1",
            GPU_CLIQUE,
            1,
            marks=pytest.mark.requirement("O1"),
            id="use case 1",
        ),
        pytest.param(
            "multiple-nvl72-racks",
            "use-case-2",
            GPU_CLIQUE,
            2,
            marks=pytest.mark.requirement("O3"),
            id="use case 2",
        ),
        pytest.param(
            "multiple-nvl72-same-zone",
            "use-case-3",
            ZONE,
            1,
            marks=pytest.mark.requirement("O4"),
            id="use case 3",
        ),
        pytest.param(
            "best-effort-topology",
            "use-case-4-one-spine",
            SPINE,
            1,
            marks=pytest.mark.requirement("O5"),
            id="use case 4",
        ),
        pytest.param(
            "best-effort-topology",
            "use-case-4-two-spines",
            RACK,
            2,
            marks=pytest.mark.requirement("O6", "O14"),
            id="use case 4 where it cannot be",
        ),
        pytest.param(
            "multiple-nvl72-racks",
            "use-case-1",
            GPU_CLIQUE,
            2,
            marks=pytest.mark.requirement("O43"),
            id="on another cluster",
        ),
    ],
)
async def test_the_designs_use_cases_run_where_they_should(
    workflow: str, on: str, level: str, domains: int, real: KubernetesApi | None
) -> None:
    async with controlling(
        [OPERATOR], *sample(workflow, on), real=real, scheduler=True, standins=True
    ) as cluster:
        await cluster.quiet()
        labels = {
            node["metadata"]["name"]: node["metadata"]["labels"] for node in await cluster.every("Node")
        }
        found: dict[str, set[str]] = {}
        for task, pod in (await pods(cluster)).items():
            found.setdefault(task.split("-")[0], set()).add(labels[pod["spec"]["nodeName"]][level])
        assert len(set.union(*found.values())) == domains
        assert {len(each) for each in found.values()} == {1}


@pytest.mark.requirement("O2", "O13")
async def test_a_requirement_that_cannot_be_met_keeps_a_workflow_waiting(real: KubernetesApi | None) -> None:
    tasks = {f"t{i}": {"resource": "one"} for i in range(5)}
    async with in_cluster(workflow({"g": tasks}), real=real) as cluster:
        await cluster.quiet()
        assert (
            await told(cluster) == f"PENDING g[SCHEDULING {' '.join(f't{i}=SCHEDULING' for i in range(5))}]"
        )
        (group,) = await cluster.every("PodGroup")
        name = f"default/{group['metadata']['name']}"
        needed = wording.need(Shortfall(name, NoDomain("t/rack"), 5, 4, (), (), ()))
        by_type = {condition["type"]: condition for condition in group["status"]["conditions"]}
        scheduled = by_type["Scheduled"]
        assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
        assert scheduled["message"].startswith(needed)


async def test_groups_run_one_after_the_other_and_leave_a_record(real: KubernetesApi | None) -> None:
    async with in_cluster(workflow(CHAIN), real=real) as cluster:
        await cluster.quiet()
        assert await told(cluster) == "RUNNING first[RUNNING a=RUNNING] second[WAITING b=WAITING]"
        assert list(await pods(cluster)) == ["a"]
        await fail(cluster, (await pods(cluster))["a"], 0)
        await cluster.quiet()
        assert await told(cluster) == "RUNNING first[COMPLETED a=COMPLETED] second[RUNNING b=RUNNING]"
        await fail(cluster, (await pods(cluster))["b"], 0)
        await cluster.quiet()
        assert await told(cluster) == "COMPLETED first[COMPLETED a=COMPLETED] second[COMPLETED b=COMPLETED]"
        assert (await conditions(cluster, "Workflow", "w"))["Finished"] == "True Completed"
        assert await cluster.names("PodGroup") == []
        for pod in await cluster.names("Pod"):
            await cluster.delete("Pod", pod)
        await cluster.quiet()
        assert await cluster.names("Pod") == [], "what has ended is not run again"


@pytest.mark.requirement("O38")
async def test_a_retried_task_keeps_its_subgroup_and_comes_back_to_its_rack(
    real: KubernetesApi | None,
) -> None:
    tasks = dict(TWO_RACKS["g"])
    tasks["b2"] = {"resource": "two", "exitActions": {"RESCHEDULE": "7"}}
    async with in_cluster(workflow({"g": tasks}), real=real) as cluster:
        await cluster.quiet()
        before = await pods(cluster)
        await fail(cluster, before["b2"], 7)
        await cluster.quiet()
        after = await pods(cluster)
        assert await told(cluster) == "RUNNING g[RUNNING a1=RUNNING a2=RUNNING b1=RUNNING b2=RUNNING+1]"
        first, second = after["b2"]["metadata"], after["b2+1"]["metadata"]
        assert second["labels"] == {**first["labels"], "osmo.retry_id": "1"}
        rack = before["b1"]["spec"]["nodeName"].split("-")[0]
        assert after["b2+1"]["spec"]["nodeName"].startswith(rack)
        await fail(cluster, after["b2+1"], 1)
        await cluster.quiet()
        assert (await told(cluster)).endswith("b1=RUNNING b2=FAILED+1]")
        (group,) = await cluster.every("PodGroup")
        assert [each["minMember"] for each in group["spec"]["subGroups"]] == [2, 1]


async def test_a_canceled_workflow_stops_and_leaves_its_record(real: KubernetesApi | None) -> None:
    async with in_cluster(workflow(CHAIN), real=real) as cluster:
        await cluster.quiet()
        await cluster.patch(
            "Workflow", "w", {"metadata": {"annotations": {"osmo.closeknit.dev/cancel": "true"}}}
        )
        await cluster.quiet()
        assert await left(cluster, "Pod", "PodGroup") == {}
        assert await told(cluster) == (
            "FAILED_CANCELED first[FAILED_CANCELED a=FAILED_CANCELED] second[FAILED_UPSTREAM b=FAILED_UPSTREAM]"
        )
        assert (await conditions(cluster, "Workflow", "w"))["Finished"] == "True Canceled"


async def test_what_is_deleted_or_changed_by_others_is_put_right(real: KubernetesApi | None) -> None:
    async with in_cluster(workflow(TWO_RACKS), real=real) as cluster:
        await cluster.quiet()
        before = await pods(cluster)
        (name,) = await cluster.names("PodGroup")
        await cluster.patch("PodGroup", name, {"spec": {"queue": "other", "subGroups": []}})
        labels = {"kai.scheduler/subgroup-name": "two", "mine": "kept"}
        await cluster.patch("Pod", before["a1"]["metadata"]["name"], {"metadata": {"labels": labels}})
        await cluster.quiet()
        await cluster.delete("Pod", before["b1"]["metadata"]["name"])
        await cluster.quiet()
        await cluster.delete("PodGroup", name)
        await cluster.quiet()
        after = await pods(cluster)
        assert await told(cluster) == "RUNNING g[RUNNING a1=RUNNING a2=RUNNING b1=RUNNING b2=RUNNING]"
        assert after["a1"]["metadata"]["labels"]["kai.scheduler/subgroup-name"] == "one"
        assert after["a1"]["metadata"]["labels"]["mine"] == "kept"
        assert after["b1"]["metadata"]["uid"] != before["b1"]["metadata"]["uid"]
        (group,) = await cluster.every("PodGroup")
        assert (group["spec"]["queue"], len(group["spec"]["subGroups"])) == ("osmo-pool-p", 2)


@pytest.mark.parametrize("first", ["Workflow", "Pool"])
async def test_in_whatever_order_things_go_nothing_is_left(first: str, real: KubernetesApi | None) -> None:
    names = {"Workflow": "w", "Pool": "p"}
    async with in_cluster(workflow(CHAIN), real=real) as cluster:
        await cluster.quiet()
        await cluster.delete(first, names.pop(first))
        await cluster.quiet()
        if first == "Pool":
            assert len(await cluster.names("Pod")) == 1, "what runs goes on"
            assert (await conditions(cluster, "Workflow", "w"))["Accepted"] == "False Invalid"
        ((kind, name),) = names.items()
        await cluster.delete(kind, name)
        await cluster.quiet()
        assert await left(cluster, "Workflow", "Pool", "Pod", "PodGroup", "Topology", "Queue") == {}


async def test_a_workflow_waits_for_its_pool(real: KubernetesApi | None) -> None:
    async with controlling(
        [OPERATOR], *RACKS, workflow(CHAIN), real=real, scheduler=True, standins=True
    ) as cluster:
        await cluster.quiet()
        assert (await conditions(cluster, "Workflow", "w"))["Accepted"] == "False Invalid"
        await cluster.create(pool("rack"))
        await cluster.quiet()
        assert await told(cluster) == "RUNNING first[RUNNING a=RUNNING] second[WAITING b=WAITING]"
        assert (await conditions(cluster, "Workflow", "w"))["Accepted"] == "True Valid"


async def test_a_workflow_of_the_same_name_starts_anew() -> None:
    async with in_cluster(workflow(CHAIN)) as cluster:
        await cluster.quiet()
        (before,) = await cluster.every("Pod")
        await cluster.delete("Workflow", "w")
        await cluster.create(workflow(CHAIN))
        await cluster.quiet()
        (after,) = await cluster.every("Pod")
        assert await told(cluster) == "RUNNING first[RUNNING a=RUNNING] second[WAITING b=WAITING]"
        assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_another_process_goes_on_in_the_middle(real: KubernetesApi | None) -> None:
    async with in_cluster(workflow(CHAIN), real=real) as cluster:
        await cluster.settle(1)
        await cluster.restart()
        await cluster.quiet()
        await fail(cluster, (await pods(cluster))["a"], 0)
        await cluster.restart()
        await cluster.quiet()
        await fail(cluster, (await pods(cluster))["b"], 0)
        await cluster.quiet()
        assert await told(cluster) == "COMPLETED first[COMPLETED a=COMPLETED] second[COMPLETED b=COMPLETED]"
        assert len(await cluster.names("Pod")) == 2
