"""Whoever waits is offered changes that help; what is offered is carried out, and the unit is bound.

Everything is read from the API: the outcome that stands on a PodGroup, and which pods have nodes. The slow
run tries 250 units that wait, the long one 1,000.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random

import pytest
import structlog

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import DeleteOptions, MergePatch
from closeknit.kube.resources import PODS
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.clock import HandClock
from tests.scenario.bound import BY_KIND, DEFINITIONS, POD_GROUPS, Json, outcome
from tests.unit.scheduler.objects import GPU, node, pod, pod_group, topology

LEVELS = ("zone", "rack")
SUBGROUP = "kai.scheduler/subgroup-name"
AT_ONCE = DeleteOptions(grace_period=0)
_UNITS_OF_A_WORLD = 40


class World:
    """A small random cluster that fills up, and one unit after the other that comes to it."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.clock = HandClock()
        self.cluster = EmbeddedCluster(DEFINITIONS, clock=self.clock, dice=Random(seed))
        self.instance = Instance(
            self.cluster,
            Settings(),
            identity="offers",
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(seed),
            clock=self.clock,
        )
        self.happened: Counter[str] = Counter()
        self._number = 0

    async def begin(self) -> None:
        """Racks of unequal size, some nodes cordoned, some pods of other schedulers."""
        dice, hosts = self.dice, []
        await self.create(topology(*LEVELS))
        for zone in range(2):
            for rack in range(dice.randint(2, 3)):
                for host in range(dice.randint(2, 4)):
                    name, size = f"z{zone}-r{rack}-h{host}", dice.choice((4, 8, 8, 8))
                    made = node(name, size, zone=f"z{zone}", rack=f"r{rack}", kind=dice.choice("ab"))
                    made["spec"] = {"unschedulable": dice.random() < 0.1}
                    await self.create(made)
                    hosts.append((name, size))
        for name, size in hosts:
            if dice.random() < 0.3:
                await self.create(
                    pod(f"other-{name}", gpus=dice.randint(1, size), on=name, scheduler="other")
                )

    async def create(self, *objects: Json) -> None:
        for each in objects:
            each["metadata"].pop("uid", None)
            await self.cluster.create(BY_KIND[each["kind"]], each)

    async def settle(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.5)):
            await self.clock.advance(0.5)

    async def arrive(self) -> str:
        """A unit comes, its PodGroup last, so that it is decided once."""
        self._number += 1
        name, dice = f"unit-{self._number}", self.dice
        parts = [self._part(part) for part in dice.choice(([""], [""], ["left", "right"], ["a", "b", "c"]))]
        where = {"kind": dice.choice("ab")} if dice.random() < 0.2 else None
        more: Json = {"nodeSelector": where} if where else {}
        for part, number, gpus, _ in parts:
            for i in range(number):
                made = pod(f"{name}-{part or 'pod'}-{i}", name, gpus=gpus, subgroup=part, **more)
                await self.create(made)
        if parts[0][0]:
            spec = {"subGroups": [{"name": part, **each} for part, _, _, each in parts], **self._level(0.5)}
        else:
            spec = parts[0][3]
        await self.create(pod_group(name, **spec))
        return name

    def _part(self, name: str) -> tuple[str, int, int, Json]:
        """The name of a part, how many pods it has, what each asks for, and its fields."""
        least = self.dice.choice((1, 1, 2) if name else (1, 2, 3, 4, 6))
        more = self.dice.choice((0, 0, 0, 1, 2))
        level = self._level(0.7) if not name else self._level(0.6, levels=("rack",))
        return name, least + more, self.dice.choice((1, 1, 2, 3, 4, 8)), {"minMember": least, **level}

    def _level(self, chance: float, levels: tuple[str, ...] = LEVELS) -> Json:
        if self.dice.random() >= chance:
            return {}
        constraint = {"topology": "tree", "requiredTopologyLevel": self.dice.choice(levels)}
        return {"topologyConstraint": constraint}

    # -------------------------------------------------------------------------------------- reading the API

    async def pods_of(self, unit: str) -> list[Json]:
        found = (await self.cluster.list(PODS)).items
        return [
            each for each in found if each["metadata"].get("annotations", {}).get("pod-group-name") == unit
        ]

    async def bound(self, unit: str) -> bool:
        """Whether every part of a unit has its minimum."""
        spec = (await self.cluster.get(POD_GROUPS, unit, namespace="default"))["spec"]
        bound = Counter(
            each["metadata"].get("labels", {}).get(SUBGROUP, "")
            for each in await self.pods_of(unit)
            if each["spec"].get("nodeName")
        )
        return all(bound[each.get("name", "")] >= each["minMember"] for each in spec.get("subGroups", [spec]))

    async def told(self, unit: str) -> Json:
        """The outcome that stands on a unit."""
        return await outcome(self.cluster, unit)

    # --------------------------------------------------------------------------------- doing what is offered

    async def carry_out(self, unit: str, change: Json) -> None:
        """Do what an outcome offers, as a user would."""
        self.happened[change["change"]] += 1
        match change:
            case {"change": "all", "changes": changes}:
                for each in changes:
                    await self.carry_out(unit, each)
            case {"change": "level", "group": group, "to": level}:
                await self._edit(unit, group, {"topologyConstraint": _constraint(level)})
            case {"change": "count", "podSet": part, "to": number}:
                part = "" if part == "default" else part
                pods = sorted(await self.pods_of(unit), key=lambda each: "nodeName" not in each["spec"])
                mine = [
                    each["metadata"]["name"]
                    for each in pods
                    if each["metadata"].get("labels", {}).get(SUBGROUP, "") == part
                ]
                for name in mine[number:]:
                    await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)
                await self._edit(unit, part, {"minMember": number})
            case {"change": "departure", "workloads": workloads}:
                for each in workloads:
                    await self.leave(each)
            case _:
                pytest.fail(f"An unknown change is offered: {change}")

    async def _edit(self, unit: str, part: str, fields: Json) -> None:
        """Merge fields into those of a subgroup, or of the whole."""
        spec = (await self.cluster.get(POD_GROUPS, unit, namespace="default"))["spec"]
        patch = fields
        if part and part != f"default/{unit}":
            subgroups = [each | fields if each["name"] == part else each for each in spec["subGroups"]]
            patch = {"subGroups": [_without_none(each) for each in subgroups]}
        await self.cluster.patch(POD_GROUPS, unit, MergePatch({"spec": patch}), namespace="default")

    async def lose_a_pod(self, unit: str) -> bool:
        """A pod goes, another scheduler takes its room, and it comes again; whether its unit waits for it now."""
        lost = self.dice.choice(await self.pods_of(unit))
        meta, on = lost["metadata"], lost["spec"].get("nodeName")
        if not on:
            return False
        self._number += 1
        gpus = int(lost["spec"]["containers"][0]["resources"]["limits"][GPU])
        await self.cluster.delete(PODS, meta["name"], namespace="default", options=AT_ONCE)
        await self.create(pod(f"other-{self._number}", gpus=gpus, on=on, scheduler="other"))
        subgroup = meta.get("labels", {}).get(SUBGROUP, "")
        selector = {key: lost["spec"][key] for key in ("nodeSelector",) if key in lost["spec"]}
        await self.create(pod(meta["name"], unit, gpus=gpus, subgroup=subgroup, **selector))
        await self.settle(2)
        waits = not await self.bound(unit)
        self.happened["lost a pod and waited"] += waits
        return waits

    async def give_up_more(self) -> None:
        """Pods above the minimum of their units that wait do so no more: what is freed is for one unit only."""
        for each in (await self.cluster.list(PODS)).items:
            if "nodeName" not in each["spec"]:
                await self.cluster.delete(
                    PODS, each["metadata"]["name"], namespace="default", options=AT_ONCE
                )

    async def leave_alone(self, unit: str) -> None:
        """Everybody else leaves."""
        mine = {each["metadata"]["name"] for each in await self.pods_of(unit)}
        for each in (await self.cluster.list(PODS)).items:
            if (name := each["metadata"]["name"]) not in mine:
                await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)
        await self.settle(11)

    async def leave(self, workload: str) -> None:
        """A workload leaves the cluster, named as outcomes name it."""
        name = workload.rpartition("/")[2]
        if workload.startswith("Pod "):
            await self.cluster.delete(PODS, name, namespace="default", options=AT_ONCE)
            return
        for each in await self.pods_of(name):
            await self.cluster.delete(PODS, each["metadata"]["name"], namespace="default", options=AT_ONCE)
        await self.cluster.delete(POD_GROUPS, name, namespace="default")


