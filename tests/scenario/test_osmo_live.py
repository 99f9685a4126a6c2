"""OSMO's pools and workflows in a cluster, with the scheduler and stand-ins for kubelets.

The same on the embedded cluster and, in ``make e2e``, on a real API server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from closeknit.controllers.osmo import OPERATOR
from closeknit.dialects import Located, Source, written
from closeknit.kube.port import KubernetesApi
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import Controlled, controlling, crash_everywhere
from closeknit.testing.faulty_api import Fault
from tests.scenario.commands import EXAMPLES
from tests.scenario.controlled import clear, connected, left, real

__all__ = ["real"]

API = "osmo.closeknit.dev/v1alpha1"


def pool(*keys: str, name: str = "p", **fields: Any) -> dict[str, Any]:
    written = [{"key": key, "label": f"t/{key}"} for key in keys]
    spec = {"topology_keys": written, **fields}
    return {"apiVersion": API, "kind": "Pool", "metadata": {"name": name}, "spec": spec}


def node(name: str, **labels: str) -> dict[str, Any]:
    """A node with two GPUs."""
    amounts = {"cpu": "8", "memory": "64Gi", "pods": "32", "nvidia.com/gpu": "2"}
    metadata = {"name": name, "labels": {f"t/{key}": value for key, value in labels.items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def workflow(
    groups: Mapping[str, Mapping[str, Any]], seconds: int | None = None, name: str = "w"
) -> dict[str, Any]:
    """A workflow of groups of tasks; ``resource`` of a task is a rack's group, in which each has a GPU."""
    written = [
        {
            "name": group,
            "tasks": [
                {"name": task, "image": "i", "command": ["run"], **fields} for task, fields in tasks.items()
            ],
        }
        for group, tasks in groups.items()
    ]
    resources: dict[str, Any] = {"default": {"gpu": 1}}
    for named in ("one", "two"):
        resources[named] = {"gpu": 1, "topology": [{"key": "rack", "group": named}]}
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if seconds is not None:
        metadata["annotations"] = {"closeknit.dev/run-seconds": str(seconds)}
    spec = {"workflow": {"name": name, "pool": "p", "groups": written, "resources": resources}}
    return {"apiVersion": API, "kind": "Workflow", "metadata": metadata, "spec": spec}


RACKS = [node(f"{rack}-{i}", zone="z", rack=rack) for rack in ("a", "b", "c") for i in range(2)]
TWO_RACKS: dict[str, dict[str, Any]] = {
    "g": {
        "a1": {"resource": "one"},
        "a2": {"resource": "one"},
        "b1": {"resource": "two"},
        "b2": {"resource": "two"},
    }
}
CHAIN: dict[str, dict[str, Any]] = {"first": {"a": {}}, "second": {"b": {"inputs": [{"task": "a"}]}}}


async def told(cluster: Controlled, name: str = "w") -> str:
    """The status of a workflow in a line."""
    status = (await cluster.get("Workflow", name)).get("status") or {}
    groups = (
        f"{group['name']}[{group['phase']} "
        + " ".join(
            f"{task['name']}={task['phase']}" + (f"+{task['retries']}" if task["retries"] else "")
            for task in group["tasks"]
        )
        + "]"
        for group in status.get("groups", ())
    )
    return " ".join([status.get("phase", "-"), *groups])


async def pods(cluster: Controlled) -> dict[str, dict[str, Any]]:
    """Pods by task and number of retries, such as ``a`` and ``a+1``."""
    found = {}
    for pod in await cluster.every("Pod"):
        labels = pod["metadata"]["labels"]
        retries = labels["osmo.retry_id"]
        found[labels["osmo.task_name"] + (f"+{retries}" if retries != "0" else "")] = pod
    return found


async def conditions(cluster: Controlled, kind: str, name: str) -> dict[str, str]:
    found = (await cluster.get(kind, name))["status"]["conditions"]
    return {each["type"]: f"{each['status']} {each['reason']}" for each in found}


def in_cluster(*objects: Mapping[str, Any], real: KubernetesApi | None = None, **more: Any) -> Any:
    return controlling(
        [OPERATOR], *RACKS, pool("zone", "rack"), *objects, real=real, scheduler=True, standins=True, **more
    )


# ------------------------------------------------------------------------------------------- pools


