"""``python -m bench.e2e``: measure the scheduler on a real API server.

Every figure stands beside what the same machine does in the same run without a scheduler: creating the same
objects, and binding the same pods in a bare loop over as many connections. Before anything counts, both have
been done once with a tenth of the gangs, so that neither meets a server that has never done this. Then they
take turns, and each begins when the control plane is done with what the other has left. A machine is now
faster and now slower, so each round of the scheduler stands beside what was measured right before and right
after it, and all rounds count together.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.e2e import shapes
from bench.e2e.bed import bindings, check_gangs, clear, create, prepare, processor_seconds, quiet, scheduler
from bench.kube.work import WORKERS, each, timed
from closeknit.kube.port import KubernetesApi, Selection
from closeknit.kube.resources import PODS, Resource
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane

_PODS, _GPUS = 4, 2


def main(arguments: list[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.e2e", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--gangs", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=6, help="which count together")
    parser.add_argument("--queued", type=int, default=1_000, help="units that wait while others are judged")
    parser.add_argument("--judged", type=int, default=100, help="infeasible gangs")
    parser.add_argument("--large", type=int, nargs=2, default=(5_000, 20_000), metavar=("NODES", "PODS"))
    parser.add_argument("parts", nargs="*", default=[], help=f"of {', '.join(_PARTS)}; left out: all")
    options = parser.parse_args(arguments)
    for name in options.parts or _PARTS:
        try:
            with control_plane(tell=print) as plane, tempfile.TemporaryDirectory() as folder:
                asyncio.run(_PARTS[name](plane, Path(folder), options))
        except GoMissingError as error:
            print(error)
    return 0


def _gangs(number: int, prefix: str = "gang") -> Iterator[tuple[Resource, dict[str, Any]]]:
    for each_gang in range(number):
        yield from shapes.gang(f"{prefix}-{each_gang:04}", _PODS, _GPUS)


@dataclass(frozen=True, slots=True)
class _Round:
    """How long creating gangs and binding their pods took, and what it cost."""

    created: float
    bound: float
    """Seconds from the first creation to the end."""
    used: dict[str, float]
    """Seconds of processor by program."""

    def cost(self) -> float:
        """Seconds of processor in all."""
        return sum(self.used.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{program} {seconds:.1f}" for program, seconds in sorted(self.used.items()))
        return f"processor {self.cost():.1f} s ({parts})"


def _since(before: dict[str, float], plane: ControlPlane) -> dict[str, float]:
    return {name: used - before.get(name, 0.0) for name, used in processor_seconds(plane).items()}


async def _throughput(plane: ControlPlane, folder: Path, options: argparse.Namespace) -> None:
    access = load_access(kubeconfig=str(plane.kubeconfig))
    alone: list[_Round] = []
    ours: list[_Round] = []
    async with connect(access, component="bench", connections=WORKERS) as api:
        await prepare(api, options.nodes)
        few = max(options.gangs // 10, 1)
        await _alone(api, plane, few, options.nodes)
        await _scheduled(api, plane, folder / "scheduler.log", few)
        alone.append(await _alone(api, plane, options.gangs, options.nodes))
        _say_alone(alone[-1])
        for number in range(1, options.rounds + 1):
            log = folder / f"scheduler-{number}.log"
            found, told = await _scheduled(api, plane, log, options.gangs)
            ours.append(found)
            _say(
                f"{options.gangs:,} gangs of {_PODS}, {options.nodes:,} nodes, round {number}",
                f"{found.bound:.1f} s ({options.gangs * _PODS / found.bound:,.0f} pods/s; created within "
                f"{found.created:.1f} s, {told} gangs told by then; {found})",
            )
            alone.append(await _alone(api, plane, options.gangs, options.nodes))
            _say_alone(alone[-1])
    beside = [(before.bound + after.bound) / 2 for before, after in pairwise(alone)]
    ratio = sum(beside) / sum(each.bound for each in ours)
    cost = sum((before.cost() + after.cost()) / 2 for before, after in pairwise(alone))
    each = ", ".join(f"{bare / found.bound:.0%}" for bare, found in zip(beside, ours, strict=True))
    _say("of creating and bare bindings", f"{ratio:.0%} ({each})", "at least 90%", met=ratio >= 0.9)
    _say("the same, by seconds of processor", f"{cost / sum(found.cost() for found in ours):.0%}")


def _say_alone(found: _Round) -> None:
    _say(
        "alone",
        f"{found.bound:.1f} s (creating {found.created:.1f} s, bare bindings "
        f"{found.bound - found.created:.1f} s; {found})",
    )


async def _alone(api: KubernetesApi, plane: ControlPlane, gangs: int, nodes: int) -> _Round:
    """Create gangs and bind their pods, without a scheduler."""
    await quiet(plane)
    before = processor_seconds(plane)
    # Whoever measures watches in both cases, which costs the server something.
    async with bindings(api):
        creating = await timed(create(api, _gangs(gangs)))
        binding = await timed(_bare_bindings(api, gangs, nodes))
    found = _Round(creating, creating + binding, _since(before, plane))
    await clear(api)
    return found


async def _scheduled(api: KubernetesApi, plane: ControlPlane, log: Path, gangs: int) -> tuple[_Round, int]:
    """Create gangs and have the scheduler bind their pods; and how many gangs' status tells of it by then."""
    async with scheduler(plane.kubeconfig, log):
        await _warm(api)
        await quiet(plane)
        before = processor_seconds(plane)
        async with bindings(api) as bound:
            begun = time.perf_counter()
            await create(api, _gangs(gangs))
            created = time.perf_counter() - begun
            await bound.until(gangs * _PODS, 300)
            taken = max(bound.at.values()) - begun
        found = _Round(created, taken, _since(before, plane))
        groups = (await api.list(shapes.POD_GROUPS, Selection(namespace=shapes.NAMESPACE))).items
        check_gangs(bound.nodes, _GPUS)
    await clear(api)
    return found, sum(bool(group.get("status", {}).get("conditions")) for group in groups)


