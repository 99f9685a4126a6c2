"""Whatever happens and in whatever order, objects soon show what is true of their units.

Pods are bound by the scheduler and by others, come late, are annotated late, end and come again; topologies,
constraints and labels of nodes change; conditions are overwritten; the scheduler is killed and comes back.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.kube.errors import ApiError
from closeknit.kube.resources import NODES, PODS
from tests.property.effort import effort
from tests.scenario.bound import POD_GROUPS, TOPOLOGIES
from tests.scenario.reported import Cluster, running
from tests.unit.scheduler.objects import node, pod, pod_group, together, topology

LEVELS = [["zone", "rack"], ["zone"], ["rack"]]
OVERWRITTEN = {
    "type": "Scheduled",
    "status": "False",
    "reason": "NotReady",
    "message": "",
    "observedGeneration": 1,
}


class Interleaving:
    """Random things that happen to one cluster."""

    def __init__(self, seed: int, cluster: Cluster) -> None:
        self._rng = Random(seed)
        self._cluster = cluster
        self._number = 0
        self._groups: list[str] = []
        self.happened: list[str] = []

    async def go_on(self, events: int) -> None:
        """Let some things happen, close together or apart."""
        acts = [
            (5, self._gang),
            (3, self._late_annotation),
            (4, self._others_bind),
            (3, self._delete_pod),
            (3, self._recreate_pod),
            (2, self._finish_pod),
            (2, self._topology),
            (3, self._constraint),
            (2, self._minimum),
            (3, self._move_node),
            (1, self._lose_node),
            (2, self._overwrite),
            (2, self._restart),
        ]
        for _ in range(events):
            (act,) = self._rng.choices([act for _, act in acts], [weight for weight, _ in acts])
            self.happened.append(act.__name__.strip("_"))
            # An act may have nothing to act on, or be refused.
            with suppress(ApiError, IndexError, ValueError):
                await act()
            await self._cluster.clock.advance(self._rng.choice((0.0, 0.0, 0.005, 0.05, 0.5, 2.0)))

    async def _gang(self) -> None:
        self._number += 1
        name = f"g{self._number}"
        self._groups.append(name)
        least = self._rng.randint(1, 4)
        level = self._rng.choice((None, "zone", "rack", "rack"))
        within = {"topologyConstraint": together(level)} if level else {}
        created = [
            pod(
                f"{name}-{i}",
                name,
                gpus=self._rng.choice((0, 1, 2)),
                scheduler="other" if self._rng.random() < 0.2 else "closeknit",
            )
            for i in range(self._rng.randint(max(least - 1, 1), least + 2))
        ]
        await self._cluster.create(pod_group(name, minMember=least, **within))
        for each in created:
            await self._cluster.create(each)
            if self._rng.random() < 0.2:
                await self._cluster.clock.advance(0.02)

    async def _late_annotation(self) -> None:
        """Pods that were created without their group get its annotation."""
        self._number += 1
        name = f"l{self._number}"
        await self._cluster.create(
            pod_group(name, minMember=2), *(pod(f"{name}-{i}", gpus=1) for i in range(2))
        )
        await self._cluster.clock.advance(self._rng.choice((0.0, 0.01, 1.0)))
        for i in range(2):
            await self._cluster.patch(
                PODS, f"{name}-{i}", {"metadata": {"annotations": {"pod-group-name": name}}}
            )

    async def _others_bind(self) -> None:
        waiting = [each for each in await self._pods() if not each["spec"].get("nodeName")]
        for each in self._rng.sample(waiting, self._rng.randint(1, len(waiting))):
            on = f"n{self._rng.randrange(6)}"
            with suppress(ApiError):
                await self._cluster.api.bind(each["metadata"]["name"], on, namespace="default")

    async def _delete_pod(self) -> None:
        await self._cluster.delete(PODS, self._rng.choice(await self._pods())["metadata"]["name"])

    async def _recreate_pod(self) -> None:
        old = self._rng.choice(await self._pods())
        name = old["metadata"]["name"]
        await self._cluster.delete(PODS, name)
        group = (old["metadata"].get("annotations") or {}).get("pod-group-name", "")
        await self._cluster.create(pod(name, group, gpus=1))

    async def _finish_pod(self) -> None:
        running = [each for each in await self._pods() if each["spec"].get("nodeName")]
        phase = self._rng.choice(("Succeeded", "Succeeded", "Failed"))
        name = self._rng.choice(running)["metadata"]["name"]
        await self._cluster.patch(PODS, name, {"status": {"phase": phase}}, "status")

    async def _topology(self) -> None:
        levels = self._rng.choice(LEVELS)
        found = (await self._cluster.api.list(TOPOLOGIES)).items
        if not found:
            await self._cluster.create(topology(*levels))
        elif self._rng.random() < 0.4:
            await self._cluster.delete(TOPOLOGIES, "tree")
        else:
            written = [{"nodeLabel": level} for level in levels]
            await self._cluster.patch(TOPOLOGIES, "tree", {"spec": {"levels": written}})

    async def _constraint(self) -> None:
        level = self._rng.choice((None, "zone", "rack"))
        constraint = together(level) if level else None
        await self._cluster.patch(
            POD_GROUPS, self._rng.choice(self._groups), {"spec": {"topologyConstraint": constraint}}
        )

    async def _minimum(self) -> None:
        least = self._rng.randint(1, 5)
        await self._cluster.patch(POD_GROUPS, self._rng.choice(self._groups), {"spec": {"minMember": least}})

    async def _move_node(self) -> None:
        labels: dict[str, Any] = {"rack": self._rng.choice(("r0", "r1", "r2", None))}
        await self._cluster.patch(NODES, f"n{self._rng.randrange(6)}", {"metadata": {"labels": labels}})

    async def _lose_node(self) -> None:
        i = self._rng.randrange(6)
        await self._cluster.delete(NODES, f"n{i}")
        await self._cluster.clock.advance(self._rng.choice((0.0, 1.0)))
        await self._cluster.create(node(f"n{i}", 4, zone="z", rack=f"r{i // 2}"))

    async def _overwrite(self) -> None:
        name = self._rng.choice(self._groups)
        status = self._rng.choice((None, {"conditions": [OVERWRITTEN]}, {"conditions": None}))
        await self._cluster.patch(POD_GROUPS, name, {"status": status}, "status")

    async def _restart(self) -> None:
        await self._cluster.kill()
        await self._cluster.clock.advance(self._rng.choice((0.0, 0.5)))
        self._cluster.start()

    async def _pods(self) -> list[Any]:
        return list((await self._cluster.api.list(PODS)).items)


async def _interleaved(seed: int) -> None:
    async with running() as cluster:
        interleaving = Interleaving(seed, cluster)
        for _ in range(3):
            await interleaving.go_on(8)
            await cluster.settle()
            assert await cluster.wrong() == [], (seed, interleaving.happened)


@effort(40)
@given(st.integers(0, 2**32))
def test_objects_show_what_is_true_within_seconds_of_quiet(seed: int) -> None:
    asyncio.run(_interleaved(seed))


@pytest.mark.slow
def test_objects_show_what_is_true_after_many_interleavings() -> None:
    for seed in range(400):
        asyncio.run(_interleaved(seed))
