"""Kueue itself on a real API server: what was recorded of it is so, and with it external we bind what it admits."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from closeknit.controllers.kueue.operator import KUEUE as OPERATOR
from closeknit.controllers.kueue.queue_status import observe_cluster_queue
from closeknit.controllers.operators import managed
from closeknit.controllers.runtime.state import ControllerState
from closeknit.dialects import DIALECTS
from closeknit.dialects.kueue.topologies import kueue_key
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.hub.keys import Key
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS
from closeknit.kube.rest import connect, load_access
from closeknit.live.following import kinds_read
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.control_plane.installed import published_definitions, real_kueue
from closeknit.testing.control_plane.programs import KUEUE
from closeknit.testing.controlling import Controlled, controlling
from tests.planes import chart_accounts, running_plane, skipped_without_go
from tests.scenario import kueue_sides
from tests.scenario.kueue_sides import Json

pytestmark = [pytest.mark.e2e, pytest.mark.kueue]
RECORDING = bool(os.environ.get("KUEUE_RECORD"))
_REASONS = "UnadmittedWorkloadsObservability=true"
"""The feature gate with which Kueue gives the reasons that we give; without it, they are all Pending."""

_PROBE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "probe", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "nobody"}},
    "spec": {"containers": [{"name": "main", "image": "train"}]},
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane on which Kueue runs with its own definitions and webhooks."""
    with running_plane() as running:
        with skipped_without_go():
            asyncio.run(_define(running))
            kueue = real_kueue(running, "batch/job", "pod", gates=(_REASONS,))
        with kueue.running():
            asyncio.run(_install(running, kueue.webhooks()))
            yield running


@asynccontextmanager
async def asking(plane: ControlPlane) -> AsyncIterator[KubernetesApi]:
    """The API server with the roles of the chart, and nothing on it afterwards."""
    async with chart_accounts(plane) as api:
        yield api
        await kueue_sides.clear(api)


async def _define(plane: ControlPlane) -> None:
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="scenario") as api:
        wanted = set()
        for each in published_definitions(KUEUE):
            wanted.add(each["spec"]["names"]["kind"])
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, each)
        async with asyncio.timeout(120):
            while not wanted <= {each.kind for each in await api.resources()}:  # noqa: ASYNC110
                await asyncio.sleep(0.2)


