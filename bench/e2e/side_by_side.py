"""``python -m bench.e2e.side_by_side``: Closeknit and kube-scheduler on one API server, in one run.

Both get the same nodes and the same pods, one after the other: pods without constraints, then gangs that
require a rack, which kube-scheduler places by its own gang and topology features. Each is measured twice:
from the first creation to the last binding, where a fast scheduler waits for whoever creates; and with all
objects there before the scheduler starts, from its first binding to its last. The first cannot be faster than
creating the objects alone, by the same client over as many connections; what that allows is told. The gangs
are also given to a kube-scheduler with its usual limits of requests a second.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from bench.e2e import shapes
from bench.e2e.bed import Bound, Scheduler, bindings, check_gangs, clear, create, prepare, running, scheduler
from bench.kube.work import WORKERS, each, timed
from closeknit.kube.port import KubernetesApi, MergePatch, Selection
from closeknit.kube.resources import PODS, Resource
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane
from closeknit.testing.control_plane.programs import KUBE_SCHEDULER, built

_PODS, _GPUS = 4, 2
_GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"
_PATIENCE = 600.0
_Objects: TypeAlias = Iterable[tuple[Resource, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Rival:
    """A scheduler, and how pods are worded for it."""

    name: str
    start: Callable[[], AbstractAsyncContextManager[Scheduler]]
    scheduler_name: str
    gang: Callable[[str, int, int], Iterator[tuple[Resource, dict[str, Any]]]]

    def plain(self, prefix: str, pods: int) -> _Objects:
        """Pods without constraints."""
        for number in range(pods):
            yield PODS, shapes.plain_pod(f"{prefix}-{number}", number, 1, self.scheduler_name)

    def gangs(self, prefix: str, gangs: int) -> _Objects:
        """Gangs that require a rack."""
        for number in range(gangs):
            yield from self.gang(f"{prefix}-{number:04}", _PODS, _GPUS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit status is 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m bench.e2e.side_by_side", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=4_000, help="without constraints")
    parser.add_argument("--gangs", type=int, default=250, help="of 4 pods that require a rack")
    options = parser.parse_args(arguments)
    flags = (f"--feature-gates={_GATES}", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
    try:
        program = built(KUBE_SCHEDULER, print) / "kube-scheduler"
        with (
            control_plane(api_server_flags=flags, tell=print) as plane,
            tempfile.TemporaryDirectory() as folder,
        ):
            asyncio.run(_compare(plane, program, Path(folder), options))
    except GoMissingError as error:
        print(error)
    return 0


async def _compare(plane: ControlPlane, program: Path, folder: Path, options: argparse.Namespace) -> None:
    # Its usual limits of 50 and 100 requests a second would be all that is measured.
    theirs = _kube_scheduler("kube-scheduler", plane, program, folder, qps=10_000, burst=10_000)
    usual = _kube_scheduler("usual limits", plane, program, folder)
    ours = Rival(
        "closeknit", lambda: scheduler(plane.kubeconfig, folder / "closeknit.log"), shapes.OURS, shapes.gang
    )
    access = load_access(kubeconfig=str(plane.kubeconfig))
    print(f"load of the machine at the start {os.getloadavg()[0]:.1f}")
    async with connect(access, component="bench", connections=WORKERS) as api:
        await prepare(api, options.nodes)
        for what, least, number, objects in (
            (f"{options.pods:,} pods without constraints", 1.0, options.pods, Rival.plain),
            (f"{options.gangs:,} gangs of {_PODS} that require a rack", 10.0, options.gangs, Rival.gangs),
        ):
            print(f"{what}, {options.nodes:,} nodes")
            pods = number * (1 if objects is Rival.plain else _PODS)
            rates: dict[str, list[float]] = {}
            for rival in (theirs, ours):
                rates[rival.name] = [
                    await measure(api, rival, objects(rival, prefix, number), pods, prefix)
                    for prefix, measure in (("arriving", _arriving), ("waiting", _waiting))
                ]
            async with bindings(api, "alone") as none:
                alone = await timed(create(api, objects(ours, "alone", number)))
            await _cleared(api, none)
            limits = (pods / alone, float("inf"))
            for name, own, other, limit in zip(
                ("from the first creation", "all there before"),
                *reversed(rates.values()),
                limits,
                strict=True,
            ):
                verdict = "met" if own >= least * other else "MISSED"
                if limit < least * other:
                    verdict = f"creating alone takes {alone:.1f} s, which allows {limit / other:.2f}"
                told = f"{own / other:.2f} times its rate   {verdict}: at least {least:g}"
                print(f"  {name:<24} {told}", flush=True)
        await _arriving(api, usual, usual.gangs("arriving", options.gangs), options.gangs * _PODS, "arriving")


def _kube_scheduler(name: str, plane: ControlPlane, program: Path, folder: Path, **limits: int) -> Rival:
    """The program with these limits of requests a second."""
    configuration = folder / f"{name}.yaml"
    written = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(plane.kubeconfig), **limits},
        "leaderElection": {"leaderElect": False},
    }
    configuration.write_text(yaml.safe_dump(written), encoding="utf-8")
    command = (str(program), f"--config={configuration}", f"--feature-gates={_GATES}", "--secure-port=0")
    log = folder / f"{name}.log"
    return Rival(name, lambda: running(command, log), shapes.THEIRS, shapes.kubernetes_gang)


async def _arriving(api: KubernetesApi, rival: Rival, objects: _Objects, pods: int, prefix: str) -> float:
    """Pods a second from the first creation to the last binding, with a scheduler at work."""
    async with rival.start() as process:
        async with bindings(api, "warm") as bound:
            await create(api, rival.gangs("warm", 1))
            await bound.until(_PODS, 120)
        used = process.processor_seconds()
        async with bindings(api, prefix) as bound:
            begun = time.perf_counter()
            await create(api, objects)
            created = time.perf_counter() - begun
            await bound.until(pods, _PATIENCE)
            seconds = max(bound.at.values()) - begun
        used = process.processor_seconds() - used
    await _cleared(api, bound)
    print(
        f"  {rival.name:<15} {seconds:6.1f} s, {pods / seconds:,.0f} pods/s; created within {created:.1f} s; "
        f"{used:.1f} s of processor",
        flush=True,
    )
    return pods / seconds


async def _waiting(api: KubernetesApi, rival: Rival, objects: _Objects, pods: int, prefix: str) -> float:
    """Pods a second from the first binding to the last, where all of them are there before it starts."""
    await create(api, objects)
    async with bindings(api, prefix) as bound, rival.start() as process:
        await bound.until(pods, _PATIENCE)
        first, seconds = min(bound.at.values()), max(bound.at.values()) - min(bound.at.values())
        started, used = first - process.started, process.processor_seconds()
    await _cleared(api, bound)
    print(
        f"  {rival.name:<15} {seconds:6.1f} s, {pods / seconds:,.0f} pods/s with all there before; first "
        f"binding {started:.1f} s after the start; {used:.1f} s of processor",
        flush=True,
    )
    return pods / seconds


async def _cleared(api: KubernetesApi, bound: Bound) -> None:
    if any(name.count("-") > 1 for name in bound.nodes):
        check_gangs(bound.nodes, _GPUS)
    groups = shapes.KUBERNETES_POD_GROUPS
    found = (await api.list(groups, Selection(namespace=shapes.NAMESPACE))).items
    # A controller that does not run here would take the finalizers off when the last pod has gone.
    free = MergePatch({"metadata": {"finalizers": None}})
    names = [obj["metadata"]["name"] for obj in found]
    await each(names, lambda name: api.patch(groups, name, free, namespace=shapes.NAMESPACE))
    await clear(api, groups)
    await asyncio.sleep(1.0)


if __name__ == "__main__":
    sys.exit(main())
