"""Whose single pods the map shows as workloads."""

from __future__ import annotations

from random import Random

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.server.instance import MapInstance
from tests.unit.scheduler.objects import entry, node, pod


@pytest.mark.parametrize(
    ("schedulers", "rows"),
    [
        pytest.param({"default-scheduler"}, [("waits", "pending")], id="a pod of ours that waits is shown"),
        pytest.param({"closeknit"}, [], id="a pod that waits for another scheduler is not"),
    ],
)
async def test_a_single_pod_that_waits(schedulers: set[str], rows: list[tuple[str, str]]) -> None:
    shown = MapInstance(EmbeddedCluster(), random=Random(1), schedulers=frozenset(schedulers))
    waiting = pod("waits")
    waiting["spec"]["schedulerName"] = "default-scheduler"
    for obj in (node("n"), waiting):
        shown.state.put(entry(obj))
    shown.live.refresh()

    assert [(row.name, row.state) for row in shown.live.rows()] == rows
