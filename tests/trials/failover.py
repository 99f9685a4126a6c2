"""Two processes of ``closeknit run`` on one cluster, of which the leader is stopped, killed or told to end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi
from closeknit.kube.resources import LEASES, NODES, PODS, Resource
from closeknit.kube.rest import connect, load_access
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.fault_proxy import FaultProxy

CLOSEKNIT = Path(sys.executable).with_name("closeknit")
POD_GROUPS = Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", subresources=("status",))
NAME = "closeknit-scheduler"
GPU = "nvidia.com/gpu"
NODES_THERE = 64
CONNECTIONS = 8
DELAY = 0.25
"""Seconds that a binding is under way: a gang takes 2 s, and calls are queued all the time."""
_AT_ONCE = DeleteOptions(grace_period=0)
_GLANCE = 0.02


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a lease."""

    duration: float
    renew_deadline: float
    retry_period: float

    @property
    def options(self) -> tuple[str, ...]:
        """As ``closeknit run`` takes them."""
        return (
            f"--lease-duration={self.duration:g}",
            f"--renew-deadline={self.renew_deadline:g}",
            f"--retry-period={self.retry_period:g}",
        )


SHORT = Times(3, 2, 0.5)
USUAL = Times(15, 10, 2)


@dataclass
class Instance:
    """A process, the proxy that it goes through, and the bindings that the API server accepted from it."""

    proxy: FaultProxy
    kubeconfig: Path
    process: asyncio.subprocess.Process | None = None
    delay: float = 0.0
    bindings: int = 0

    @property
    def pid(self) -> int:
        """Of the process that runs now."""
        assert self.process is not None
        return self.process.pid


@dataclass
class Outcome:
    """What one trial has shown."""

    overcommitted: set[str] = field(default_factory=set)
    """Nodes that were overcommitted at any time."""
    bound_twice: set[str] = field(default_factory=set)
    partial: set[str] = field(default_factory=set)
    """What was wrong after recovery."""
    sent_after_waking: int = 0


