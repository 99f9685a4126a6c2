"""Pods with claims to devices, bound by the scheduler: each claim gets devices of its own on its pod's node.

The same runs on the embedded cluster and, in ``make e2e``, on a real API server, where kube-controller-manager
makes claims from templates and takes back what ended pods had.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import PODS, RESOURCE_CLAIMS
from closeknit.kube.standins import run_standins
from closeknit.testing.control_plane import ControlPlane
from tests.filters.claims import claim, request
from tests.planes import running_plane
from tests.scenario import bound
from tests.scenario.claimed import check, claims, racks, results
from tests.scenario.controlled import connected
from tests.unit.scheduler.objects import pod, pod_group, together

REAL = "kube-apiserver"
AT_ONCE = DeleteOptions(grace_period=0)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with running_plane() as running:
        yield running


@pytest.fixture(params=["embedded", pytest.param(REAL, marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    if request.param == REAL:
        async with connected(request.getfixturevalue("plane")) as real:
            yield real
            await bound.clear(real)
            async with asyncio.timeout(60):
                while await claims(real):  # noqa: ASYNC110 (controllers take away what is left)
                    await asyncio.sleep(0.1)
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
