"""Random preemptors against random victims: the preemptor runs whole, and no more is evicted than needed.

Every pod takes a node of its own, so that a brute force over all sets of victims is a matter of counting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import pytest

from closeknit.testing.control_plane import ControlPlane
from tests.scenario.controlled import connected
from tests.scenario.preemption import Contest, contest, gang, job, lone, member, nodes, real_contest
from tests.unit.scheduler.objects import pod_group

_CLASSES = {"low": 10, "middle": 20}


@dataclass(frozen=True)
class Low:
    """A unit that may be evicted."""

    name: str
    cls: str
    pods: int
    minimum: int
    kind: str

    def objects(self) -> list[dict[str, Any]]:
        match self.kind:
            case "pod":
                return [lone(self.name, self.cls)]
            case "job":
                return [job(self.name, self.pods, self.cls)]
            case _:
                return gang(self.name, self.pods, self.cls, minimum=self.minimum)

    def losses(self) -> Iterator[int]:
        """How many pods it may lose at once."""
        yield from range(self.pods - self.minimum + 1)
        yield self.pods


def _units(rng: Random, number: int) -> list[Low]:
    units: list[Low] = []
    while number:
        kind = rng.choice(("pod", "job", "group", "group"))
        pods = 1 if kind == "pod" else rng.randint(1, min(4, number))
        minimum = 1 if kind in ("pod", "job") else rng.randint(1, pods)
        units.append(
            Low(f"{rng.choice('abcd')}{len(units)}", rng.choice(list(_CLASSES)), pods, minimum, kind)
        )
        number -= pods
    return units


def _cost(units: list[Low], lost: tuple[int, ...]) -> tuple[int, int, int]:
    """What the victim order compares, without the work that is lost."""
    affected = [(unit, pods) for unit, pods in zip(units, lost, strict=True) if pods]
    return (
        max((_CLASSES[unit.cls] for unit, _ in affected), default=0),
        sum(pods == unit.pods for unit, pods in affected),
        0,
    )


def _best(units: list[Low], needed: int) -> tuple[int, int, int]:
    """The cost of the best set of victims, of all that free enough nodes."""
    sets = product(*(tuple(unit.losses()) for unit in units))
    return min(_cost(units, lost) for lost in sets if sum(lost) >= needed)


async def _arrive(live: Contest, rng: Random, pods: int) -> None:
    """The preemptor arrives: a Job, or a PodGroup whose pods come one after the other."""
    if rng.random() < 0.4:
        await live.create(job("high", pods, "high"))
        return
    minimum = rng.randint(1, pods)
    await live.create(pod_group("high", minMember=minimum, priorityClassName="high"))
    for number in range(pods):
        await live.create(member("high", number))
        if gap := rng.choice((0.0, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2)):
            await live.settle(gap, step=gap)


@dataclass(frozen=True)
class Draw:
    """A cluster whose nodes each take one pod, the units that run on it, and a preemptor."""

    seed: int
    size: int
    free: int
    units: tuple[Low, ...]
    wanted: int

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [*nodes(self.size), *(obj for unit in self.units for obj in unit.objects())]

    @property
    def needed(self) -> int:
        """How many nodes have to be freed."""
        return max(self.wanted - self.free, 0)


def _draw(rng: Random, seed: int) -> Draw:
    size = rng.randint(4, 10)
    free = rng.choice((0, 0, 1, 2))
    units = _units(rng, size - free)
    return Draw(seed, size, free, tuple(units), rng.randint(1, min(8, size)))


async def _assert_preempted(live: Contest, draw: Draw) -> None:
    """The preemptor runs whole, and the evicted pods are one of the best sets of victims."""
    running, evicted = await live.running(), live.evicted_for("high")
    assert len({name for name in running if name.startswith("high")}) == draw.wanted, (draw, running)
    assert len(evicted) == len(set(evicted)), (draw, evicted)
    units = list(draw.units)
    lost = tuple(
        sum(name == unit.name or name.startswith(f"{unit.name}-") for name in evicted) for unit in units
    )
    for unit, pods in zip(units, lost, strict=True):
        assert pods in set(unit.losses()), (draw, unit, pods)
    if not draw.needed:
        assert evicted == [], draw
        return
    if all(plan.is_exact for plan in live.recorder.plans):
        assert _cost(units, lost) == _best(units, draw.needed), (draw, lost)
    # No unit could have stayed, and no surplus pod.
    for unit, pods in zip(units, lost, strict=True):
        spared = pods if pods == unit.pods else min(pods, 1)
        assert not spared or sum(lost) - spared < draw.needed, (draw, unit, lost)


async def _run(seed: int) -> None:
    rng = Random(seed)
    draw = _draw(rng, seed)
    async with contest(draw.objects) as live:
        await live.settle(rng.choice((0, 5, 20)))
        assert len(await live.running()) == draw.size - draw.free
        await _arrive(live, rng, draw.wanted)
        await live.settle(12)
        # Pods that the controller of a victim made again may preempt others in turn.
        await _assert_preempted(live, draw)
        evicted = live.evicted_for("high")
        await live.settle(70)
        assert live.evicted_for("high") == evicted, draw
        assert not live.scheduler.core.preemptions, draw
        assert live.recorder.endings == [], draw


async def _run_on_a_real_server(plane: ControlPlane, seed: int) -> None:
    rng = Random(seed)
    draw = _draw(rng, seed)
    async with connected(plane) as api, real_contest(api, draw.objects) as live:

        async def settled() -> bool:
            return len(await live.running()) == draw.size - draw.free

        async def preempted() -> bool:
            return len(await live.running("high")) == draw.wanted

        assert await live.settle_until(settled, 60), (draw, await live.running())
        await _arrive(live, rng, draw.wanted)
        await live.settle_until(preempted, 60)
        # Time for evictions too many.
        await live.settle(2)
        await _assert_preempted(live, draw)


@pytest.mark.parametrize("seed", range(30))
async def test_a_random_preemptor_runs_whole_and_no_more_is_evicted_than_needed(seed: int) -> None:
    await _run(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1300))
async def test_many_random_preemptors_run_whole_and_no_more_is_evicted_than_needed(seed: int) -> None:
    await _run(seed)


@pytest.mark.e2e
@pytest.mark.parametrize("seed", range(3))
async def test_a_random_preemptor_runs_whole_on_a_real_server(plane: ControlPlane, seed: int) -> None:
    await _run_on_a_real_server(plane, seed)


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("seed", range(2000, 2050))
async def test_many_random_preemptors_run_whole_on_a_real_server(plane: ControlPlane, seed: int) -> None:
    await _run_on_a_real_server(plane, seed)