class Bed:
    """A cluster of its own and two instances."""

    def __init__(self, api: KubernetesApi, instances: tuple[Instance, Instance], times: Times) -> None:
        self.api = api
        self.instances = instances
        self.times = times
        self._nodes_of: dict[str, set[str]] = {}

    async def start(self, instance: Instance) -> None:
        """Begin a process, and return when it answers."""
        instance.process = await asyncio.create_subprocess_exec(
            *(CLOSEKNIT, "run", f"--kubeconfig={instance.kubeconfig}", "--no-controllers"),
            *("--lease-namespace=default", "--health-port=0", "--log-format=json"),
            *(f"--connections={CONNECTIONS}", *self.times.options),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert instance.process.stdout is not None
        async with asyncio.timeout(60):
            await instance.process.stdout.readline()

    async def leader(self) -> Instance:
        """The instance that holds the lease and renews it."""
        async with asyncio.timeout(3 * self.times.duration + 30):
            while True:
                with suppress(NotFoundError):
                    spec = (await self.api.get(LEASES, NAME, namespace="default"))["spec"]
                    for instance in self.instances:
                        if f"-{instance.pid}-" in (spec.get("holderIdentity") or ""):
                            return instance
                await asyncio.sleep(_GLANCE)

    def other(self, instance: Instance) -> Instance:
        """The instance beside this one."""
        first, second = self.instances
        return second if instance is first else first

    async def create(self, objects: Iterable[dict[str, Any]]) -> None:
        """Make objects."""
        kinds = {"Pod": PODS, "PodGroup": POD_GROUPS}
        for each in objects:
            await self.api.create(kinds[each["kind"]], each)

    async def nodes(self) -> dict[str, str]:
        """The node of every pod; empty for one that waits."""
        pods = (await self.api.list(PODS)).items
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}

    async def clear(self) -> None:
        """Delete all pods and groups."""
        for resource in (POD_GROUPS, PODS):
            for each in (await self.api.list(resource)).items:
                meta = each["metadata"]
                with suppress(NotFoundError):
                    await self.api.delete(
                        resource, meta["name"], namespace=meta["namespace"], options=_AT_ONCE
                    )
        while (await self.api.list(PODS)).items:  # noqa: ASYNC110 (no event tells that all are gone)
            await asyncio.sleep(0.1)

    async def audited(self, outcome: Outcome) -> list[str]:
        """What is wrong now; nodes that hold too much and pods with a second node are noted."""
        nodes, pods, groups = [(await self.api.list(each)).items for each in (NODES, PODS, POD_GROUPS)]
        for pod in pods:
            if node := pod["spec"].get("nodeName"):
                seen = self._nodes_of.setdefault(pod["metadata"]["uid"], set())
                seen.add(node)
                if len(seen) > 1:
                    outcome.bound_twice.add(pod["metadata"]["name"])
        outcome.overcommitted |= set(audit(Cluster(nodes, pods)))
        return audit(Cluster(nodes, pods, groups))

    async def stopped_in_a_storm(self, rng: Random) -> Outcome:
        """Stop the leader at a moment of a storm for longer than its lease, and let it go on."""
        outcome = Outcome()
        leader = await self.leader()
        for instance in self.instances:
            instance.delay = DELAY
        before = leader.bindings
        await self.create(gang("first", NODES_THERE))
        while leader.bindings == before:  # noqa: ASYNC110 (what another process does is polled)
            await asyncio.sleep(_GLANCE)
        await asyncio.sleep(rng.uniform(0, DELAY * NODES_THERE / CONNECTIONS * 0.8))
        os.kill(leader.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        await asyncio.sleep(DELAY + 0.5)
        bound = sum(map(bool, (await self.nodes()).values()))
        await self.create(gang("later", NODES_THERE - bound, "system-cluster-critical"))
        asleep = self.times.duration * rng.uniform(1.5, 3) + 2
        while time.monotonic() - stopped < asleep:
            await self.audited(outcome)
            await asyncio.sleep(0.2)
        for instance in self.instances:
            instance.delay = 0.0
        while await self.leader() is leader:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(_GLANCE)
        before = leader.bindings
        os.kill(leader.pid, signal.SIGCONT)
        for _ in range(10):
            await asyncio.sleep(0.2)
            await self.audited(outcome)
        if await self.leader() is not leader:
            # On a busy machine the other one may have lost the lease again.
            outcome.sent_after_waking = leader.bindings - before
        # Then there is room for the rest of the first gang.
        for each in gang("later", NODES_THERE - bound):
            resource = PODS if each["kind"] == "Pod" else POD_GROUPS
            with suppress(NotFoundError):
                await self.api.delete(
                    resource, each["metadata"]["name"], namespace="default", options=_AT_ONCE
                )
        end = time.monotonic() + 30
        while (wrong := await self.audited(outcome)) and time.monotonic() < end:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(0.2)
        outcome.partial |= set(wrong)
        await self.clear()
        return outcome

    async def failover(self, number: signal.Signals) -> float:
        """Seconds from a signal to the leader until a pod is bound that was created then; it is started again."""
        leader = await self.leader()
        # Its follower has to be one that waits, and the phase of the renewals is left to chance.
        await asyncio.sleep(2 + Random().uniform(0, self.times.retry_period))
        began = time.monotonic()
        os.kill(leader.pid, number)
        await self.create([pod("alone", "")])
        while not (await self.nodes())["alone"]:  # noqa: ASYNC110 (polled)
            await asyncio.sleep(_GLANCE)
        seconds = time.monotonic() - began
        assert leader.process is not None
        await leader.process.wait()
        await self.start(leader)
        await self.clear()
        return seconds


def pod(name: str, group: str, priority: str = "") -> dict[str, Any]:
    """A pod that needs a whole node."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if group:
        metadata["annotations"] = {"pod-group-name": group}
    resources = {"requests": {GPU: "8"}, "limits": {GPU: "8"}}
    spec = {
        "schedulerName": "closeknit",
        "containers": [{"name": "main", "image": "pause", "resources": resources}],
        **({"priorityClassName": priority} if priority else {}),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def gang(name: str, pods: int, priority: str = "") -> list[dict[str, Any]]:
    """A gang of such pods, all or nothing."""
    spec = {"minMember": pods, **({"priorityClassName": priority} if priority else {})}
    metadata = {"name": name, "namespace": "default"}
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": spec,
    }
    return [group, *(pod(f"{name}-{number}", name, priority) for number in range(pods))]


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[Path]:
    """An embedded cluster in a process of its own; its kubeconfig."""
    kubeconfig = folder / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        *(
            CLOSEKNIT,
            "up",
            "--no-scheduler",
            "--no-controllers",
            "--nodes",
            f"rack=8,host={NODES_THERE // 8}",
        ),
        *("--kubeconfig", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while b"Ctrl-C" not in await process.stdout.readline():
                assert process.returncode is None
        yield kubeconfig
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def bed(folder: Path, times: Times) -> AsyncIterator[Bed]:
    """Two instances at work on a cluster."""
    async with AsyncExitStack() as stack:
        kubeconfig = await stack.enter_async_context(cluster(folder))
        access = load_access(kubeconfig=str(kubeconfig))
        api = await stack.enter_async_context(connect(access, component="trial"))
        instances = []
        for number in (1, 2):
            proxy = await stack.enter_async_context(FaultProxy(access, Random(number)).listening())
            instance = Instance(proxy, folder / f"kubeconfig-{number}")
            document = json.loads(kubeconfig.read_text(encoding="utf-8"))
            document["clusters"][0]["cluster"] = {"server": proxy.address}
            instance.kubeconfig.write_text(json.dumps(document), encoding="utf-8")
            proxy.rule = _delaying(instance)
            instances.append(instance)
        made = Bed(api, (instances[0], instances[1]), times)
        try:
            for instance in instances:
                await made.start(instance)
            await made.leader()
            yield made
        finally:
            for instance in instances:
                if instance.process is not None and instance.process.returncode is None:
                    instance.process.kill()
                    await instance.process.wait()


def _delaying(instance: Instance) -> Any:
    async def rule(method: str, path: str) -> str:
        if method == "POST" and path.partition("?")[0].endswith("/binding"):
            await asyncio.sleep(instance.delay)
            instance.bindings += 1
        return ""

    return rule


@dataclass
class Figures:
    """What all trials have shown."""

    trials: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """One trial more."""
        self.trials += 1
        self.counts["overcommitted nodes"] += len(outcome.overcommitted)
        self.counts["pods bound twice"] += len(outcome.bound_twice)
        self.counts["partial gangs after recovery"] += len(outcome.partial)
        self.counts["bindings sent after waking"] += outcome.sent_after_waking


async def stops(folder: Path, times: Times, seeds: Iterable[int]) -> Figures:
    """Stop the leader at a moment of a storm, once for each seed."""
    figures = Figures()
    async with bed(folder, times) as made:
        for seed in seeds:
            figures.add(await made.stopped_in_a_storm(Random(seed)))
    return figures


async def failovers(folder: Path, times: Times, number: signal.Signals, runs: int) -> list[float]:
    """Seconds without a leader, by how it ended."""
    async with bed(folder, times) as made:
        return [await made.failover(number) for _ in range(runs)]