def _constraint(level: str | None) -> Json | None:
    return {"topology": "tree", "requiredTopologyLevel": level} if level else None


def _without_none(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if value is not None}


@asynccontextmanager
async def world(seed: int) -> AsyncIterator[World]:
    made = World(seed)
    await made.begin()
    work = asyncio.create_task(made.instance.run())
    try:
        await made.settle(1)
        yield made
        if work.done():
            work.result()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await made.cluster.close()


def offers(outcome: Json) -> Iterator[Json]:
    """All changes that are offered, each of which is enough."""
    for short in outcome["shortfalls"]:
        yield from short["relaxations"]


async def tried(seed: int) -> Counter[str]:
    """What happened in one world, in which every change that was offered helped."""
    async with world(seed) as here:
        for _ in range(_UNITS_OF_A_WORLD):
            await here.give_up_more()
            unit = await here.arrive()
            await here.settle(2)
            if await here.bound(unit):
                here.happened["placed at once"] += 1
                if here.dice.random() < 0.8 or not await here.lose_a_pod(unit):
                    continue
            outcome = await here.told(unit)
            assert outcome["status"] == "unplaceable", (seed, unit, outcome)
            offered = list(offers(outcome))
            if not offered:
                await here.leave_alone(unit)
                assert not await here.bound(unit), (seed, unit, outcome)
                here.happened["too large for the cluster"] += 1
                await here.leave(f"default/{unit}")
                continue
            here.happened["waited"] += 1
            kind = here.dice.choice(sorted({each["change"] for each in offered}))
            chosen = here.dice.choice([each for each in offered if each["change"] == kind])
            await here.carry_out(unit, chosen)
            await here.settle(11)
            assert await here.bound(unit), (seed, unit, chosen, outcome)
            if here.dice.random() < 0.3:
                await here.leave(f"default/{unit}")
        return here.happened


async def test_what_is_offered_to_some_units_helps_them() -> None:
    happened = await tried(1)

    assert happened["waited"] > 5
    assert happened["placed at once"] > 5


@pytest.mark.parametrize(
    "units",
    [
        pytest.param(250, id="250 units", marks=pytest.mark.slow),
        pytest.param(1_000, id="1,000 units", marks=pytest.mark.long),
    ],
)
async def test_what_is_offered_to_many_units_helps_them(units: int) -> None:
    happened: Counter[str] = Counter()
    seed = 1
    while happened["waited"] < units:
        seed += 1
        happened += await tried(seed)
    sys.stdout.write(f"{happened['waited']} units that waited in {seed - 1} clusters: {dict(happened)}\n")
