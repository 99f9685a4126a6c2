"""Pods with claims to devices, bound by the scheduler: each claim gets devices of its own on its pod's node.

The same runs on the embedded cluster and, in ``make e2e``, on a real API server, where kube-controller-manager
makes claims from templates and takes back what ended pods had.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, RESOURCE_CLAIMS
from closeknit.kube.standins import run_standins
from closeknit.kube.standins.volumes import SELECTED_NODE
from tests.filters.claims import (
    claim,
    mounting,
    on_nodes,
    request,
    storage_class,
    volume,
    volume_claim,
)
from tests.scenario import bound, stored
from tests.scenario.claimed import check, claims, racks, results
from tests.scenario.controlled import connected
from tests.unit.scheduler.objects import pod, pod_group, together

REAL = "kube-apiserver"
AT_ONCE = DeleteOptions(grace_period=0)


@pytest.fixture(params=["embedded", pytest.param(REAL, marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    if request.param == REAL:
        async with connected(request.getfixturevalue("plane")) as real:
            yield real
            await bound.clear(real)
            await bound.cleared(real)
        return
    embedded = EmbeddedCluster(bound.DEFINITIONS)
    standins = asyncio.create_task(run_standins(embedded))
    yield embedded
    standins.cancel()
    await asyncio.gather(standins, return_exceptions=True)
    await embedded.close()


def gang(name: str, pods: int = 4, devices: int = 2) -> list[bound.Json]:
    """Pods in one rack, each with a claim of its own."""
    template = claim(f"{name}-devices", request("gpu.example", devices), template=True)
    claims = [{"name": "gpus", "resourceClaimTemplateName": f"{name}-devices"}]
    return [
        template,
        pod_group(name, minMember=pods, topologyConstraint=together("rack")),
        *(pod(f"{name}{i}", name, gpus=0, resourceClaims=claims) for i in range(pods)),
    ]


async def until_bound(api: KubernetesApi, *names: str) -> dict[str, str]:
    async with asyncio.timeout(120):
        while True:
            nodes = await bound.nodes_of(api)
            if all(nodes.get(each) for each in names):
                return nodes
            await asyncio.sleep(0.05)


async def test_a_selector_that_cannot_be_evaluated_keeps_no_other_claim_from_its_devices(
    api: KubernetesApi,
) -> None:
    numbers = str(list(range(110)))
    costly = f"{numbers}.all(a, {numbers}.all(b, a+b >= 0))"
    hostile = claim("hostile", request("gpu.example", 1, costly))
    group = pod_group("poor", minMember=1)
    poor = pod("poor0", "poor", gpus=0, resourceClaims=[{"name": "gpus", "resourceClaimName": "hostile"}])
    await bound.create(api, [*racks(), hostile, group, poor])
    async with bound.scheduling(api) as scheduler:
        # Its pod waits with a reason, and pods that come later are bound.
        await bound.told(api, "poor", "Unschedulable", 30)
        await bound.create(api, gang("a"))
        nodes = await until_bound(api, *(f"a{i}" for i in range(4)))
        assert scheduler.ready

    assert nodes["poor0"] == ""


async def test_a_gang_is_bound_with_devices_for_each_pod_in_one_rack(api: KubernetesApi) -> None:
    await bound.create(api, [*racks(), *gang("a")])
    async with bound.scheduling(api):
        nodes = await until_bound(api, *(f"a{i}" for i in range(4)))
        await check(api)

    assert {nodes[f"a{i}"] for i in range(4)} in ({"n0", "n1"}, {"n2", "n3"})
    assert [len(results(each)) for each in await claims(api)] == [2] * 4


async def test_of_two_gangs_that_do_not_both_fit_one_waits_until_the_other_has_gone(
    api: KubernetesApi,
) -> None:
    await bound.create(api, [*racks(number=1), *gang("a")])
    async with bound.scheduling(api):
        await until_bound(api, *(f"a{i}" for i in range(4)))
        await bound.create(api, gang("b"))
        await bound.told(api, "b", "Unschedulable")
        assert not any(node for name, node in (await bound.nodes_of(api)).items() if name.startswith("b"))
        await check(api)
        for i in range(4):
            await api.delete(PODS, f"a{i}", namespace="default", options=AT_ONCE)
        await until_bound(api, *(f"b{i}" for i in range(4)))
        await check(api)


async def test_pods_that_share_a_claim_run_on_the_node_of_its_devices(api: KubernetesApi) -> None:
    shared = [{"name": "gpus", "resourceClaimName": "shared"}]
    await bound.create(
        api,
        [
            *racks(),
            claim("shared", request("gpu.example", 3)),
            pod_group("s", minMember=3, topologyConstraint=together("rack")),
            *(pod(f"s{i}", "s", gpus=0, resourceClaims=shared) for i in range(3)),
        ],
    )
    async with bound.scheduling(api):
        nodes = await until_bound(api, "s0", "s1", "s2")
        await check(api)
        (only,) = await claims(api)
        assert len({nodes[each] for each in ("s0", "s1", "s2")}) == 1
        assert sorted(each["name"] for each in only["status"]["reservedFor"]) == ["s0", "s1", "s2"]

        await bound.create(api, [pod("late", gpus=0, resourceClaims=shared)])
        assert (await until_bound(api, "late"))["late"] == nodes["s0"]
        await check(api)


async def test_what_an_earlier_scheduler_allocated_counts_and_is_given_back_where_it_does_not_fit(
    api: KubernetesApi,
) -> None:
    """As after a crash: the claims of two pods of a gang have devices in two racks."""
    await bound.create(api, [*racks(hosts=1, devices=2), claim("one", request("gpu.example"))])
    await bound.create(api, [claim("two", request("gpu.example"))])
    for name, pool in (("one", "n0"), ("two", "n1")):
        await allocate(api, name, pool)
    await bound.create(
        api,
        [
            pod_group("g", minMember=2, topologyConstraint=together("rack")),
            *(
                pod(f"g-{name}", "g", gpus=0, resourceClaims=[{"name": "c", "resourceClaimName": name}])
                for name in ("one", "two")
            ),
        ],
    )
    async with bound.scheduling(api):
        nodes = await until_bound(api, "g-one", "g-two")
        await check(api)

    assert nodes["g-one"] == nodes["g-two"]


async def allocate(api: KubernetesApi, name: str, pool: str) -> None:
    """Give a claim the first device of a node, as another scheduler would."""
    found = await api.get(RESOURCE_CLAIMS, name, namespace="default")
    found["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    found = await api.replace(RESOURCE_CLAIMS, found)
    found["status"] = claim(name, allocated=[(pool, "gpu-0")])["status"]
    await api.replace(RESOURCE_CLAIMS, found, subresource="status")


# -------------------------------------------------------------------------------------- volumes


async def provide(api: KubernetesApi) -> None:
    """Make volumes as a provisioner would, where no stand-in does."""
    while True:
        await stored.provide(api)
        await asyncio.sleep(0.1)


async def test_volumes_are_made_where_a_gang_is_placed_and_its_class_allows_them(api: KubernetesApi) -> None:
    zonal = storage_class("zonal", "disk.example.com", "z1")
    zonal["allowedTopologies"][0]["matchLabelExpressions"][0]["key"] = "rack"
    zonal["allowedTopologies"][0]["matchLabelExpressions"][0]["values"] = ["r1"]
    await bound.create(
        api,
        [
            *racks(),
            zonal,
            *(volume_claim(f"data{i}", class_name="zonal") for i in range(2)),
            pod_group("v", minMember=2, topologyConstraint=together("rack")),
            *(pod(f"v{i}", "v", gpus=0, **mounting(f"data{i}")) for i in range(2)),
        ],
    )
    providing = asyncio.create_task(provide(api))
    async with bound.scheduling(api):
        nodes = await until_bound(api, "v0", "v1")
    providing.cancel()
    await asyncio.gather(providing, return_exceptions=True)

    assert {nodes["v0"], nodes["v1"]} <= {"n2", "n3"}
    for i in range(2):
        found = await api.get(PERSISTENT_VOLUME_CLAIMS, f"data{i}", namespace="default")
        assert found["spec"]["volumeName"]
        assert found["metadata"]["annotations"][SELECTED_NODE] == nodes[f"v{i}"]


async def test_ephemeral_volumes_are_made_on_the_nodes_of_a_gang_and_go_with_it(api: KubernetesApi) -> None:
    template = {"spec": volume_claim("x", class_name="disks")["spec"]}
    own: dict[str, Any] = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}
    await bound.create(
        api,
        [
            *racks(),
            storage_class("disks"),
            pod_group("v", minMember=2, topologyConstraint=together("rack")),
            *(pod(f"v{i}", "v", gpus=0, **own) for i in range(2)),
        ],
    )
    providing = asyncio.create_task(provide(api))
    async with bound.scheduling(api):
        nodes = await until_bound(api, "v0", "v1")
        for i in range(2):
            found = await api.get(PERSISTENT_VOLUME_CLAIMS, f"v{i}-scratch", namespace="default")
            assert found["spec"]["volumeName"]
            assert found["metadata"]["annotations"][SELECTED_NODE] == nodes[f"v{i}"]
            await api.delete(PODS, f"v{i}", namespace="default", options=AT_ONCE)
        async with asyncio.timeout(60):
            while (await api.list(PERSISTENT_VOLUME_CLAIMS)).items:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    providing.cancel()
    await asyncio.gather(providing, return_exceptions=True)


async def test_volumes_that_exist_are_bound_each_to_one_pod_on_its_node(api: KubernetesApi) -> None:
    local = [volume(f"local{i}", storageClassName="local", **on_nodes(f"n{i}")) for i in range(4)]
    for each in local:
        del each["status"]
    await bound.create(
        api,
        [
            *racks(),
            storage_class("local", "kubernetes.io/no-provisioner"),
            *local,
            *(volume_claim(f"data{i}", class_name="local") for i in range(2)),
            pod_group("v", minMember=2, topologyConstraint=together("rack")),
            *(pod(f"v{i}", "v", gpus=0, **mounting(f"data{i}")) for i in range(2)),
        ],
    )
    async with bound.scheduling(api):
        nodes = await until_bound(api, "v0", "v1")

    assert {nodes["v0"], nodes["v1"]} in ({"n0", "n1"}, {"n2", "n3"})
    for i in range(2):
        found = await api.get(PERSISTENT_VOLUME_CLAIMS, f"data{i}", namespace="default")
        assert found["spec"]["volumeName"] == f"local{nodes[f'v{i}'][1:]}"


async def test_a_gang_that_reaches_no_free_volume_waits(api: KubernetesApi) -> None:
    await bound.create(
        api,
        [
            *racks(),
            storage_class("local", "kubernetes.io/no-provisioner"),
            volume("elsewhere", storageClassName="local", **on_nodes("nowhere")),
            volume_claim("data", class_name="local"),
            pod_group("v", minMember=1, topologyConstraint=together("rack")),
            pod("v0", "v", gpus=0, **mounting("data")),
        ],
    )
    async with bound.scheduling(api):
        told = await bound.told(api, "v", "Unschedulable")

    assert not (await bound.nodes_of(api))["v0"]
    assert told["status"] == "False"
