"""What the mirrors of a process counted and found is in metrics and in the log."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.mirror import COMPARISON_INTERVAL
from closeknit.kube.port import Change, ChangeType
from closeknit.kube.resources import PODS
from closeknit.live.cache_metrics import CacheMetrics
from closeknit.live.following import Following, kinds_read
from closeknit.testing.clock import HandClock
from tests.unit.scheduler.objects import pod


class Recorded:
    def __init__(self) -> None:
        self.warnings: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **facts: Any) -> None:
        """Not recorded."""

    def warning(self, event: str, **facts: Any) -> None:
        self.warnings.append((event, facts))


async def test_a_difference_is_logged_by_name_and_counted() -> None:
    clock, log = HandClock(), Recorded()
    cluster = EmbeddedCluster(clock=clock, dice=Random(1))
    await cluster.create(PODS, pod("lost"))
    await cluster.create(PODS, pod("kept"))
    following = Following(cluster, kinds_read(()), clock=clock, random=Random(2), log=log)
    metrics = CacheMetrics(following)
    task = asyncio.create_task(following.run())
    try:
        await clock.advance(1)
        mirror = following.mirror("", "Pod")
        assert mirror is not None
        lost = mirror.get("lost", "default")
        mirror._take(Change(ChangeType.DELETED, lost, mirror.freshness().resource_version))
        assert len(mirror) == 1
        assert not following.is_behind([("", "Pod")])

        for _ in range(int(1.6 * COMPARISON_INTERVAL / 10)):
            await clock.advance(10)
        assert len(mirror) == 2
        assert log.warnings == [
            (
                "cache-differed",
                {"resource": "pods", "missing": ["default/lost"], "superfluous": [], "outdated": []},
            )
        ]
        lines = metrics.written().decode().splitlines()
        assert 'closeknit_cache_repairs_total{reason="difference",resource="pods"} 1.0' in lines
        assert 'closeknit_cache_repairs_total{reason="old-event",resource="nodes"} 0.0' in lines
        assert 'closeknit_cache_comparisons_total{resource="nodes"} 1.0' in lines
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cluster.close()
