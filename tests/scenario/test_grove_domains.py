"""The constraint of a PodCliqueSet holds for all gangs of one replica, which are scheduled one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import Controlled, controlling
from tests.scenario.groves import OPERATORS, Json, binding, clique, clique_set, node, packed

ZONES = binding("dc", "zone", "rack")


def racks(zone: str, gpus: int, number: int) -> list[Json]:
    """So many racks of one node in a zone."""
    return [node(f"{zone}-n{i}", gpus, zone=zone, rack=f"{zone}-r{i}") for i in range(number)]


def inference(*, replicas: int = 1, models: int = 3, required: str = "zone", group: str = "") -> Json:
    """A router of 2 GPUs, and replicas of a model of 8 GPUs each, of which one is part of the base gang."""
    scaling: Json = {"name": "model", "cliqueNames": ["worker"], "replicas": models, "minAvailable": 1}
    if group:
        scaling["topologyConstraint"] = packed("dc", group)
    return clique_set(
        "web",
        clique("router", gpus=2),
        clique("worker", 2, gpus=4),
        replicas=replicas,
        groups=[scaling],
        topologyConstraint=packed("dc", required),
    )


async def zones(cluster: Controlled, set_replica: str = "web-0") -> Counter[str]:
    """How many pods of one replica of the set run in each zone; the empty name stands for pods without a node."""
    pods = await cluster.every("Pod")
    return Counter(
        pod["spec"].get("nodeName", "").partition("-")[0]
        for pod in pods
        if pod["metadata"]["name"].startswith(f"{set_replica}-")
    )


@pytest.mark.parametrize("group", ["", "rack"])
@pytest.mark.parametrize("order", [1, -1])
async def test_the_first_gang_goes_where_the_whole_replica_fits(
    group: str, order: int, real: KubernetesApi | None
) -> None:
    """S16: zone a has room for the base gang alone, and is the tighter one for it."""
    nodes = [*racks("a", 8, 2), *racks("b", 8, 5)][::order]
    async with controlling(
        OPERATORS, ZONES, *nodes, inference(group=group), scheduler=True, standins=True, real=real
    ) as cluster:
        await cluster.quiet()

        assert await zones(cluster) == {"b": 7}


async def test_a_gang_that_comes_later_goes_where_its_replica_runs() -> None:
    nodes = [*racks("a", 8, 4), *racks("b", 8, 8)]
    async with controlling(
        OPERATORS, ZONES, *nodes, inference(models=1), scheduler=True, standins=True
    ) as cluster:
        await cluster.quiet()
        (home,) = await zones(cluster)
        await cluster.patch(
            "PodCliqueScalingGroup", "web-0-model", {"spec": {"replicas": 3}}, subresource="scale"
        )
        await cluster.quiet()

        assert await zones(cluster) == {home: 7}


async def test_a_gang_waits_rather_than_leave_the_zone_of_its_replica() -> None:
    nodes = [*racks("a", 8, 3), *racks("b", 8, 3)]
    async with controlling(
        OPERATORS, ZONES, *nodes, inference(models=4), scheduler=True, standins=True
    ) as cluster:
        await cluster.quiet()
        found = await zones(cluster)
        (home,) = (zone for zone in found if zone)

        # Two of the three nodes hold two models, and the third the router.
        assert found == {home: 5, "": 4}


async def test_replicas_of_a_set_choose_their_zones_by_themselves() -> None:
    nodes = [*racks("a", 8, 4), *racks("b", 8, 4)]
    async with controlling(
        OPERATORS, ZONES, *nodes, inference(replicas=2), scheduler=True, standins=True
    ) as cluster:
        await cluster.quiet()
        homes = [await zones(cluster, name) for name in ("web-0", "web-1")]

        assert sorted(dict(home).popitem() for home in homes) == [("a", 7), ("b", 7)]


async def test_a_replica_stays_in_its_zone_after_its_base_gang_was_lost() -> None:
    nodes = [*racks("a", 8, 6), *racks("b", 8, 6)]
    async with controlling(OPERATORS, ZONES, *nodes, inference(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        (home,) = await zones(cluster)
        other = "b" if home == "a" else "a"
        for pod in names(await cluster.every("Pod"), ("web-0-router", "web-0-model-0")):
            await cluster.delete("Pod", pod)
        await cluster.quiet()

        assert await zones(cluster) == {home: 7}, f"and not in {other}"


def names(pods: Iterable[Json], prefixes: tuple[str, ...]) -> list[str]:
    found = [pod["metadata"]["name"] for pod in pods]
    return [name for name in found if name.startswith(prefixes)]
