"""Kubernetes' own gangs, bound by the scheduler: whole, on nodes with one value of a label, or not at all.

The same runs on the embedded cluster and, in ``make e2e``, on a real API server that serves them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from closeknit.hub.sentences import kai
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import InvalidObjectError
from closeknit.kube.port import KubernetesApi, MergePatch
from closeknit.kube.resources import NODES, POD_GROUPS, PODS, WORKLOADS
from closeknit.testing.control_plane import ControlPlane
from tests.kit.problems import text
from tests.planes import running_plane
from tests.scenario import bound
from tests.scenario.commands import planned
from tests.scenario.controlled import connected

REAL = "kube-apiserver"
FLAGS = (
    "--feature-gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true",
    "--runtime-config=scheduling.k8s.io/v1alpha2=true",
)
TERMS = {
    "schedulingPolicy": {"gang": {"minCount": 3}},
    "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with running_plane(*FLAGS) as running:
        yield running


@pytest.fixture(params=["embedded", pytest.param(REAL, marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    if request.param == REAL:
        plane: ControlPlane = request.getfixturevalue("plane")
        async with connected(plane) as real:
            yield real
        return
    embedded = EmbeddedCluster(bound.DEFINITIONS, gang_api=True)
    yield embedded
    await embedded.close()


def node(name: str, rack: str, gpus: int) -> dict[str, Any]:
    labels = {"example.com/rack": rack, "kubernetes.io/hostname": name}
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "8", "memory": "8Gi", "pods": "32"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }


def pod(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {
        "schedulerName": "closeknit",
        "schedulingGroup": {"podGroupName": "g"},
        "containers": [container],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def objects(group: str = "g") -> list[tuple[Any, dict[str, Any]]]:
    kind = {"apiVersion": POD_GROUPS.api_version, "kind": "PodGroup"}
    template = {"workload": {"workloadName": group, "podGroupTemplateName": "workers"}}
    metadata = {"namespace": "default"}
    return [
        (NODES, node("a", "r1", 2)),
        (NODES, node("b", "r2", 2)),
        (
            WORKLOADS,
            {
                "apiVersion": WORKLOADS.api_version,
                "kind": "Workload",
                "metadata": {"name": group, **metadata},
                "spec": {"podGroupTemplates": [{"name": "workers", **TERMS}]},
            },
        ),
        (
            POD_GROUPS,
            {
                **kind,
                "metadata": {"name": group, **metadata},
                "spec": {"podGroupTemplateRef": template, **TERMS},
            },
        ),
    ]


async def condition(api: KubernetesApi, status: str, reason: str) -> str:
    """What the group's own condition says, as soon as it has this status and reason."""
    async with asyncio.timeout(120):
        while True:
            found = await api.get(POD_GROUPS, "g", namespace="default")
            for each in (found.get("status") or {}).get("conditions") or ():
                if (each["type"], each["status"], each["reason"]) == ("PodGroupScheduled", status, reason):
                    return str(each["message"])
            await asyncio.sleep(0.05)


async def test_a_gang_waits_for_its_pods_and_for_a_rack_and_is_then_bound_as_planned(
    api: KubernetesApi, tmp_path: Path
) -> None:
    given = objects()
    for resource, each in given:
        await api.create(resource, each)
    async with bound.scheduling(api):
        await api.create(PODS, pod("p0"))
        awaited = text(kai.PODS_MISSING, needed="3 pods", given="1 is there", missing=2)
        assert awaited in await condition(api, "False", "NotReady")
        for name in ("p1", "p2"):
            await api.create(PODS, pod(name))
        assert "example.com/rack" in await condition(api, "False", "Unschedulable")
        assert set((await bound.nodes_of(api)).values()) == {""}

        larger = node("c", "r2", 1)
        await api.create(NODES, larger)
        await condition(api, "True", "Scheduled")
        async with asyncio.timeout(120):
            while not all((nodes := await bound.nodes_of(api)).values()):  # noqa: ASYNC110 (as an operator would)
                await asyncio.sleep(0.05)
    file = tmp_path / "all.json"
    items = [*(each for _, each in given), larger, *(pod(f"p{i}") for i in range(3))]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    status, outcomes = planned(file)
    assert (status, nodes) == (0, {each["name"]: each["node"] for each in outcomes["g"]["pods"]})
    assert set(nodes.values()) == {"b", "c"}


async def test_what_a_group_asks_for_stands(api: KubernetesApi) -> None:
    # The server keeps a group of another test until its pods are gone.
    for resource, each in objects("other"):
        await api.create(resource, each)
    other = MergePatch({"spec": {"schedulingPolicy": {"gang": {"minCount": 9}}}})
    with pytest.raises(InvalidObjectError, match="immutable"):
        await api.patch(POD_GROUPS, "other", other, namespace="default", field_manager="test")
