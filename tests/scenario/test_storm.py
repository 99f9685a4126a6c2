"""Storms in virtual time; after each, an auditor that reads only the API finds nothing wrong.

``STORM_MINUTES`` says for how long it blows in all on the embedded cluster (30 for a full run),
``STORM_REAL_MINUTES`` on a real API server (5), and ``STORM_SEED`` which storms they are.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.testing.clock import HandClock
from closeknit.testing.control_plane import ControlPlane
from tests.scenario.bound import DEFINITIONS
from tests.scenario.controlled import connected
from tests.scenario.storm import RACK, Storm
from tests.unit.scheduler.objects import pod, pod_group

MINUTES = float(os.environ.get("STORM_MINUTES", "3"))
REAL_MINUTES = float(os.environ.get("STORM_REAL_MINUTES", "0.5"))
SEED = int(os.environ.get("STORM_SEED", "1"))
_GUST = 30.0
_LONG_GUST = 100.0
"""In real time, since a calm takes long."""
_GUSTS = 4
"""So often one storm blows, with a calm after each."""


@asynccontextmanager
async def embedded(seed: int, *, reserving: bool = False, queues: bool = False) -> AsyncIterator[Storm]:
    """A storm over an embedded cluster, in virtual time."""
    clock = HandClock()
    cluster = EmbeddedCluster(DEFINITIONS, clock=clock, dice=Random(seed + 1))
    storm = Storm(seed, cluster, clock, reserving=reserving, queues=queues)
    try:
        await storm.begin()
        yield storm
    finally:
        await storm.kill()
        await cluster.close()


async def weathered(storm: Storm, gusts: int = _GUSTS, seconds: float = _GUST) -> Counter[str]:
    """What happened in one storm, which left nothing wrong at any quiet moment."""
    for number in range(gusts):
        await storm.blow(seconds)
        assert await storm.calm() == [], f"after gust {number + 1}"
    return storm.happened + storm.faults.done


RESERVING = pytest.mark.parametrize(
    "reserving",
    [
        pytest.param(False, id="whoever fits is placed"),
        pytest.param(True, id="a place is kept for the first that does not fit"),
    ],
)


@RESERVING
async def test_a_gust_leaves_nothing_wrong(*, reserving: bool) -> None:
    async with embedded(7, reserving=reserving) as storm:
        happened = await weathered(storm, 1)

    assert happened["arrive"] > 5


async def test_queues_use_what_their_pods_request_after_a_gust() -> None:
    async with embedded(7, queues=True) as storm:
        happened = await weathered(storm, 1)

    assert happened["recounts"] > 100


@pytest.mark.slow
async def test_queues_use_what_their_pods_request_in_storms() -> None:
    happened: Counter[str] = Counter()
    for number in range(max(1, round(MINUTES * 60 / _GUST / _GUSTS))):
        sys.stdout.write(f"STORM_SEED={SEED + number}\n")
        async with embedded(SEED + number, queues=True) as storm:
            happened += await weathered(storm)
    sys.stdout.write(f"{MINUTES:g} minutes of storms with queues: {dict(happened)}\n")


@pytest.mark.slow
@RESERVING
async def test_storms_leave_nothing_wrong(*, reserving: bool) -> None:
    happened: Counter[str] = Counter()
    for number in range(max(1, round(MINUTES * 60 / _GUST / _GUSTS))):
        sys.stdout.write(f"STORM_SEED={SEED + number}\n")
        async with embedded(SEED + number, reserving=reserving) as storm:
            happened += await weathered(storm)
    sys.stdout.write(f"{MINUTES:g} minutes of storms: {dict(happened)}\n")


@pytest.mark.e2e
@pytest.mark.slow
@RESERVING
async def test_a_storm_over_a_real_api_server_leaves_nothing_wrong(
    plane: ControlPlane, *, reserving: bool
) -> None:
    async with connected(plane) as api:
        storm = Storm(SEED, api, SYSTEM_CLOCK, reserving=reserving)
        try:
            await storm.begin()
            gusts = max(1, round(REAL_MINUTES * 60 / _LONG_GUST))
            happened = await weathered(storm, gusts, REAL_MINUTES * 60 / gusts)
        finally:
            await storm.kill()
    sys.stdout.write(f"{REAL_MINUTES:g} minutes of storm over a real API server: {dict(happened)}\n")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("over", id="a node with more than it offers"),
        pytest.param("apart", id="a gang over two racks"),
        pytest.param("partial", id="a part of a gang"),
        pytest.param("waiting", id="a gang that waits although there is room"),
    ],
)
async def test_the_auditor_finds(broken: str) -> None:
    constraint = {"topologyConstraint": {"topology": "tree", "requiredTopologyLevel": RACK}}
    on = {
        "over": ("z0-r0-h0", "z0-r0-h0"),
        "apart": ("z0-r0-h0", "z0-r1-h0"),
        "partial": ("z0-r0-h0", ""),
        "waiting": ("", ""),
    }[broken]
    async with embedded(1) as storm:
        await storm.kill()
        pods = [pod(f"g-{i}", "g", gpus=5, on=name) for i, name in enumerate(on)]
        await storm.create(pod_group("g", minMember=2, **constraint), *pods)
        found = await storm.complaints()

    words = {
        "over": ["has 10 of"],
        "apart": ["requires one rack"],
        "partial": ["is partial", "waits, and there is room"],
        "waiting": ["waits, and there is room"],
    }[broken]
    assert len(found) == len(words)
    assert all(part in sentence for part, sentence in zip(words, found, strict=True))
