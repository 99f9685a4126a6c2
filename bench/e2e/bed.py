"""A real control plane with nodes, and schedulers that are started on it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bench.e2e import shapes
from bench.kube.shapes import LightPod
from bench.kube.work import each
from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.errors import AlreadyExistsError, NotFoundError
from closeknit.kube.mirror import Mirror
from closeknit.kube.port import DeleteOptions, KubernetesApi, Selection
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, NODES, PODS, Resource
from closeknit.testing.control_plane import ControlPlane

_IN_BENCH = Selection(namespace=shapes.NAMESPACE)
_NOW = DeleteOptions(grace_period=0)


async def prepare(api: KubernetesApi, nodes: int) -> None:
    """Definitions, the namespace, the topology and the nodes."""
    for family in FAMILIES.values():
        for definition in family:
            with suppress(AlreadyExistsError):
                await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition.written())
    await api.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shapes.NAMESPACE}}
    )
    for _ in range(100):
        # A definition is served a moment after it is accepted.
        with suppress(NotFoundError):
            await api.create(shapes.TOPOLOGIES, shapes.topology())
            break
        await asyncio.sleep(0.1)
    await each(range(nodes), lambda number: api.create(NODES, shapes.node(number)))


async def create(api: KubernetesApi, objects: Iterable[tuple[Resource, dict[str, Any]]]) -> None:
    """Make objects, in the order given, over many connections."""
    await each(objects, lambda pair: api.create(pair[0], pair[1]))


async def clear(api: KubernetesApi, *more: Resource) -> None:
    """Delete all pods and PodGroups, and all objects of more resources."""
    for resource in (shapes.POD_GROUPS, *more, PODS):
        found = (await api.list(resource, _IN_BENCH)).items
        names = [obj["metadata"]["name"] for obj in found]

        async def delete(name: str, resource: Resource = resource) -> None:
            with suppress(NotFoundError):
                await api.delete(resource, name, namespace=shapes.NAMESPACE, options=_NOW)

        await each(names, delete)


@dataclass
class Bound:
    """What a watch of all pods has seen: when each pod got its node."""

    at: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, name: str, node: str) -> None:
        """A pod has a node."""
        if name not in self.at:
            self.at[name], self.nodes[name] = time.perf_counter(), node
            self._moved.set()

    async def until(self, pods: int, seconds: float) -> None:
        """Return when so many pods have a node."""
        async with asyncio.timeout(seconds):
            while len(self.at) < pods:
                self._moved.clear()
                await self._moved.wait()


def check_gangs(nodes: dict[str, str], gpus: int) -> None:
    """No gang is over two racks, and no node has more than it offers."""
    racks: dict[str, set[int]] = {}
    used: dict[str, int] = {}
    for pod, node in nodes.items():
        racks.setdefault(pod.rpartition("-")[0], set()).add(int(node[5:]) // shapes.RACK_SIZE)
        used[node] = used.get(node, 0) + gpus
    assert all(len(found) == 1 for found in racks.values()), "A gang is over several racks."
    assert max(used.values()) <= shapes.GPUS, "A node has more than it offers."


@asynccontextmanager
async def bindings(api: KubernetesApi, prefix: str = "") -> AsyncIterator[Bound]:
    """Watches pods get their nodes: those whose names begin so."""
    bound = Bound()
    mirror = Mirror(api, PODS, _IN_BENCH, random=Random(1), into=LightPod)

    async def follow() -> None:
        with mirror.changes() as changes:
            while True:
                for notice in await changes.take():
                    pod = notice.after
                    if pod is not None and pod.spec.node_name and pod.metadata.name.startswith(prefix):
                        bound.note(pod.metadata.name, pod.spec.node_name)

    tasks = [asyncio.create_task(work) for work in (mirror.run(), follow())]
    try:
        await mirror.synced()
        yield bound
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Scheduler:
    """A scheduler in a process of its own."""

    process: asyncio.subprocess.Process
    started: float
    log: Path

    def peak_megabytes(self) -> float:
        """The most memory that it had so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1000

    def processor_seconds(self) -> float:
        """What it has used of the processor so far."""
        return _processor_seconds(self.process.pid)


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def processor_seconds(plane: ControlPlane) -> dict[str, float]:
    """What this process, and all that name the control plane's folder, have used of the processor so far.

    By program. On a machine that has other work this says more than how long something took.
    """
    used = {"bench": time.process_time()}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            command = (entry / "cmdline").read_bytes()
            if str(plane.folder).encode() in command:
                program = Path(command.split(b"\0")[0].decode()).name
                name = "closeknit" if "python" in program else program
                used[name] = used.get(name, 0.0) + _processor_seconds(int(entry.name))
    return used


async def quiet(plane: ControlPlane, seconds: float = 30.0) -> None:
    """Return when a control plane and who works on it have nearly nothing to do, or after so many seconds.

    Controllers go on for a moment after objects were deleted, which would count for whatever comes next.
    """
    rest, most = 0.5, 0.05
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        before = processor_seconds(plane)
        await asyncio.sleep(rest)
        if sum(processor_seconds(plane).values()) - sum(before.values()) < most:
            return


@asynccontextmanager
async def scheduler(kubeconfig: Path, log: Path, *more: str) -> AsyncIterator[Scheduler]:
    """Runs the scheduler of ``closeknit run`` until the block ends."""
    program = str(Path(sys.executable).with_name("closeknit"))
    command = (program, "run", f"--kubeconfig={kubeconfig}", "--health-port=0", "--no-controllers", *more)
    async with running(command, log) as process:
        yield process


@asynccontextmanager
async def running(command: Sequence[str], log: Path, folder: Path | None = None) -> AsyncIterator[Scheduler]:
    """Runs a scheduler by this command, in a folder, until the block ends."""
    with log.open("wb") as output:
        started = time.perf_counter()
        process = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output, cwd=folder)
    try:
        yield Scheduler(process, started, log)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
