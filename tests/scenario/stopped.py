"""Two schedulers on one embedded cluster, of which a test stops the processes, as SIGSTOP does, or the machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import structlog

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.resources import NODES, PODS
from closeknit.kube.standins import run_standins
from closeknit.live.following import Following, kinds_read
from closeknit.live.leadership import LeaseName
from closeknit.scheduler.instance import Instance
from closeknit.scheduler.settings import Settings
from closeknit.testing.auditor import Cluster, audit
from closeknit.testing.clock import HandClock
from tests.scenario import bound
from tests.scenario.bound import DEFINITIONS, POD_GROUPS, TOPOLOGIES, Json

LEASE = LeaseName(namespace="default", name="closeknit-scheduler")
_STEP = 0.25


class Process:
    """One ``closeknit run`` on a machine of its own: a clock, and a network that outlives its stops.

    While it is stopped, what it has sent is carried out, and no answer and no watch event reaches it.
    """

    def __init__(self, cluster: EmbeddedCluster, network: HandClock, name: str, settings: Settings) -> None:
        self.clock = HandClock()
        self._cluster = cluster
        self._network = network
        self._runs = asyncio.Event()
        self._runs.set()
        self._stopped_at: float | None = None
        self.bind_delay = 0.0
        """Seconds that a binding is under way before the API server has it."""
        self.sent: list[tuple[float, str]] = []
        """The bindings that were sent, with the time."""
        self.bound: list[tuple[float, str]] = []
        """The bindings that the API server accepted."""
        api: Any = self
        self.following = Following(
            api, kinds_read(settings.families), clock=self.clock, random=Random(f"{name}-following")
        )
        self.instance = Instance(
            api,
            settings,
            identity=name,
            log=structlog.wrap_logger(structlog.ReturnLogger()),
            random=Random(name),
            lease=LEASE,
            clock=self.clock,
            following=self.following,
        )
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to run."""
        self._tasks = [asyncio.create_task(self.following.run()), asyncio.create_task(self.instance.run())]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cluster, name)
        if name == "watch":
            return lambda *given, **named: self._watch(method(*given, **named))

        async def call(*given: Any, **named: Any) -> Any:
            assert self._runs.is_set(), f"{name} is called by a stopped process"
            if name == "bind":
                self.sent.append((self._network.monotonic(), given[0]))
            outcome = asyncio.ensure_future(self._carried_out(name, method, given, named))
            # Where the process was killed meanwhile, its answer is lost.
            outcome.add_done_callback(lambda done: done.cancelled() or done.exception())
            await asyncio.wait([outcome])
            await self._runs.wait()
            return outcome.result()

        return call

    async def _carried_out(self, name: str, method: Any, given: Any, named: Any) -> Any:
        if name == "bind":
            if self.bind_delay:
                await self._network.sleep(self.bind_delay)
            answer = await method(*given, **named)
            self.bound.append((self._network.monotonic(), given[0]))
            return answer
        return await method(*given, **named)

    async def _watch(self, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        try:
            async for event in events:
                await self._runs.wait()
                yield event
        finally:
            await events.aclose()

    def stop(self) -> None:
        """As SIGSTOP does."""
        self._runs.clear()
        self._stopped_at = self._network.monotonic()

    async def resume(self, *, suspended: bool = False) -> None:
        """As SIGCONT does: what is ready runs before any timer. ``suspended``: its machine was."""
        assert self._stopped_at is not None
        seconds = self._network.monotonic() - self._stopped_at
        self._stopped_at = None
        (self.clock.suspend if suspended else self.clock.skip)(seconds)
        self._runs.set()
        for _ in range(50):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        """Let time pass, unless it is stopped."""
        if self._stopped_at is None:
            await self.clock.advance(seconds)
        for task in self._tasks:
            if task.done():
                task.result()

    async def end(self) -> None:
        """As SIGKILL does, but for the answers that are on their way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Pair:
    """A cluster with two schedulers, of which the first one leads."""

    def __init__(self, cluster: EmbeddedCluster, network: HandClock, settings: Settings) -> None:
        self.cluster = cluster
        self.network = network
        self.first = Process(cluster, network, "first", settings)
        self.second = Process(cluster, network, "second", settings)

    async def wait(self, seconds: float) -> None:
        """Let time pass everywhere."""
        for _ in range(max(int(seconds / _STEP), 1)):
            await self.network.advance(_STEP)
            for process in (self.first, self.second):
                await process.advance(_STEP)

    async def until(self, holds: Any, seconds: float = 120) -> None:
        """Let time pass until something holds."""
        end = self.network.monotonic() + seconds
        while not holds():
            assert self.network.monotonic() < end, "It does not happen."
            await self.wait(_STEP)

    async def create(self, objects: list[Json]) -> None:
        """Make objects, whose uids the server chooses."""
        for each in objects:
            each["metadata"].pop("uid", None)
        await bound.create(self.cluster, objects)

    async def wrong(self) -> list[str]:
        """What an auditor finds."""
        lists = [(await self.cluster.list(each)).items for each in (NODES, PODS, POD_GROUPS, TOPOLOGIES)]
        return audit(Cluster(*lists))


@asynccontextmanager
async def pair(settings: Settings, objects: list[Json]) -> AsyncIterator[Pair]:
    """Two schedulers on a cluster with these objects, the first one leading."""
    network = HandClock()
    cluster = EmbeddedCluster(DEFINITIONS, clock=network, dice=Random(1))
    await bound.create(cluster, objects)
    made = Pair(cluster, network, settings)
    kubelets = asyncio.create_task(run_standins(cluster, clock=network))
    try:
        made.first.start()
        await made.until(lambda: made.first.instance.ready)
        made.second.start()
        await made.wait(1)
        yield made
    finally:
        await made.first.end()
        await made.second.end()
        kubelets.cancel()
        await asyncio.gather(kubelets, return_exceptions=True)
        await cluster.close()
