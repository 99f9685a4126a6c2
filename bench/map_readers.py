"""Whether those who look at the live map slow the scheduler down.

``python -m bench.map_readers [READERS] [--rate PODS]``; 200 readers and 500 pods a second where nothing is
said. On a real API server the pods of 1,000 gangs of 4 that require a rack are there before the scheduler
starts. Their PodGroups are then created at this rate, or, with a rate of 0, were there as well, so that the
scheduler binds as fast as it can. What is measured is how many pods it binds in a second, from the first
binding to the last, how long gangs wait, and how much of the processor the scheduler uses. Rounds without a
map take turns with rounds with the map of ``closeknit run --map-port`` and readers of its server-sent events.
Readers are in a process that runs only where nobody else wants the processor, since browsers are on other
machines; every update reaches every one of them. After each round it is said how much of the processor every
program used while pods were bound.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import aiohttp
import msgspec

from bench.e2e import shapes
from bench.e2e.bed import (
    Bound,
    Scheduler,
    bindings,
    check_gangs,
    clear,
    create,
    prepare,
    processor_seconds,
    quiet,
    running,
    scheduler,
)
from bench.kube.work import WORKERS
from closeknit.cli.map_process import NICENESS, step_back
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane

_NODES, _GANGS, _PODS, _GPUS, _ROUNDS = 1_000, 1_000, 4, 2, 3
_PATIENCE = 300.0
_MAP = f"from closeknit.cli import main, map_process; map_process.step_back({NICENESS}); main()"


class _Seen(msgspec.Struct):
    """Of the map, what a reader needs to go on from it."""

    generation: int
    version: int
    topology: str


@asynccontextmanager
async def _map(plane: ControlPlane, log: Path) -> AsyncIterator[tuple[str, Scheduler]]:
    """The address of a map that is served as beside a scheduler, and its process."""
    command = (sys.executable, "-c", _MAP, "web", f"--kubeconfig={plane.kubeconfig}", "--port=0")
    async with running(command, log) as started:
        async with asyncio.timeout(_PATIENCE):
            while (found := _address(log)) is None:  # noqa: ASYNC110 (another process writes it)
                await asyncio.sleep(0.1)
        yield found, started


def _address(log: Path) -> str | None:
    found = re.search(r"http://\S+", log.read_text(encoding="utf-8"))
    return found[0] if found is not None else None


@asynccontextmanager
async def _readers(address: str, number: int) -> AsyncIterator[Synchronized[int]]:
    """So many that listen; how many updates all of them have received."""
    spawn = multiprocessing.get_context("spawn")
    listening, updates = spawn.Value("q", 0), spawn.Value("q", 0)
    process = spawn.Process(target=_read, args=(address, number, listening, updates), daemon=True)
    process.start()
    try:
        async with asyncio.timeout(_PATIENCE):
            while listening.value < number:  # noqa: ASYNC110 (another process counts)
                await asyncio.sleep(0.1)
        yield updates
    finally:
        process.terminate()
        process.join()


def _read(address: str, readers: int, listening: Synchronized[int], updates: Synchronized[int]) -> None:
    step_back(19)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    async def reader(session: aiohttp.ClientSession) -> None:
        async with session.get(f"{address}api/v1/map") as answer:
            seen = msgspec.json.decode(await answer.read(), type=_Seen)
        query = f"generation={seen.generation}&version={seen.version}&topology={seen.topology}"
        async with session.get(f"{address}api/v1/events?{query}") as events:
            listening.value += 1
            async for chunk in events.content.iter_any():
                updates.value += chunk.count(b"event: update")

    async def everybody() -> None:
        limits = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=limits, timeout=aiohttp.ClientTimeout(None)) as session:
            started = []
            for _ in range(readers):
                started.append(asyncio.create_task(reader(session)))
                # A client may ask 50 times a second.
                await asyncio.sleep(0.05)
            await asyncio.gather(*started)

    asyncio.run(everybody())


async def _round(plane: ControlPlane, api: KubernetesApi, folder: Path, readers: int, rate: float) -> float:
    """Pods bound in a second while so many look."""
    names = [f"readers-{i:04}" for i in range(_GANGS)]
    parts = [part for name in names for part in shapes.gang(name, _PODS, _GPUS)]
    await create(api, (part for part in parts if not rate or part[0] is PODS))
    async with AsyncExitStack() as stack:
        bound = await stack.enter_async_context(bindings(api, "readers"))
        updates, shown = None, None
        if readers:
            address, shown = await stack.enter_async_context(_map(plane, folder / "map.log"))
            updates = await stack.enter_async_context(_readers(address, readers))
        started = await stack.enter_async_context(scheduler(plane.kubeconfig, folder / "scheduler.log"))
        if rate:
            await _begin(api, bound, names[0])
        before = _used(plane, started, shown)
        asked = await _ask(api, names[1:], rate) if rate else {}
        await bound.until(_GANGS * _PODS, _PATIENCE)
        after = _used(plane, started, shown)
        seconds = max(bound.at.values()) - min(bound.at.values())
        reached, received = len(bound.at) / seconds, updates.value if updates is not None else 0
        told = f"{readers:>4} readers: {reached:.0f} pods/s"
        if asked:
            waits = sorted(max(bound.at[f"{name}-{i}"] for i in range(_PODS)) - asked[name] for name in asked)
            told += (
                f", gangs waited {statistics.median(waits):.2f} s, p99 {waits[len(waits) * 99 // 100]:.2f}"
            )
        used = ", ".join(f"{name} {after[name] - before[name]:.1f}" for name in after)
        told += f"; {received:,} updates received\n      seconds of processor: {used}"
        if shown is not None:
            told += f" (before that {before['map']:.1f})"
        print(told, flush=True)
    check_gangs(bound.nodes, _GPUS)
    await clear(api)
    await quiet(plane)
    return reached


def _used(plane: ControlPlane, started: Scheduler, shown: Scheduler | None) -> dict[str, float]:
    """What every program has used of the processor so far; the map last, whose total tells of its start."""
    used = processor_seconds(plane)
    del used["closeknit"]
    used["scheduler"] = started.processor_seconds()
    return used | ({"map": shown.processor_seconds()} if shown is not None else {})


async def _begin(api: KubernetesApi, bound: Bound, first: str) -> None:
    """Have one gang bound alone, so that a scheduler that is starting does not count."""
    await api.create(shapes.POD_GROUPS, shapes.pod_group(first, _PODS))
    await bound.until(_PODS, _PATIENCE)
    bound.at.update(dict.fromkeys(bound.at, time.perf_counter()))


async def _ask(api: KubernetesApi, names: Sequence[str], rate: float) -> dict[str, float]:
    """Create the PodGroups whose pods are there, so many pods a second; when each was created."""
    asked: dict[str, float] = {}
    begun = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number, name in enumerate(names):
            await asyncio.sleep(max(begun + number * _PODS / rate - time.perf_counter(), 0.0))
            asked[name] = time.perf_counter()
            tasks.create_task(api.create(shapes.POD_GROUPS, shapes.pod_group(name, _PODS)))
    return asked


async def _measure(plane: ControlPlane, readers: int, rate: float) -> None:
    found: dict[int, list[float]] = {0: [], readers: []}
    access = load_access(kubeconfig=str(plane.kubeconfig))
    print(f"load of the machine at the start {os.getloadavg()[0]:.1f}")
    async with connect(access, component="bench", connections=WORKERS) as api:
        await prepare(api, _NODES)
        with tempfile.TemporaryDirectory() as folder:
            await _round(plane, api, Path(folder), 0, rate)
            print("  (not counted)")
            for _ in range(_ROUNDS):
                for there, rates in found.items():
                    rates.append(await _round(plane, api, Path(folder), there, rate))
    ratio = statistics.median(found[readers]) / statistics.median(found[0])
    verdict = "met" if ratio > 0.95 else "MISSED"
    print(f"with {readers} readers {ratio:.1%} of the rate without   {verdict}: more than 95%")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readers", type=int, nargs="?", default=200)
    parser.add_argument("--rate", type=float, default=500.0, help="pods a second; 0: as fast as it can")
    chosen = parser.parse_args()
    try:
        with control_plane(tell=print) as plane:
            asyncio.run(_measure(plane, chosen.readers, chosen.rate))
    except GoMissingError as error:
        print(error)


if __name__ == "__main__":
    main()
