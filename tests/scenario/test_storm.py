"""Storms in virtual time; after each, an auditor that reads only the API finds nothing wrong.

``STORM_MINUTES`` says for how long it blows in all (30 for a full run), ``STORM_SEED`` which storms they are.
"""

from __future__ import annotations

import os
import sys
from collections import Counter

import pytest

from closeknit.kube.embedded.loading import load
from tests.scenario.storm import RACK, Storm
from tests.unit.scheduler.objects import pod, pod_group

MINUTES = float(os.environ.get("STORM_MINUTES", "3"))
SEED = int(os.environ.get("STORM_SEED", "1"))
_GUST = 30.0
_GUSTS = 4
"""So often one storm blows, with a calm after each."""


async def weathered(seed: int, gusts: int = _GUSTS, *, reserving: bool = False) -> Counter[str]:
    """What happened in one storm, which left nothing wrong at any quiet moment."""
    storm = Storm(seed, reserving=reserving)
    await storm.begin()
    try:
        for number in range(gusts):
            await storm.blow(_GUST)
            await storm.calm()
            assert await storm.complaints() == [], f"STORM_SEED={seed}, after gust {number + 1}"
    finally:
        await storm.end()
    storm.happened["lost calls"] = storm.faults.count
    return storm.happened


RESERVING = pytest.mark.parametrize(
    "reserving",
    [
        pytest.param(False, id="whoever fits is placed"),
        pytest.param(True, id="a place is kept for the first that does not fit"),
    ],
)


@RESERVING
async def test_a_gust_leaves_nothing_wrong(*, reserving: bool) -> None:
    happened = await weathered(7, 1, reserving=reserving)

    assert happened["arrive"] > 5


@pytest.mark.slow
@RESERVING
async def test_storms_leave_nothing_wrong(*, reserving: bool) -> None:
    happened: Counter[str] = Counter()
    for number in range(max(1, round(MINUTES * 60 / _GUST / _GUSTS))):
        happened += await weathered(SEED + number, reserving=reserving)
    sys.stdout.write(f"{MINUTES:g} minutes of storms: {dict(happened)}\n")


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
    storm = Storm(1)
    constraint = {"topologyConstraint": {"topology": "tree", "requiredTopologyLevel": RACK}}
    on = {
        "over": ("z0-r0-h0", "z0-r0-h0"),
        "apart": ("z0-r0-h0", "z0-r1-h0"),
        "partial": ("z0-r0-h0", ""),
        "waiting": ("", ""),
    }[broken]
    try:
        await storm.begin()
        await storm.kill()
        pods = [pod(f"g-{i}", "g", gpus=5, on=name) for i, name in enumerate(on)]
        assert not await load(storm.cluster, [pod_group("g", minMember=2, **constraint), *pods])
        (found,) = await storm.complaints()
    finally:
        await storm.end()

    words = {
        "over": "has 10 of",
        "apart": "requires one rack",
        "partial": "is partial",
        "waiting": "waits for 2 places",
    }
    assert words[broken] in found