async def _warm(api: KubernetesApi) -> None:
    """Return when the scheduler works: it has bound a gang over all of its connections.

    Those of whoever creates and binds alone are open by then, too.
    """
    async with bindings(api) as bound:
        await create(api, shapes.gang("warm", WORKERS, 1))
        await bound.until(WORKERS, 60)
    await clear(api)


async def _bare_bindings(api: KubernetesApi, gangs: int, nodes: int) -> None:
    per_node = shapes.GPUS // _GPUS

    async def bind(number: int) -> None:
        name = f"gang-{number // _PODS:04}-{number % _PODS}"
        node = f"node-{number // per_node % nodes:05}"
        await api.bind(name, node, namespace=shapes.NAMESPACE)

    await each(range(gangs * _PODS), bind)


async def _judging(plane: ControlPlane, folder: Path, options: argparse.Namespace) -> None:
    """From the last pod of a gang without room to the condition that says so, while others wait."""
    access = load_access(kubeconfig=str(plane.kubeconfig))
    async with connect(access, component="bench", connections=WORKERS) as api:
        await prepare(api, 40)
        queued = ((f"queued-{number:04}", 3) for number in range(options.queued))
        for name, pods in queued:
            await create(api, shapes.gang(name, pods, shapes.GPUS * 2))
        async with scheduler(plane.kubeconfig, folder / "scheduler.log"):
            await _told(api, f"queued-{options.queued - 1:04}", 120)
            waits = []
            for number in range(options.judged):
                name = f"judged-{number:04}"
                await create(api, shapes.gang(name, _PODS, shapes.GPUS * 2))
                begun = time.perf_counter()
                await _told(api, name, 30)
                waits.append(time.perf_counter() - begun)
        waits.sort()
        p99 = waits[min(int(len(waits) * 0.99), len(waits) - 1)]
        _say(
            f"a gang without room, {options.queued:,} others queued",
            f"condition after {statistics.median(waits) * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms",
            "p99 under 1 s",
            met=p99 < 1,
        )


async def _told(api: KubernetesApi, name: str, seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while True:
            found = await api.get(shapes.POD_GROUPS, name, namespace=shapes.NAMESPACE)
            conditions = (found.get("status") or {}).get("conditions") or ()
            if any(each_one["type"] == "Unschedulable" for each_one in conditions):
                return
            await asyncio.sleep(0.005)


async def _starting(plane: ControlPlane, folder: Path, options: argparse.Namespace) -> None:
    """From the start of the process to its first binding, on a cluster that is full of pods."""
    nodes, pods = options.large
    access = load_access(kubeconfig=str(plane.kubeconfig))
    async with connect(access, component="bench", connections=WORKERS) as api:
        await prepare(api, nodes)
        running = (
            (
                PODS,
                shapes.pod(
                    f"running-{number // _PODS}", number % _PODS, 1, node_name=f"node-{number % nodes:05}"
                ),
            )
            for number in range(pods)
        )
        groups = (
            (shapes.POD_GROUPS, shapes.pod_group(f"running-{number}", _PODS, shapes.ZONE))
            for number in range(pods // _PODS)
        )
        await create(api, groups)
        await create(api, running)
        await create(api, shapes.gang("first", _PODS, _GPUS))
        log = folder / "scheduler.log"
        async with bindings(api, "first-") as bound, scheduler(plane.kubeconfig, log) as ours:
            await bound.until(1, 120)
            first = min(bound.at.values()) - ours.started
            await asyncio.sleep(2)
            peak, used = ours.peak_megabytes(), ours.processor_seconds()
        _say(
            f"{nodes:,} nodes, {pods:,} running pods",
            f"first binding {first:.1f} s after the start ({used:.1f} s of processor), at most {peak:.0f} MB",
            "at most 12 s and 500 MB",
            met=first <= 12 and peak <= 500,
        )


_PARTS: dict[str, Callable[[ControlPlane, Path, argparse.Namespace], Any]] = {
    "throughput": _throughput,
    "judging": _judging,
    "starting": _starting,
}


def _say(what: str, figure: str, target: str = "", *, met: bool = True) -> None:
    verdict = f"   {'met' if met else 'MISSED'}: {target}" if target else ""
    print(f"{what:<48} {figure}{verdict}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
