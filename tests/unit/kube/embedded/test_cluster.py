"""Watches of the embedded cluster as a client sees them, and what goes by itself."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    Bookmark,
    Change,
    MergePatch,
    Selection,
)
from closeknit.kube.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    NODES,
)
from closeknit.testing.clock import HandClock
from tests.unit.kube.embedded.objects import DEFAULT, config_map, names


class TestWatch:
    async def test_changes_come_in_order_and_through_the_selection(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("early", metadata={"labels": {"see": "me"}}))
        version = (await cluster.list(CONFIG_MAPS)).resource_version
        seen = Selection(namespace="default", labels="see=me")
        await cluster.create(CONFIG_MAPS, config_map("a", metadata={"labels": {"see": "me"}}))
        await cluster.create(CONFIG_MAPS, config_map("b"))
        await cluster.patch(
            CONFIG_MAPS, "b", MergePatch({"metadata": {"labels": {"see": "me"}}}), namespace="default"
        )
        await cluster.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "v"}}), namespace="default")
        await cluster.patch(CONFIG_MAPS, "a", MergePatch({"metadata": {"labels": None}}), namespace="default")
        await cluster.delete(CONFIG_MAPS, "b", namespace="default")

        assert await self.changes(cluster, 5, selection=seen, resource_version=version) == [
            ("ADDED", "a"),
            ("ADDED", "b"),
            ("MODIFIED", "a"),
            ("DELETED", "a"),
            ("DELETED", "b"),
        ]

    async def test_without_a_version_present_objects_come_first(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a"))

        assert await self.changes(cluster, 1, selection=DEFAULT) == [("ADDED", "a")]

    async def test_a_watch_wakes_up(self, cluster: EmbeddedCluster) -> None:
        watching = asyncio.create_task(self.changes(cluster, 1, selection=DEFAULT))
        await asyncio.sleep(0)
        await cluster.create(CONFIG_MAPS, config_map("a"))

        assert await watching == [("ADDED", "a")]

    async def test_a_version_that_is_forgotten_is_gone(self, cluster: EmbeddedCluster) -> None:
        made = await cluster.create(CONFIG_MAPS, config_map("a"))
        await cluster.create(CONFIG_MAPS, config_map("b"))
        cluster.forget_history()

        with pytest.raises(errors.GoneError, match="too old resource version"):
            await self.changes(cluster, 1, resource_version=made["metadata"]["resourceVersion"])

    async def test_a_watcher_that_falls_behind_is_told(self) -> None:
        cluster = EmbeddedCluster(history=10)
        async with aclosing(cluster.watch(CONFIG_MAPS, DEFAULT)) as events:
            await cluster.create(CONFIG_MAPS, config_map("first"))
            await anext(events)
            for number in range(20):
                await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
            with pytest.raises(errors.GoneError):
                async for _ in events:
                    pass

    async def test_a_quiet_watch_gets_bookmarks_and_ends_in_time(self) -> None:
        cluster = EmbeddedCluster(bookmark_every=0.01)
        await cluster.create(NODES, {"metadata": {"name": "elsewhere"}})
        version = (await cluster.list(CONFIG_MAPS)).resource_version

        events = [event async for event in cluster.watch(CONFIG_MAPS, resource_version=version, timeout=0.05)]

        assert events
        assert all(event == Bookmark(version) for event in events)

    @staticmethod
    async def changes(
        cluster: EmbeddedCluster, count: int, *, selection: Selection = DEFAULT, resource_version: str = ""
    ) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        async with aclosing(
            cluster.watch(CONFIG_MAPS, selection, resource_version=resource_version, timeout=60)
        ) as events:
            async for event in events:
                if isinstance(event, Change):
                    found.append((event.type.value, event.object["metadata"]["name"]))
                if len(found) == count:
                    break
        return found


async def test_events_go_after_an_hour_unless_they_come_again() -> None:
    clock = HandClock()
    cluster = EmbeddedCluster(clock=clock)
    for name in ("once", "again"):
        about = {"kind": "Pod", "name": "p", "namespace": "default"}
        await cluster.create(
            CORE_EVENTS, {"metadata": {"name": name, "namespace": "default"}, "involvedObject": about}
        )
    await clock.advance(3000)
    await cluster.patch(CORE_EVENTS, "again", MergePatch({"count": 2}), namespace="default")
    await clock.advance(1000)
    await cluster.create(CONFIG_MAPS, config_map("anything"))
    after_an_hour = await names(cluster, CORE_EVENTS)
    await clock.advance(3000)
    await cluster.create(CONFIG_MAPS, config_map("something"))

    assert after_an_hour == ["again"]
    assert await names(cluster, CORE_EVENTS) == []