@pytest.mark.requirement("O7", "O26", "O27")
async def test_a_pool_has_a_topology_of_its_keys_and_another_when_they_change(
    real: KubernetesApi | None,
) -> None:
    async with controlling([OPERATOR], pool("zone", "rack"), *RACKS, real=real) as cluster:
        await cluster.quiet()
        made = await cluster.get("Topology", "osmo-pool-p-topology")
        assert made["spec"]["levels"] == [
            {"nodeLabel": "t/zone", "alias": "zone"},
            {"nodeLabel": "t/rack", "alias": "rack"},
        ]
        assert await cluster.names("Queue") == ["osmo-default", "osmo-pool-p"]
        keys = pool("zone", "spine", "rack")["spec"]["topology_keys"]
        await cluster.patch("Pool", "p", {"spec": {"topology_keys": keys}})
        await cluster.quiet()
        other = await cluster.get("Topology", "osmo-pool-p-topology")
        assert [level["nodeLabel"] for level in other["spec"]["levels"]] == ["t/zone", "t/spine", "t/rack"]
        assert other["metadata"]["uid"] != made["metadata"]["uid"], "levels of a Topology cannot change"
        await cluster.patch("Pool", "p", {"spec": {"topology_keys": []}})
        await cluster.quiet()
        assert await cluster.names("Topology") == []
        assert (await cluster.get("Pool", "p"))["status"].get("topology") is None


@pytest.mark.requirement("O11")
async def test_a_pool_lists_its_keys_and_the_nodes_that_lack_them(real: KubernetesApi | None) -> None:
    bare = node("bare", zone="z")
    async with controlling([OPERATOR], pool("zone", "rack"), *RACKS, bare, real=real) as cluster:
        await cluster.quiet()
        status = (await cluster.get("Pool", "p"))["status"]
        assert (status["queue"], status["topology"]) == ("osmo-pool-p", "osmo-pool-p-topology")
        assert status["topologyKeys"] == [
            {"key": "zone", "label": "t/zone", "nodesWithout": 0, "nodes": []},
            {"key": "rack", "label": "t/rack", "nodesWithout": 1, "nodes": ["bare"]},
        ]
        assert (await conditions(cluster, "Pool", "p"))["NodesLabelled"] == "False NodesLackLabels"
        await cluster.patch("Node", "bare", {"metadata": {"labels": {"t/rack": "a"}}})
        await cluster.quiet()
        assert (await conditions(cluster, "Pool", "p")) == {
            "Accepted": "True Valid",
            "NodesLabelled": "True AllNodesLabelled",
            "Synchronized": "True Synchronized",
        }


async def test_pools_share_the_queue_above_theirs_until_the_last_is_gone(real: KubernetesApi | None) -> None:
    async with controlling([OPERATOR], pool("rack"), pool("rack", name="q"), real=real) as cluster:
        await cluster.quiet()
        await cluster.delete("Pool", "p")
        await cluster.quiet()
        assert {"osmo-default", "osmo-pool-q"} <= set(await cluster.names("Queue"))
        await cluster.delete("Pool", "q")
        await cluster.quiet()
        assert await left(cluster, "Queue", "Topology", "Pool") == {}


async def test_a_topology_that_somebody_else_made_is_left_alone_and_told_of(
    real: KubernetesApi | None,
) -> None:
    theirs = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "osmo-pool-p-topology"},
        "spec": {"levels": [{"nodeLabel": "x"}]},
    }
    async with controlling([OPERATOR], theirs, pool("rack"), real=real) as cluster:
        await cluster.quiet()
        assert (await cluster.get("Topology", "osmo-pool-p-topology"))["spec"] == theirs["spec"]
        assert (await conditions(cluster, "Pool", "p"))["Synchronized"] == "False NameTaken"
        await cluster.delete("Topology", "osmo-pool-p-topology")
        await cluster.quiet()
        assert (await conditions(cluster, "Pool", "p"))["Synchronized"] == "True Synchronized"


async def test_a_pool_that_becomes_wrong_keeps_what_it_has_made() -> None:
    async with controlling([OPERATOR], pool("rack")) as cluster:
        await cluster.quiet()
        await cluster.patch("Pool", "p", {"spec": {"default_platform": "x", "platforms": {"y": {}}}})
        await cluster.quiet()
        assert await cluster.names("Topology") == ["osmo-pool-p-topology"]
        assert (await conditions(cluster, "Pool", "p"))["Accepted"] == "False Invalid"
        assert "Invalid" in [each["reason"] for each in await cluster.every("Event")]