async def _install(plane: ControlPlane, webhooks: list[Json]) -> None:
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="scenario") as api:
        served = {each.kind: each for each in await api.resources()}
        for each in webhooks:
            await api.create(served[each["kind"]], each)

        async def is_asked() -> bool:
            """The API server asks webhooks a moment after they are written."""
            made = await api.create(PODS, _PROBE)
            await kueue_sides.clear(api)
            return bool(made["spec"].get("schedulingGates"))

        await until(is_asked)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Return when something holds; a busy machine takes its time."""
    for _ in range(600):
        if await holds():
            return
        await asyncio.sleep(0.2)
    raise AssertionError("It does not come to that.")


@pytest.mark.parametrize("case", kueue_sides.cases())
async def test_kueue_says_what_was_recorded(plane: ControlPlane, case: str) -> None:
    async with asking(plane) as api:
        await kueue_sides.submit(api, case, until)
        if RECORDING:
            await _record(api, case)
        wanted = kueue_sides.recorded()[case]

        async def is_so() -> bool:
            return await kueue_sides.told(api) == wanted

        try:
            await until(is_so)
        except AssertionError:
            found = await kueue_sides.told(api)
            assert list(kueue_sides.differences(wanted, found)) == []


async def _record(api: KubernetesApi, case: str) -> None:
    """Write down what Workloads say when they have said the same for some seconds."""
    said, since = await kueue_sides.told(api), time.monotonic()
    while time.monotonic() - since < 5:
        await asyncio.sleep(0.5)
        if (now := await kueue_sides.told(api)) != said:
            said, since = now, time.monotonic()
    every = {**(kueue_sides.recorded() if kueue_sides.RECORDED.exists() else {}), case: said}
    kueue_sides.RECORDED.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _job(name: str, pods: int, asked: str, level: str) -> Json:
    limits = {"nvidia.com/gpu": 1}
    container = {"name": "main", "image": "train", "resources": {"requests": limits, "limits": limits}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "team"},
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {
                "metadata": {"annotations": {f"kueue.x-k8s.io/podset-{asked}-topology": level}},
                "spec": {"schedulerName": "closeknit", "restartPolicy": "Never", "containers": [container]},
            },
        },
    }


JOBS = (
    _job("required", 6, "required", "example.com/rack"),
    _job("preferred", 10, "preferred", "example.com/rack"),
    _job("unconstrained", 5, "unconstrained", "true"),
)
"""Together 21 of the 24 GPUs that the queue has quota for."""


@pytest.mark.requirement("K63", "K64")
async def test_with_kueue_external_we_bind_what_it_admits_and_agree_on_usage(plane: ControlPlane) -> None:
    async with asking(plane) as api, controlling(managed({"kueue"}), real=api, scheduler=True) as cluster:
        for each in kueue_sides.steps("required-rack"):
            if each["kind"] != "Job":
                if each["kind"] == "ClusterQueue":
                    flavors = each["spec"]["resourceGroups"][0]["flavors"]
                    flavors[0]["resources"][0]["nominalQuota"] = 24
                await cluster.create(each)
        for job in JOBS:
            await cluster.create(job)
            await _until_bound(cluster, job["metadata"]["name"], job["spec"]["parallelism"])
        racks = {await _rack(cluster, node) for node in await _nodes(cluster, "required")}
        assert len(racks) == 1
        await _until_used(cluster, 21)

        await cluster.create(_job("later", 6, "required", "example.com/rack"))
        await until(lambda: _waits(api, "later"))
        await cluster.delete("Job", "required", options=kueue_sides.NOW)
        await _until_bound(cluster, "later", 6)
        await _until_used(cluster, 21)
        assert [line for line in cluster.log if not line.endswith(" told")] == []


async def _waits(api: KubernetesApi, owner: str) -> bool:
    said = (await kueue_sides.told(api)).get(owner, {}).get("conditions", {})
    return bool(said.get("QuotaReserved") == "False WaitingForQuota")


async def _nodes(cluster: Controlled, job: str) -> list[str]:
    pods = [each for each in await cluster.every("Pod") if each["metadata"]["labels"].get("job-name") == job]
    return [
        each["spec"].get("nodeName", "") for each in pods if not each["metadata"].get("deletionTimestamp")
    ]


async def _rack(cluster: Controlled, node: str) -> str:
    return str((await cluster.get("Node", node))["metadata"]["labels"]["example.com/rack"])


async def _until_bound(cluster: Controlled, job: str, pods: int) -> None:
    """Return when all pods of a Job are bound to the nodes that Kueue assigned, each to its own."""

    async def is_so() -> bool:
        await _end_pods(cluster)
        nodes = await _nodes(cluster, job)
        return len(nodes) == pods and all(nodes)

    await until(is_so)
    for pod in await cluster.every("Pod"):
        if pod["metadata"]["labels"].get("job-name") == job:
            assert pod["spec"]["nodeSelector"]["kubernetes.io/hostname"] == pod["spec"]["nodeName"]


async def _end_pods(cluster: Controlled) -> None:
    """What kubelets would do with pods that are to go."""
    for pod in await cluster.every("Pod"):
        if pod["metadata"].get("deletionTimestamp") and pod["metadata"].get("deletionGracePeriodSeconds"):
            with suppress(NotFoundError):
                await cluster.delete("Pod", pod["metadata"]["name"], options=kueue_sides.NOW)


async def _until_used(cluster: Controlled, gpus: int) -> None:
    """Return when Kueue says that so much is used, and what we make of the same objects agrees with that."""

    async def is_so() -> bool:
        status = (await cluster.get("ClusterQueue", "research"))["status"]
        said = [status["flavorsUsage"], status["flavorsReservation"], status["admittedWorkloads"]]
        return bool(
            status["flavorsUsage"][0]["resources"][0]["total"] == str(gpus) and said == await _seen(cluster)
        )

    await until(is_so)
    bound = sum(bool(each["spec"].get("nodeName")) for each in await cluster.every("Pod"))
    assert bound == gpus


async def _seen(cluster: Controlled) -> list[Any]:
    """What our operator would say of the queue, from the same objects."""
    kinds = kinds_read(DIALECTS, OPERATOR.kinds)
    state = ControllerState(DIALECTS, kinds, OPERATOR.indexes, schedulers=SCHEDULERS)
    served = {(each.group, each.kind): each for each in reversed(await cluster.cluster.resources())}
    for kind in kinds:
        resource = served.get((kind.group, kind.kind))
        if resource is None:
            continue
        for obj in (await cluster.cluster.list(resource)).items:
            meta = obj["metadata"]
            key = Key(kind.group, kind.kind, meta.get("namespace", ""), meta["name"])
            state.heard(kind, resource.api_version, key, obj)
    found = observe_cluster_queue(state.view, kueue_key("ClusterQueue", "research"))
    return [list(found.used), list(found.reserved), found.counts[2]]
