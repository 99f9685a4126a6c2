"""Controllers run by the loop on an embedded cluster, in a time that is moved."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Any

import pytest
import structlog

from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.controllers.instance import Controllers
from closeknit.controllers.runtime.controller import Controller, Operator
from closeknit.controllers.runtime.writes import Decision, Patch, SetStatus
from closeknit.hub.keys import Key
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.loading import load
from closeknit.kube.errors import NotFoundError
from closeknit.testing.clock import HandClock
from closeknit.testing.controlling import Controlled, controlling, crash_everywhere, definitions
from closeknit.testing.faulty_api import Fault, FaultyApi
from tests.unit.controllers.toy import LABELLED, TOY, Observed, observe, queue


async def levels(cluster: Controlled, name: str) -> list[str]:
    found = await cluster.get("Topology", name)
    return [each["nodeLabel"] for each in found["spec"]["levels"]]


async def test_what_is_wanted_is_written_once_and_then_nothing() -> None:
    async with controlling([TOY], queue("a"), queue("b", levels="zone.rack")) as cluster:
        await cluster.quiet()
        assert await levels(cluster, "b") == ["zone", "rack"]
        owner = (await cluster.get("Topology", "a"))["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Queue", "a", True)
        status = (await cluster.get("Queue", "a"))["status"]
        assert [each["status"] for each in status["conditions"]] == ["True"]
        written = len(cluster.writes)
        await cluster.settle(250)
        assert cluster.writes[written:] == []
        assert [each["reason"] for each in await cluster.every("Event")] == ["Made", "Made"]


async def test_an_edit_of_a_managed_object_is_undone() -> None:
    async with controlling([TOY], queue("a", levels="zone.rack")) as cluster:
        await cluster.quiet()
        await cluster.patch("Topology", "a", {"spec": {"levels": [{"nodeLabel": "other"}]}})
        await cluster.quiet()
        assert await levels(cluster, "a") == ["zone", "rack"]
        await cluster.delete("Topology", "a")
        await cluster.quiet()
        assert await levels(cluster, "a") == ["zone", "rack"]


async def test_a_field_that_is_no_longer_wanted_goes_away() -> None:
    async with controlling([TOY], queue("a", levels="zone.rack")) as cluster:
        await cluster.quiet()
        await cluster.patch("Queue", "a", {"metadata": {"labels": {"levels": "zone"}}})
        await cluster.quiet()
        assert await levels(cluster, "a") == ["zone"]


async def test_an_object_is_looked_at_once_its_controller_looks_after_it_and_after_that_too() -> None:
    async with controlling([LABELLED], queue("a"), queue("b", levels="zone")) as cluster:
        await cluster.quiet()
        assert await cluster.names("Topology") == ["b"]
        await cluster.patch("Queue", "a", {"metadata": {"labels": {"levels": "rack"}}})
        await cluster.quiet()
        assert await levels(cluster, "a") == ["rack"]
        await cluster.patch("Queue", "a", {"metadata": {"labels": {"levels": None}}})
        await cluster.quiet()
        assert await levels(cluster, "a") == ["zone"]


async def test_cleanup_that_is_owed_is_done_before_an_object_goes() -> None:
    async with controlling([TOY], queue("a")) as cluster:
        await cluster.quiet()
        await cluster.delete("Queue", "a")
        await cluster.quiet()
        for kind in ("Queue", "Topology"):
            with pytest.raises(NotFoundError):
                await cluster.get(kind, "a")


def statuses(cluster: Controlled) -> int:
    """How often a Queue was patched, be it for its finalizer, which is written once, or for its status."""
    return sum(each == "patch Queue a" for each in cluster.writes) - 1


async def test_a_status_that_can_wait_is_written_once_other_writes_were_seen() -> None:
    for labels, want in (({}, 2), ({"waits": "true"}, 1)):
        async with controlling([TOY], queue("a", **labels)) as cluster:
            await cluster.quiet()
            assert statuses(cluster) == want
            status = (await cluster.get("Queue", "a"))["status"]
            assert [each["status"] for each in status["conditions"]] == ["True"]


def stamping(*names: str) -> Operator:
    """Writes the time on some Queues whenever it looks at the Queue a, and counts in its status."""

    def decide(_: Observed, now: datetime) -> Decision:
        at = {"metadata": {"labels": {"at": str(int(now.timestamp() * 1000))}}}
        status = SetStatus(
            queue_key("a"), {"conditions": [{"type": "Ready", "status": "True"}]}, can_wait=True
        )
        return Decision((*(Patch(queue_key(name), at) for name in names), status))

    return Operator(
        "kai", (Controller("toy", Queue, observe, decide, looks_after=lambda each: each.key.name == "a"),)
    )


def queue_key(name: str) -> Key:
    return Key("scheduling.run.ai", "Queue", "", name)


async def test_a_status_that_can_wait_is_written_at_once_where_another_write_failed() -> None:
    def is_write_of_c(writes: Sequence[str]) -> bool:
        return writes[-1] == "patch Queue c"

    async with controlling(
        [stamping("b", "c")], queue("a"), queue("b"), queue("c"), point=is_write_of_c
    ) as cluster:
        await cluster.settle(0.05)
        assert [each for each in cluster.writes if each.endswith((" a", " c"))][:2] == [
            "patch Queue c",
            "patch Queue a",
        ]


async def test_a_status_that_can_wait_is_put_off_once() -> None:
    async with controlling([stamping("b")], queue("a"), queue("b")) as cluster:
        await cluster.settle(2)
        assert (await cluster.get("Queue", "a"))["status"]["conditions"]


async def test_one_poisonous_object_does_not_stop_others() -> None:
    async with controlling([TOY], queue("poison"), queue("a")) as cluster:
        await cluster.settle(5)
        assert await levels(cluster, "a") == ["zone"]
        tried = sum("poison" in each for each in cluster.log)
        assert 3 < tried < 12
        await cluster.settle(300)
        assert sum("poison" in each for each in cluster.log) < tried + 16


async def test_another_process_goes_on_where_the_first_one_died() -> None:
    async with controlling([TOY], queue("a")) as cluster:
        await cluster.quiet()
        written = len(cluster.writes)
        await cluster.restart()
        await cluster.quiet()
        assert cluster.writes[written:] == []


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_any_write_changes_nothing_in_the_end(fault: Fault) -> None:
    async def live(point: int | None, fault: Fault) -> tuple[Any, int]:
        async with controlling([TOY], queue("a", levels="zone.rack"), point=point, fault=fault) as cluster:
            await cluster.quiet()
            await cluster.patch("Queue", "a", {"metadata": {"labels": {"levels": "zone"}}})
            await cluster.quiet()
            return await cluster.objects("Queue", "Topology"), len(cluster.api.writes)

    assert await crash_everywhere(live, [fault]) >= 4


async def test_it_stops_although_a_write_is_never_answered() -> None:
    clock = HandClock()
    cluster = EmbeddedCluster(definitions(), clock=clock, dice=Random(1))
    refused = await load(cluster, [queue("a")])
    assert not refused
    api = FaultyApi(cluster, 0, Fault.KILLED_BEFORE)
    log = structlog.wrap_logger(structlog.ReturnLogger())
    controllers = Controllers(api, [TOY], identity="test", log=log, random=Random(2), clock=clock)
    running = asyncio.create_task(controllers.run())
    await clock.advance(1)
    assert api.killed.is_set()
    assert not controllers.idle
    controllers.stop()
    await clock.advance(12)
    assert running.done()
    running.result()
    await cluster.close()


async def test_what_is_counted() -> None:
    clock = HandClock()
    cluster = EmbeddedCluster(definitions(), clock=clock, dice=Random(1))
    assert not await load(cluster, [queue("a")])
    api = FaultyApi(cluster, 0, Fault.UNSENT)
    log = structlog.wrap_logger(structlog.ReturnLogger())
    controllers = Controllers(api, [TOY], identity="test", log=log, random=Random(2), clock=clock)
    running = asyncio.create_task(controllers.run())
    await clock.advance(5)
    told = controllers.metrics.written().decode().splitlines()
    controllers.stop()
    await clock.advance(12)
    await running
    await cluster.close()
    name = TOY.controllers[0].name
    found = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in told if line[0] != "#"}
    reconciles, writes = (
        f'closeknit_controller_{each}_total{{controller="{name}",' for each in ("reconciles", "writes")
    )
    assert found[f'{reconciles}result="writing"}}'] >= 2, "one of them failed"
    assert found[f'{reconciles}result="settled"}}'] >= 1
    assert sum(found[each] for each in found if each.startswith(f'{writes}result="refused"')) == 1
    assert found[f'{writes}result="written",write="Apply"}}'] == 1
    assert found["closeknit_controller_queue_depth"] == 0
    assert found[f'closeknit_controller_reconcile_seconds_count{{controller="{name}"}}'] >= 3


async def test_what_waits_for_a_kind_is_written_as_soon_as_the_kind_is_served() -> None:
    clock = HandClock()
    topologies = [each for each in definitions() if each["metadata"]["name"] == "topologies.kai.scheduler"]
    others = [each for each in definitions() if each not in topologies]
    cluster = EmbeddedCluster(others, clock=clock, dice=Random(1))
    assert not await load(cluster, [queue("a")])
    log = structlog.wrap_logger(structlog.ReturnLogger())
    controllers = Controllers(cluster, [TOY], identity="test", log=log, random=Random(2), clock=clock)
    running = asyncio.create_task(controllers.run())
    await clock.advance(5)
    assert not await load(cluster, topologies)
    await clock.advance(40)
    resource = next(each for each in await cluster.resources() if each.group == "kai.scheduler")
    assert [each["metadata"]["name"] for each in (await cluster.list(resource)).items] == ["a"]
    controllers.stop()
    await clock.advance(12)
    await running
    await cluster.close()
