"""The scheduler on an embedded cluster, with pods that must meet, must not meet, or spread."""

from __future__ import annotations

from typing import Any

from closeknit.kube.port import DeleteOptions, JsonPatch
from closeknit.kube.resources import PODS
from tests.scenario.test_live_scheduler import rack_of, racks
from tests.unit.scheduler.living import living
from tests.unit.scheduler.objects import pod

AT_ONCE = DeleteOptions(grace_period=0)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def labelled(name: str, app: str, **spec: Any) -> dict[str, Any]:
    """A pod of an app."""
    return pod(name, metadata={"labels": {"app": app}}, **spec)


def rule(kind: str, app: str, key: str = "rack") -> dict[str, Any]:
    """Required affinity or anti-affinity to an app."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {REQUIRED: [term]}}}


async def test_pods_that_keep_apart_wait_for_a_rack_and_get_it_when_who_is_in_the_way_goes() -> None:
    pods = [labelled(f"p{i}", "x", **rule("podAntiAffinity", "x")) for i in range(4)]
    async with living([*racks(), *pods]) as live:
        nodes = await live.nodes()
        placed = [name for name, node in nodes.items() if node]
        assert sorted(rack_of(nodes[name]) for name in placed) == ["r0", "r1", "r2"]

        await live.cluster.delete(PODS, placed[0], namespace="default", options=AT_ONCE)
        await live.settle(20)
        after = await live.nodes()
        assert len({rack_of(node) for node in after.values()}) == 3
        assert all(after.values())


async def test_a_running_pod_keeps_others_away_until_its_labels_or_theirs_say_otherwise() -> None:
    guards = [labelled(f"g{i}", "guard", on=f"n{2 * i}", **rule("podAntiAffinity", "x")) for i in range(3)]
    async with living([*racks(), *guards, labelled("p", "x"), labelled("q", "y")]) as live:
        nodes = await live.nodes()
        assert (nodes["p"], bool(nodes["q"])) == ("", True)

        await live.cluster.delete(PODS, "g1", namespace="default", options=AT_ONCE)
        await live.settle(20)
        assert rack_of((await live.nodes())["p"]) == "r1"


async def test_company_that_comes_later_is_joined() -> None:
    async with living([*racks(), labelled("p", "x", **rule("podAffinity", "y"))]) as live:
        assert await live.nodes() == {"p": ""}

        await live.create(labelled("q", "y", on="n4"))
        await live.settle(20)
        assert rack_of((await live.nodes())["p"]) == "r2"


async def test_a_running_pod_that_gets_other_labels_becomes_company() -> None:
    given = [labelled("q", "z", on="n4"), labelled("p", "x", **rule("podAffinity", "y"))]
    async with living([*racks(), *given]) as live:
        assert (await live.nodes())["p"] == ""

        relabelled = JsonPatch([{"op": "replace", "path": "/metadata/labels/app", "value": "y"}])
        await live.cluster.patch(PODS, "q", relabelled, namespace="default")
        await live.settle(20)
        assert rack_of((await live.nodes())["p"]) == "r2"
