"""The same faults over an embedded cluster and, in ``make e2e``, over a real API server: no gang is left half done.

On the embedded cluster calls go wrong at the port and time is moved; before the real server stands a proxy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from closeknit.kube.port import DeleteOptions
from closeknit.kube.resources import NODES, PODS
from tests.scenario import bound, disturbed
from tests.scenario.disturbed import Bed, Rule, Way, fair
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

RACKS = [topology("zone", "rack"), *(node(f"n{i}", 4, zone="z", rack=f"r{i // 2}") for i in range(6))]
GANG = [
    pod_group("g", minMember=3, topologyConstraint=together("rack")),
    *(pod(f"p{i}", "g") for i in range(3)),
]


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.e2e)])
async def beds(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Bed, Way]]:
    plane = request.getfixturevalue("plane") if request.param == "real" else None
    async with disturbed.embedded() if plane is None else disturbed.real(plane) as made:
        await made[0].create(*RACKS)
        yield made


def some_times(number: int, fault: str, verb: str = "bind", name: str = "p1") -> Rule:
    """A fault of the first calls of a kind."""
    left = [number]

    async def rule(called: str, whom: str) -> str:
        if (called, whom) != (verb, name) or not left[0]:
            return ""
        left[0] -= 1
        return fault

    return rule


async def whole(bed: Bed) -> None:
    """Every pod gets its node, the gang in one rack, and nothing is wrong."""
    await bed.until(bed.all_bound)
    assert await bed.wrong() == []


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        pytest.param(3, "busy", id="429 three times"),
        pytest.param(3, "refused", id="a connection that breaks before the binding is sent"),
        pytest.param(1, "lost", id="an answer that is lost"),
        pytest.param(2, "hang", id="a webhook that hangs"),
    ],
)
async def test_a_binding_that_goes_wrong_for_now(beds: tuple[Bed, Way], number: int, fault: str) -> None:
    bed, way = beds
    way.rule = some_times(number, fault)
    bed.start(way.api)
    await bed.create(*GANG)

    await whole(bed)


async def test_a_webhook_that_hangs_holds_up_nobody_else(beds: tuple[Bed, Way]) -> None:
    bed, way = beds

    async def hang(verb: str, name: str) -> str:
        return "hang" if verb == "bind" and name.startswith("p") else ""

    way.rule = hang
    bed.start(way.api)
    await bed.create(*GANG)
    await bed.wait(1)
    await bed.create(pod("other"))

    async def other_bound() -> bool:
        return bool((await bed.nodes())["other"])

    await bed.until(other_bound)
    assert [name for name, on in (await bed.nodes()).items() if on] == ["other"]
    way.rule = fair
    await whole(bed)


async def test_409_because_a_rival_was_faster(beds: tuple[Bed, Way]) -> None:
    bed, way = beds

    async def rival(verb: str, name: str) -> str:
        if (verb, name) == ("bind", "p1"):
            way.rule = fair
            await bed.cluster.bind("p1", "n1", namespace="default")
        return ""

    way.rule = rival
    bed.start(way.api)
    await bed.create(*GANG)
    await whole(bed)

    assert (await bed.nodes())["p1"] == "n1"


async def test_a_server_that_is_away_for_a_while(beds: tuple[Bed, Way]) -> None:
    bed, way = beds
    bed.start(way.api)
    await bed.create(pod("before"))
    await bed.until(bed.all_bound)
    way.away(True)
    await bed.create(*GANG)
    await bed.cluster.delete(NODES, "n2")
    await bed.wait(8)
    assert [name for name, on in (await bed.nodes()).items() if on] == ["before"]
    way.away(False)

    await whole(bed)


async def test_a_server_that_leaves_in_the_middle_of_a_gang(beds: tuple[Bed, Way]) -> None:
    bed, way = beds

    async def leave(verb: str, name: str) -> str:
        if (verb, name) == ("bind", "p1"):
            way.away(True)
            return "refused"
        return ""

    way.rule = leave
    bed.start(way.api)
    await bed.create(*GANG)
    await bed.wait(6)
    assert not (await bed.nodes())["p1"]
    way.rule = fair
    way.away(False)

    await whole(bed)


async def test_watches_that_are_lost_again_and_again(beds: tuple[Bed, Way]) -> None:
    bed, way = beds
    bed.start(way.api)
    for each in GANG:
        way.cut_watches()
        await bed.create(each)
        await bed.wait(0.5)
    way.cut_watches()

    await whole(bed)


@pytest.mark.parametrize("fault", ["hang", "refused", "lost"])
async def test_a_lease_that_is_lost_in_the_middle_of_a_binding(beds: tuple[Bed, Way], fault: str) -> None:
    bed, way = beds
    cut_off = asyncio.Event()

    async def parted(verb: str, name: str) -> str:
        """From the binding of one pod on, nothing of the first scheduler arrives, or no answer does."""
        if (verb, name) == ("bind", "p1"):
            cut_off.set()
            return fault
        return "refused" if cut_off.is_set() else ""

    way.rule = parted
    bed.start(way.api, "first", leading=True)
    await bed.until(lambda: bed.has_lease("first"))
    bed.start(bed.cluster, "second", leading=True)
    await bed.create(*GANG)
    await bed.until(lambda: bed.has_lease("second"))
    assert cut_off.is_set()

    await whole(bed)


@pytest.mark.parametrize("hours", [24, -24], ids=["forward", "back"])
async def test_a_date_that_jumps(beds: tuple[Bed, Way], hours: int) -> None:
    bed, way = beds
    bed.start(way.api, "first", leading=True)
    await bed.until(lambda: bed.has_lease("first"))
    bed.start(bed.cluster, "second", leading=True)
    await bed.create(*(pod(f"x{i}", gpus=4, on=f"n{i}", scheduler="other") for i in range(6)))
    await bed.create(*GANG)

    async def told() -> bool:
        return await bound.condition(bed.cluster, "g") is not None

    await bed.until(told)
    bed.shown.skew = timedelta(hours=hours)
    await bed.wait(20)
    for i in range(2):
        await bed.cluster.delete(PODS, f"x{i}", namespace="default", options=DeleteOptions(grace_period=0))
    await whole(bed)

    async def scheduled() -> bool:
        found = await bound.condition(bed.cluster, "g")
        return found is not None and found["status"] == "True"

    await bed.until(scheduled)
    assert await bed.has_lease("first")
