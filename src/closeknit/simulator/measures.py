"""Figures of a replay, all worked out from its history, so that every policy is measured alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from closeknit.simulator.history import History, Stay
from closeknit.simulator.room import Level, Placement, Room
from closeknit.simulator.scenario import Scenario, SiteVariant

SAMPLES = 200
"""How many moments of a replay are looked at."""


@dataclass(frozen=True, slots=True)
class GangFigures:
    """One gang: when it ran, and how close its pods were in its last stay."""

    submission: int
    started: float | None
    """When it first ran; None where it never did."""
    ended: float | None
    restarts: int
    racks: int
    blocks: int
    preference_met: bool | None
    """None where it prefers nothing, or never ran."""
    requirement_kept: bool | None
    ring: float
    """The share of the links of a ring through its pods that leave a rack."""
    all_to_all: float
    """The share of all pairs of its pods that are in different racks."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The cluster at one moment."""

    at: float
    used: float
    """The share of devices in use, of those on nodes that have not failed."""
    fragmentation: float
    """0 where what is free lies in one rack as far as racks allow, towards 1 the more it is scattered."""
    largest_in_rack: float
    """Devices of the largest gang of one-device pods that fits into one rack."""
    largest_in_block: float
    waiting: int
    """Gangs that have arrived and do not run."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long gangs of one size waited, in seconds."""

    devices: str
    """Such as ``8`` or ``9-16``."""
    gangs: int
    never: int
    """How many of them never ran."""
    mean: float
    median: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class Figures:
    """All that is told of one replay."""

    policy: str
    variant: SiteVariant
    gangs: tuple[GangFigures, ...]
    samples: tuple[Sample, ...]
    waits: tuple[Waits, ...]
    """By size."""
    summary: dict[str, float | int | None]


def window(scenario: Scenario, histories: Sequence[History]) -> float:
    """Until when policies are compared: the last arrival, or when the first has started everybody."""
    last = max((each.at for each in scenario.submissions), default=0.0)
    starts = [max((stay.started for stay in each.stays), default=0.0) for each in histories]
    return max(last, min(starts, default=0.0))


def measured(
    scenario: Scenario, history: History, policy: str, variant: SiteVariant, until: float
) -> Figures:
    """The figures of one replay, compared until a moment that is the same for all."""
    room = Room(scenario.site)
    gangs = tuple(_gangs(scenario, history, room))
    samples = tuple(_samples(scenario, history, room, until))
    waits = tuple(_waits_by_size(scenario, gangs))
    return Figures(policy, variant, gangs, samples, waits, _summary(scenario, history, gangs, samples, until))


# ---------------------------------------------------------------------------------------------- gangs


def _gangs(scenario: Scenario, history: History, room: Room) -> Iterator[GangFigures]:
    stays: dict[int, list[Stay]] = {}
    for stay in history.stays:
        stays.setdefault(stay.submission, []).append(stay)
    site = scenario.site
    rack, block = (room.levels.get(label or "") for label in (site.rack, site.block))
    for number, submission in enumerate(scenario.submissions):
        own = stays.get(number)
        if own is None:
            yield GangFigures(number, None, None, 0, 0, 0, None, None, 0.0, 0.0)
            continue
        last = own[-1]
        racks = _domains(rack, last.nodes)
        ask = submission.ask
        yield GangFigures(
            submission=number,
            started=own[0].started,
            ended=None if last.lost else last.ended,
            restarts=sum(stay.lost for stay in own),
            racks=len(racks),
            blocks=len(_domains(block, last.nodes)),
            preference_met=_shares(room, ask.preferred, last.nodes),
            requirement_kept=_shares(room, ask.required, last.nodes),
            ring=len(racks) / ask.pods if len(racks) > 1 else 0.0,
            all_to_all=_pairs_apart(racks, ask.pods),
        )


def _domains(level: Level | None, nodes: Placement) -> Counter[int]:
    """Pods by domain; a node outside the tree stands for itself, and without a level all are in one."""
    found: Counter[int] = Counter()
    for node, pods in nodes:
        number = int(level.of_node[node]) if level is not None else 0
        found[number if number >= 0 else -1 - node] += pods
    return found


def _shares(room: Room, label: str | None, nodes: Placement) -> bool | None:
    if label is None:
        return None
    domains = _domains(room.levels[label], nodes)
    return len(domains) == 1 and min(domains) >= 0


def _pairs_apart(racks: Counter[int], pods: int) -> float:
    if pods < 2:
        return 0.0
    return 1 - sum(each * (each - 1) for each in racks.values()) / (pods * (pods - 1))


# ------------------------------------------------------------------------------------------ over time

_LEAVES, _FAILS, _RETURNS, _STARTS, _LOOK = range(5)


def _samples(scenario: Scenario, history: History, room: Room, until: float) -> Iterator[Sample]:
    """Looks at the cluster now and then; what was given out twice is found on the way."""
    events: list[tuple[float, int, int]] = []
    for number, stay in enumerate(history.stays):
        events += [(stay.started, _STARTS, number), (stay.ended, _LEAVES, number)]
    for node, fails, returns in history.outages:
        events += [(fails, _FAILS, node), (returns, _RETURNS, node)]
    events += [((i + 0.5) * until / SAMPLES, _LOOK, 0) for i in range(SAMPLES)]
    # A gang that runs for no time at all starts before it leaves.
    events.sort(
        key=lambda event: (event[0], event[1] if not _is_empty(history, event) else _STARTS, event[2])
    )
    arrivals = np.array([each.at for each in scenario.submissions])
    running = over = 0
    for at, what, number in events:
        if what == _LOOK:
            arrived = int(np.searchsorted(arrivals, at, side="right"))
            yield _sample(scenario, room, at, max(arrived - running - over, 0))
        elif what in (_FAILS, _RETURNS):
            room.up[number] = what == _RETURNS
        else:
            stay = history.stays[number]
            ask = scenario.submissions[stay.submission].ask
            if not stay.held:
                (room.take if what == _STARTS else room.give_back)(ask, stay.nodes)
            for node, amounts in stay.held:
                room.change(node, amounts, -1 if what == _STARTS else 1)
            running += 1 if what == _STARTS else -1
            over += what == _LEAVES and not stay.lost


