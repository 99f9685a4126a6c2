"""Whether those who look at the live map slow the scheduler down.

``python -m bench.map_readers [READERS]``; 200 where nothing is said. ``closeknit up`` runs as a process with
1,024 nodes; gangs of four arrive at 500 pods a second, run for some seconds and end. Rounds without readers
and with them take turns. A reader listens to server-sent events as a browser does; all are in a process of
their own. Printed are the pods bound in a second and the seconds from when a gang was whole to when it was
bound.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import aiohttp

from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS, Resource
from closeknit.kube.rest import connect, load_access

_POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
_RATE, _GANG, _SECONDS, _ROUNDS = 500, 4, 15, 3
_RUNS_FOR = 8


class Up:
    """``closeknit up`` at work, and what it has logged."""

    def __init__(self, map_address: str, api: KubernetesApi) -> None:
        self.map_address = map_address
        self.api = api
        self.waited: dict[str, float] = {}
        """By unit that was bound, how long that took."""
        self.told = asyncio.Event()

    async def follow(self, lines: asyncio.StreamReader) -> None:
        """Read the log until it ends."""
        while line := await lines.readline():
            if b'"event": "scheduled"' in line:
                said = json.loads(line)
                self.waited[said["unit"]] = said["seconds"]
                self.told.set()


@asynccontextmanager
async def _up(folder: Path) -> AsyncIterator[Up]:
    kubeconfig = folder / "kubeconfig"
    words = ("up", "--nodes", "zone=4,rack=16,host=16", "--kubeconfig", str(kubeconfig))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from closeknit.cli import main; main()",
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=1 << 20,
    )
    assert process.stdout is not None
    try:
        address = ""
        while (line := (await process.stdout.readline()).decode()) and "Ctrl-C" not in line:
            if found := re.search(r"live map is on (\S+)", line):
                address = found[1]
        async with connect(load_access(kubeconfig=str(kubeconfig)), component="readers") as api:
            started = Up(address, api)
            following = asyncio.create_task(started.follow(process.stdout))
            yield started
            following.cancel()
    finally:
        process.terminate()
        await process.wait()


async def _gang(api: KubernetesApi, name: str) -> None:
    group = {
        "apiVersion": _POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": _GANG},
    }
    await api.create(_POD_GROUPS, group)
    for i in range(_GANG):
        await api.create(PODS, _pod(name, i))


def _pod(gang: str, i: int) -> dict[str, Any]:
    annotations = {"pod-group-name": gang, "closeknit.dev/run-seconds": str(_RUNS_FOR)}
    container = {"name": "main", "image": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{gang}-{i}", "namespace": "default", "annotations": annotations},
        "spec": {"schedulerName": "kai-scheduler", "restartPolicy": "Never", "containers": [container]},
    }


async def _round(up: Up, name: str) -> tuple[float, float, float]:
    """Pods bound in a second while they arrive, and the median and p99 of how long gangs waited."""
    began = time.perf_counter()
    count = _RATE * _SECONDS // _GANG
    arriving = []
    for i in range(count):
        due = began + i * _GANG / _RATE
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        arriving.append(asyncio.create_task(_gang(up.api, f"{name}-{i}")))
    await asyncio.gather(*arriving)
    async with asyncio.timeout(120):
        while sum(f"/{name}-" in unit for unit in up.waited) < count:
            up.told.clear()
            await up.told.wait()
    waited = sorted(seconds for unit, seconds in up.waited.items() if f"/{name}-" in unit)
    rate = len(waited) * _GANG / (time.perf_counter() - began)
    return rate, statistics.median(waited), waited[int(len(waited) * 0.99)]


def _read(address: str, readers: int, updates: Synchronized[int]) -> None:
    async def reader(session: aiohttp.ClientSession) -> None:
        async with session.get(f"{address}api/v1/map") as answer:
            seen = await answer.json()
        query = f"generation={seen['generation']}&version={seen['version']}&topology={seen['topology']}"
        async with session.get(f"{address}api/v1/events?{query}") as events:
            async for chunk in events.content.iter_any():
                with updates.get_lock():
                    updates.value += chunk.count(b"event: update")

    async def everybody() -> None:
        limits = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=limits, timeout=aiohttp.ClientTimeout(None)) as session:
            started = []
            for _ in range(readers):
                started.append(asyncio.create_task(reader(session)))
                await asyncio.sleep(0.03)
            await asyncio.gather(*started)

    asyncio.run(everybody())


async def main(readers: int) -> None:
    """Measure and print."""
    found: dict[int, list[float]] = {0: [], readers: []}
    with tempfile.TemporaryDirectory() as folder:
        async with _up(Path(folder)) as up:
            await _round(up, "warm")
            for turn in range(_ROUNDS):
                for there in (0, readers):
                    updates = multiprocessing.get_context("spawn").Value("q", 0)
                    reading = multiprocessing.get_context("spawn").Process(
                        target=_read, args=(up.map_address, there, updates), daemon=True
                    )
                    if there:
                        reading.start()
                        await asyncio.sleep(10)
                    rate, median, p99 = await _round(up, f"r{turn}-{there}")
                    found[there].append(rate)
                    print(
                        f"{there:>4} readers: {rate:.0f} pods/s, gangs waited {median * 1000:.0f} ms (median)"
                        f" and {p99 * 1000:.0f} ms (p99), {updates.value} updates received",
                        flush=True,
                    )
                    if there:
                        reading.terminate()
                        reading.join()
    ratio = statistics.median(found[readers]) / statistics.median(found[0])
    print(f"pods bound in a second with {readers} readers against none: {ratio:.3f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
