from __future__ import annotations

import asyncio
from contextlib import aclosing

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import Selection
from closeknit.kube.resources import CONFIG_MAPS


async def test_a_bookmark_never_passes_a_change_that_was_not_handed_out() -> None:
    """A client that is cut off after the bookmark goes on from there, and would miss the change for ever."""
    cluster = EmbeddedCluster()
    kind, _ = cluster.core.kinds.of(CONFIG_MAPS)
    watcher, _ = await cluster.records.watcher(kind, Selection(), "")
    first = await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    second = await cluster.create(CONFIG_MAPS, {"metadata": {"name": "b", "namespace": "default"}})
    versions = [int(each["metadata"]["resourceVersion"]) for each in (first, second)]

    assert watcher.version() < versions[0]
    watcher.take(1)
    assert versions[0] <= watcher.version() < versions[1]
    watcher.take()
    assert watcher.version() >= versions[1]
    await cluster.close()


async def test_nobody_is_remembered_who_has_waited_in_vain() -> None:
    cluster = EmbeddedCluster()
    kind, _ = cluster.core.kinds.of(CONFIG_MAPS)
    watcher, _ = await cluster.records.watcher(kind, Selection(), "")

    for _ in range(3):
        assert not await watcher.wait(0)
    waiting = asyncio.create_task(watcher.wait(60))
    await asyncio.sleep(0)
    assert cluster.core.table(kind).waiting == 1
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert cluster.core.table(kind).waiting == 0
    await cluster.close()


async def test_a_watch_says_that_it_is_open_before_it_hands_out_anything() -> None:
    cluster = EmbeddedCluster()
    await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    heard: list[str] = []

    async with aclosing(cluster.watch(CONFIG_MAPS, opened=lambda: heard.append("open"))) as events:
        async for event in events:
            heard.append(type(event).__name__)
            break

    assert heard == ["open", "Change"]
    await cluster.close()
