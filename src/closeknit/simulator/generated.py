"""Workloads by dice: sizes, durations, arrivals and bursts. Equal seeds draw equal workloads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from closeknit.hub.resources import Resources
from closeknit.simulator.scenario import Ask, Site, Submission

TRAINING_SIZES: Mapping[int, float] = {1: 30, 2: 10, 4: 10, 8: 20, 16: 10, 32: 8, 64: 6, 128: 4, 256: 2}
"""Devices of a gang, and how frequent it is: most are small, most devices are in large ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How workloads are drawn."""

    workloads: int
    sizes: Mapping[int, float] = field(default_factory=lambda: TRAINING_SIZES)
    """Devices of a gang, and how frequent it is."""
    pod: int = 8
    """Devices of a pod at most; a larger gang has several."""
    median: float = 3600.0
    """Seconds that half of the gangs run at most; durations are log-normal."""
    sigma: float = 1.0
    """How far durations spread: the standard deviation of their logarithm."""
    longest: float = 48 * 3600.0
    load: float = 0.9
    """What arrives, in device seconds, as a share of what the site has; sets the rate of arrivals."""
    required: float = 0.3
    """The share of gangs of several pods that require their level; the others prefer it."""
    burst_share: float = 0.0
    """The share of gangs that come in bursts instead of one by one."""
    burst_size: int = 50
    priorities: Mapping[int, float] = field(default_factory=lambda: {0: 1.0})


def generate(mix: Mix, site: Site, seed: int) -> tuple[Submission, ...]:
    """Draw workloads for a site. A gang asks for the finest level that could hold it if it were empty."""
    dice = Random(f"{seed}/workloads")  # noqa: S311 (seeded random numbers are the point)
    gangs = [(size, _duration(mix, dice)) for size in _drawn(mix.sizes, mix.workloads, dice)]
    work = sum(size * runs for size, runs in gangs)
    span = work / (mix.load * site.devices) if site.devices else 0.0
    times = sorted(_arrivals(mix, span, dice))
    priorities = _drawn(mix.priorities, mix.workloads, dice)
    room = Rooms(site)
    width = len(str(mix.workloads))
    return tuple(
        Submission(
            f"gang-{number:0{width}}",
            at,
            runs,
            _ask(mix, site, room, size, required=dice.random() < mix.required),
            priority,
        )
        for number, (at, (size, runs), priority) in enumerate(zip(times, gangs, priorities, strict=True))
    )


class Rooms:
    """How many devices the largest domain of each level has."""

    def __init__(self, site: Site) -> None:
        self._levels = [label for label in (site.rack, site.block) if label is not None]
        self._largest: dict[str, float] = {}
        for label in self._levels:
            depth = site.topology.index(label)
            assert depth is not None
            found: dict[tuple[str, ...], int] = {}
            for node in site.nodes:
                path = site.topology.path(node.labels)[: depth + 1]
                if len(path) == depth + 1:
                    found[path] = found.get(path, 0) + node.allocatable.get(site.resource, 0)
            self._largest[label] = max(found.values(), default=0) / site.scale

    def level_for(self, devices: int) -> str | None:
        """The finest level that could hold so many."""
        return next((label for label in self._levels if self._largest[label] >= devices), None)


def _ask(mix: Mix, site: Site, room: Rooms, size: int, *, required: bool) -> Ask:
    pods = math.ceil(size / mix.pod)
    each = min(size, mix.pod)
    level = room.level_for(pods * each) if pods > 1 else None
    resources = Resources({site.resource: each * site.scale})
    if required:
        return Ask(pods, resources, required=level)
    return Ask(pods, resources, preferred=level)


def _drawn(weights: Mapping[int, float], number: int, dice: Random) -> list[int]:
    return dice.choices(list(weights), weights=list(weights.values()), k=number)


def _duration(mix: Mix, dice: Random) -> float:
    return float(round(min(max(dice.lognormvariate(math.log(mix.median), mix.sigma), 1.0), mix.longest)))


def _arrivals(mix: Mix, span: float, dice: Random) -> list[float]:
    """Times within the span: one by one at any time, or many at the time of a burst."""
    in_bursts = round(mix.workloads * mix.burst_share)
    times = [round(dice.uniform(0.0, span), 3) for _ in range(mix.workloads - in_bursts)]
    while in_bursts > 0:
        at, size = round(dice.uniform(0.0, span), 3), min(mix.burst_size, in_bursts)
        times.extend([at] * size)
        in_bursts -= size
    return times