def _is_empty(history: History, event: tuple[float, int, int]) -> bool:
    if event[1] != _LEAVES:
        return False
    stay = history.stays[event[2]]
    return stay.started == stay.ended


def _sample(scenario: Scenario, room: Room, at: float, waiting: int) -> Sample:
    site = scenario.site
    free = np.where(room.up, room.scarce, 0)
    total = np.where(room.up, room.scarce_total, 0)
    there = int(total.sum())
    rack, block = (_largest(room, label, free, total) for label in (site.rack, site.block))
    together = min(int(free.sum()), rack[1])
    return Sample(
        at=at,
        used=1 - int(free.sum()) / there if there else 0.0,
        fragmentation=1 - rack[0] / together if together else 0.0,
        largest_in_rack=rack[0] / site.scale,
        largest_in_block=block[0] / site.scale,
        waiting=waiting,
    )


def _largest(room: Room, label: str | None, free: np.ndarray, total: np.ndarray) -> tuple[int, int]:
    """What is free where most is, and what the largest domain has; None is the whole cluster."""
    if label is None:
        return int(free.sum()), int(total.sum())
    level = room.levels[label]
    return int(level.sums(free).max(initial=0)), int(level.sums(total).max(initial=0))


# --------------------------------------------------------------------------------------------- figures


def _waits_by_size(scenario: Scenario, gangs: Sequence[GangFigures]) -> Iterator[Waits]:
    by_size: dict[int, list[float | None]] = {}
    for gang in gangs:
        submission = scenario.submissions[gang.submission]
        devices = scenario.site.devices_of(submission.ask)
        waited = None if gang.started is None else max(gang.started - submission.at, 0.0)
        by_size.setdefault(_power(devices), []).append(waited)
    for power, waits in sorted(by_size.items()):
        known = sorted(each for each in waits if each is not None)
        yield Waits(
            devices=_size(power),
            gangs=len(waits),
            never=len(waits) - len(known),
            mean=sum(known) / len(known) if known else 0.0,
            median=quantile(known, 0.5),
            p90=quantile(known, 0.9),
            p99=quantile(known, 0.99),
        )


def _power(devices: float) -> int:
    """Sizes up to a power of two belong together: -1 for none, 0 for one device or a part of one."""
    return -1 if devices <= 0 else max(math.ceil(math.log2(devices)), 0)


def _size(power: int) -> str:
    if power < 1:
        return "0" if power < 0 else "1"
    low, high = 2 ** (power - 1) + 1, 2**power
    return str(high) if low == high else f"{low}-{high}"


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least value that so large a share does not exceed; 0 where there is none."""
    return ordered[max(math.ceil(len(ordered) * share) - 1, 0)] if ordered else 0.0


def _summary(
    scenario: Scenario,
    history: History,
    gangs: Sequence[GangFigures],
    samples: Sequence[Sample],
    until: float,
) -> dict[str, float | int | None]:
    submissions, site = scenario.submissions, scenario.site
    ran = [gang for gang in gangs if gang.started is not None]
    waits = sorted(max((gang.started or 0.0) - submissions[gang.submission].at, 0.0) for gang in ran)
    several = [gang for gang in ran if submissions[gang.submission].ask.pods > 1]
    work = [
        (gang, site.devices_of(submissions[gang.submission].ask) * submissions[gang.submission].runs)
        for gang in several
    ]
    busy = sum(
        site.devices_of(submissions[stay.submission].ask) * max(min(stay.ended, until) - stay.started, 0.0)
        for stay in history.stays
    )
    return {
        "gangs": len(gangs),
        "ran": len(ran),
        "never_ran": len(gangs) - len(ran),
        "restarts": sum(gang.restarts for gang in gangs),
        "node_failures": sum(fails <= until for _, fails, _ in history.outages),
        "wait_mean": sum(waits) / len(waits) if waits else 0.0,
        "wait_median": quantile(waits, 0.5),
        "wait_p90": quantile(waits, 0.9),
        "wait_p99": quantile(waits, 0.99),
        "ended": max((stay.ended for stay in history.stays), default=0.0),
        "utilisation": busy / (site.devices * until) if site.devices and until else 0.0,
        "fragmentation": _mean([each.fragmentation for each in samples]),
        "largest_in_rack": _mean([each.largest_in_rack for each in samples]),
        "largest_in_block": _mean([each.largest_in_block for each in samples]),
        "gangs_of_several_pods": len(several),
        "whole_in_rack": _share([gang.racks == 1 for gang in several]),
        "whole_in_block": _share([gang.blocks == 1 for gang in several]),
        "preferences_met": _share([gang.preference_met for gang in ran if gang.preference_met is not None]),
        "requirements_broken": sum(gang.requirement_kept is False for gang in ran),
        "traffic_leaving_racks_ring": _weighted([(gang.ring, weight) for gang, weight in work]),
        "traffic_leaving_racks_all_to_all": _weighted([(gang.all_to_all, weight) for gang, weight in work]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _share(values: Sequence[bool | None]) -> float | None:
    return sum(map(bool, values)) / len(values) if values else None


def _weighted(values: Sequence[tuple[float, float]]) -> float | None:
    total = sum(weight for _, weight in values)
    return sum(value * weight for value, weight in values) / total if total else None