# --------------------------------------------------------------------------------------- workflows


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
        (said,) = (each for each in group["status"]["conditions"] if each["type"] == "Scheduled")
        assert said["message"].startswith("default/g-")
        assert "needs room for 5 pods in one t/rack; the best has room for 4" in said["message"]


async def test_groups_run_one_after_the_other_and_leave_a_record(real: KubernetesApi | None) -> None:
    async with in_cluster(workflow(CHAIN, seconds=4), real=real) as cluster:
        await cluster.settle(2)
        assert await told(cluster) == "RUNNING first[RUNNING a=RUNNING] second[WAITING b=WAITING]"
        assert list(await pods(cluster)) == ["a"]
        await cluster.settle(5)
        assert await told(cluster) == "RUNNING first[COMPLETED a=COMPLETED] second[RUNNING b=RUNNING]"
        await cluster.settle(5)
        await cluster.quiet()
        assert await told(cluster) == "COMPLETED first[COMPLETED a=COMPLETED] second[COMPLETED b=COMPLETED]"
        assert (await conditions(cluster, "Workflow", "w"))["Finished"] == "True Completed"
        assert await cluster.names("PodGroup") == []
        for pod in await cluster.names("Pod"):
            await cluster.delete("Pod", pod)
        await cluster.quiet()
        assert await cluster.names("Pod") == [], "what has ended is not run again"


async def fail(cluster: Controlled, pod: dict[str, Any], code: int) -> None:
    """Let a pod end now with an exit code."""
    annotations = {"closeknit.dev/run-seconds": "0", "closeknit.dev/exit-code": str(code)}
    await cluster.patch("Pod", pod["metadata"]["name"], {"metadata": {"annotations": annotations}})


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
    async with in_cluster(workflow(CHAIN, seconds=3), real=real) as cluster:
        await cluster.settle(1)
        await cluster.restart()
        await cluster.settle(5)
        await cluster.restart()
        await cluster.settle(5)
        await cluster.quiet()
        assert await told(cluster) == "COMPLETED first[COMPLETED a=COMPLETED] second[COMPLETED b=COMPLETED]"
        assert len(await cluster.names("Pod")) == 2


# ----------------------------------------------------------------------------------------- crashes


async def life(
    point: int | None, fault: Fault, real: KubernetesApi | None = None
) -> tuple[dict[str, Any], int]:
    """A workflow that is retried and goes on to its second group; what it comes to."""
    groups: dict[str, dict[str, Any]] = {
        "first": {
            "a": {"lead": True, "resource": "one", "exitActions": {"RESCHEDULE": "7"}},
            "x": {"resource": "two"},
        },
        "second": {"b": {"inputs": [{"task": "a"}]}},
    }
    nodes_are_told = {"node"}
    if real is not None:
        await clear(real)
    async with controlling(
        [OPERATOR],
        pool("rack"),
        *RACKS,
        workflow(groups),
        real=real,
        point=point,
        fault=fault,
        scheduler=True,
        standins=True,
    ) as cluster:
        await cluster.quiet()
        for task, code in (("a", 7), ("a+1", 0), ("b", 0)):
            await fail(cluster, (await pods(cluster))[task], code)
            await cluster.quiet()
        found = await cluster.objects("Workflow", "Pool", "Topology", "Queue", "PodGroup")
        found["pods"] = sorted(await pods(cluster))
        return _without(found, nodes_are_told), len(cluster.api.writes)


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(inner, names) for name, inner in value.items() if name not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


async def test_what_comes_of_it_after_a_fault_at_a_write() -> None:
    expected, writes = await life(None, Fault.UNSENT)
    assert expected["pods"] == ["a", "a+1", "b"]
    assert expected["Workflow default/w"]["status"]["phase"] == "COMPLETED"
    for point in range(0, writes, 7):
        found, _ = await life(point, Fault.KILLED_AFTER)
        assert found == expected, f"killed after write {point}"


@pytest.mark.slow
async def test_a_fault_at_every_write_comes_to_the_same() -> None:
    assert await crash_everywhere(life) > 50


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("fault", [Fault.KILLED_BEFORE, Fault.KILLED_AFTER, Fault.UNANSWERED])
async def test_a_fault_at_every_write_to_a_real_api_server(fault: Fault, plane: ControlPlane) -> None:
    async with connected(plane) as real:
        assert await crash_everywhere(lambda point, fault: life(point, fault, real), [fault]) > 20
