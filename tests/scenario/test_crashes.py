"""A crash or a lost answer at any write of a gang's life leaves nothing half done.

On the embedded cluster in a time that is moved, and in ``make e2e`` on a real API server.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from closeknit.kube.clock import SYSTEM_CLOCK
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import KubernetesApi
from closeknit.testing.clock import HandClock
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.faulty_api import Fault
from tests.scenario import bound
from tests.scenario.controlled import connected
from tests.scenario.lives import ClaimLife, Life, VolumeLife
from tests.unit.scheduler.living import DEFINITIONS


@asynccontextmanager
async def life(
    point: int | None = None,
    fault: Fault = Fault.UNSENT,
    real: KubernetesApi | None = None,
    kind: type[Life] = Life,
) -> AsyncIterator[Life]:
    clock = HandClock()
    embedded = EmbeddedCluster(DEFINITIONS, clock=clock, dice=Random(1))
    made = kind(embedded, clock, point, fault) if real is None else kind(real, SYSTEM_CLOCK, point, fault)
    try:
        yield made
    finally:
        await made.end()
        await bound.clear(made.cluster)
        if real is not None:
            await bound.cleared(real)
        await embedded.close()


async def points(real: KubernetesApi | None = None, kind: type[Life] = Life) -> list[str]:
    """Every write of an undisturbed life."""
    async with life(real=real, kind=kind) as undisturbed:
        await undisturbed.live()
        return undisturbed.api.writes


async def run_all(
    points: list[int], faults: list[Fault], real: KubernetesApi | None = None, kind: type[Life] = Life
) -> int:
    runs = 0
    for point in points:
        for fault in faults:
            async with life(point, fault, real, kind) as disturbed:
                await disturbed.live()
                # The last write may be the fatal one, and the life ends while the scheduler is replaced.
                await disturbed.replaced()
                died = fault in (Fault.KILLED_AFTER, Fault.KILLED_BEFORE)
                # In real time, a life may take fewer writes than the one in which they were counted.
                reached = real is None or point < len(disturbed.api.writes)
                assert disturbed.restarts == (died and reached), (point, fault)
            runs += 1
    return runs


async def test_an_undisturbed_life() -> None:
    writes = await points()

    assert len([each for each in writes if each.startswith("bind")]) >= 13
    assert [each for each in writes if each.startswith("evict")] == ["evict c1"]


@pytest.mark.requirement("A51")
@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_some_writes_leaves_nothing_half_done(fault: Fault) -> None:
    await run_all([1, 5, 9], [fault])


@pytest.mark.parametrize("fault", [Fault.KILLED_AFTER, Fault.UNANSWERED])
async def test_a_fault_at_some_writes_into_claims_leaves_nothing_half_done(fault: Fault) -> None:
    await run_all([0, 3], [fault], kind=ClaimLife)


@pytest.mark.parametrize("fault", [Fault.KILLED_AFTER, Fault.UNANSWERED])
async def test_a_fault_at_some_writes_for_volumes_leaves_nothing_half_done(fault: Fault) -> None:
    await run_all([0, 5], [fault], kind=VolumeLife)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Life, ClaimLife, VolumeLife])
async def test_a_fault_at_every_write_leaves_nothing_half_done(
    kind: type[Life], capsys: pytest.CaptureFixture[str]
) -> None:
    writes = await points(kind=kind)
    number = len(writes)
    assert len([each for each in writes if each.startswith("patch ResourceClaim")]) == 6 * (kind is ClaimLife)
    assert len([each for each in writes if each.startswith("patch PersistentVolume")]) == 6 * (
        kind is VolumeLife
    )
    runs = await run_all(list(range(number)), list(Fault), kind=kind)

    with capsys.disabled():
        sys.stdout.write(f"\nembedded cluster: {number} points, {runs} runs\n")
    assert runs == number * len(Fault)


@pytest.mark.e2e
@pytest.mark.requirement("A51", "A52")
@pytest.mark.parametrize("kind", [Life, ClaimLife, VolumeLife])
@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_every_write_on_a_real_api_server(
    fault: Fault, kind: type[Life], plane: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    async with connected(plane) as real:
        number = len(await points(real, kind))
        runs = await run_all(list(range(number)), [fault], real, kind)

    with capsys.disabled():
        sys.stdout.write(f"\nreal API server, {fault.value}: {number} points, {runs} runs\n")
    assert runs == number
