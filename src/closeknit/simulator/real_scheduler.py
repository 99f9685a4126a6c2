"""Replays a scenario under the scheduler of ``closeknit run`` itself, on an embedded cluster in virtual time.

Every gang is a PodGroup and its pods. Who made them waits until all pods are bound, lets them run, and
deletes them. A workload that is written as manifests is created as such, and ``operated``. A node that fails
is not ready until it is repaired; gangs that have a pod on it, and gangs that the scheduler displaces, are
deleted and submitted again, and run their whole time again.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

from closeknit.dialects.definitions import FAMILIES
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.hub.outcome import Placed
from closeknit.hub.resources import Resources
from closeknit.hub.workload import Workload
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, MergePatch
from closeknit.kube.resources import NODES, PODS
from closeknit.live.following import Following, kinds_read
from closeknit.scheduler.loop import Scheduler
from closeknit.scheduler.planning import Verdict
from closeknit.scheduler.reporter import Silence
from closeknit.scheduler.settings import Settings
from closeknit.simulator import objects
from closeknit.simulator.history import MOST_STARTS, History, Stay, outages
from closeknit.simulator.operated import Operated, kinds_followed
from closeknit.simulator.replay import Told
from closeknit.simulator.room import Placement
from closeknit.simulator.scenario import Scenario, Submission
from closeknit.simulator.virtual_time import StillClock, VirtualClock, VirtualLoop

_NOW = DeleteOptions(grace_period=0)
_NEVER = 1e12
_ONE_POD = Resources({"pods": 1})
_AGAIN = 1.0
"""Seconds until a gang that was made to go is submitted again."""
_PATIENCE = 3600.0
"""Seconds without anybody running or arriving after which those who wait wait for ever."""


def replay(scenario: Scenario, told: Told = lambda _: None) -> History:
    """Run it to the end; gangs that never fit stay without a place."""
    loop = VirtualLoop()
    # It lets everything under way end after Ctrl-C.
    with _rare_collection(), asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_started(scenario, told, loop))


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Collect garbage as rarely as ``closeknit run`` does."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Watching(Silence):
    """Hears what the scheduler does with gangs."""

    def __init__(self, number: dict[str, int]) -> None:
        self.number = number
        """By name of a node, its number."""
        self.operated: Operated | None = None
        self.news = asyncio.Event()
        """Set when a unit is bound, and then another one."""
        self.placed_at: dict[str, Placement] = {}
        self.when_bound: dict[str, asyncio.Future[Placement]] = {}
        """By gang that waits, what is told as soon as all its pods are bound."""
        self.when_going: dict[str, asyncio.Event] = {}
        """By gang that runs, what is set when it must go."""

    def decided(self, verdict: Verdict, seconds: float) -> None:  # noqa: ARG002
        """Remember where a gang was put."""
        if isinstance(verdict.outcome, Placed):
            pods: dict[int, int] = {}
            for each in verdict.outcome.assignments:
                node = self.number[each.node]
                pods[node] = pods.get(node, 0) + 1
            self.placed_at[verdict.workload.object.name] = tuple(sorted(pods.items()))

    def scheduled(self, workload: Workload, seconds: float) -> None:  # noqa: ARG002
        """Let a gang begin."""
        waiting = self.when_bound.get(workload.object.name)
        if waiting is not None and not waiting.done():
            waiting.set_result(self.placed_at[workload.object.name])
        self.news.set()
        self.news = asyncio.Event()

    def let_go(self, workload: Workload, reason: str, why: str) -> None:  # noqa: ARG002
        """Let a gang end before its time."""
        names = {workload.object.name}
        if self.operated is not None:
            pods = (("Pod", workload.object.namespace, each.name) for each in workload.running)
            names = {self.operated.workload_of(pod) or workload.object.name for pod in pods}
        for name in names & self.when_going.keys():
            self.when_going[name].set()


class _Replay:
    def __init__(self, scenario: Scenario, told: Told, loop: VirtualLoop) -> None:
        self._scenario, self._told, self._loop = scenario, told, loop
        self._history = History()
        clock = VirtualClock(loop)
        operated = any(each.manifests is not None for each in scenario.submissions)
        families = FAMILIES.values() if operated else [FAMILIES["kai"]]
        definitions = [one.written() for family in families for one in family]
        dice = Random(scenario.seed)  # noqa: S311 (seeded random numbers are the point)
        self._cluster = EmbeddedCluster(
            definitions, clock=clock, dice=dice, bookmark_every=_NEVER, gang_api=operated
        )
        # Nobody is told why a gang waits, and where operators make pods there is no other scheduler.
        settings = Settings(
            explaining=False, schedulers=SCHEDULERS | {"default-scheduler"} if operated else SCHEDULERS
        )
        kinds = kinds_followed(settings.families) if operated else kinds_read(settings.families)
        still = StillClock(loop)
        self._following = Following(self._cluster, kinds, clock=still, random=dice)
        self._still = still
        nodes = scenario.site.nodes
        self._watching = _Watching({node.name: number for number, node in enumerate(nodes)})
        self._scheduler = Scheduler(
            self._cluster,
            settings,
            random=dice,
            observer=self._watching,
            clock=clock,
            following=self._following,
        )
        self._operated = (
            Operated(self._cluster, self._following, clock=clock, dice=dice) if operated else None
        )
        self._watching.operated = self._operated
        self._down: set[int] = set()
        self._running: dict[str, Placement] = {}
        self._arriving = len(scenario.submissions)
        self._ended = 0
        self._quiet = asyncio.Event()
        """Set whenever nobody runs and nobody is to come."""

    async def run(self) -> History:
        scenario = self._scenario
        priorities = frozenset(each.priority for each in scenario.submissions if each.priority)
        for resource, made in objects.site_objects(scenario.site, priorities):
            await self._cluster.create(resource, made)
        work = [self._following.run(), self._scheduler.run()]
        working = [asyncio.create_task(each) for each in work]
        await self._scheduler.synced()
        if self._operated is not None:
            ready = asyncio.Event()
            operating = asyncio.create_task(self._operated.run(self._setup(), ready, self._still))
            working.append(operating)
            told = asyncio.create_task(ready.wait())
            await asyncio.wait({told, operating}, return_when=asyncio.FIRST_COMPLETED)
            if operating.done():
                operating.result()
        gangs = [
            asyncio.create_task(self._gang(number, each)) for number, each in enumerate(scenario.submissions)
        ]
        failing = [asyncio.create_task(self._fail(node)) for node in range(len(scenario.site.nodes))]
        waiting = asyncio.create_task(self._nobody_moves())
        everybody = asyncio.create_task(_all(gangs))
        tasks = [everybody, waiting, *working, *failing]
        try:
            # Nodes fail for ever, or not at all.
            await asyncio.wait(tasks[: -len(failing)], return_when=asyncio.FIRST_COMPLETED)
            for task in working:
                if task.done():
                    task.result()
            if everybody.done():
                everybody.result()
        finally:
            for task in (*tasks, *gangs):
                task.cancel()
            await asyncio.gather(*tasks, *gangs, return_exceptions=True)
        self._history.stays.sort(key=lambda stay: (stay.ended, stay.submission))
        return self._history

    async def _gang(self, number: int, submission: Submission) -> None:
        await asyncio.sleep(max(submission.at - self._loop.time(), 0.0))
        self._arriving -= 1
        name, whole = submission.name, False
        for _ in range(MOST_STARTS):
            placement, held = await self._placed(submission)
            started = self._loop.time()
            self._running[name] = placement
            whole = await self._runs(submission, placement)
            del self._running[name]
            await self._delete(submission)
            self._history.stays.append(Stay(number, started, self._loop.time(), placement, not whole, held))
            if whole:
                break
            await asyncio.sleep(_AGAIN)
        self._ended += 1
        self._told(self._ended)
        self._heed_quiet()

    def _setup(self) -> Sequence[Mapping[str, Any]]:
        """What the workloads of the trace find there."""
        found = (each.manifests for each in self._scenario.submissions if each.manifests is not None)
        return next(found).setup

    async def _placed(self, submission: Submission) -> tuple[Placement, tuple[tuple[int, Resources], ...]]:
        """Submit a gang and return when all its pods are bound: where, and what they hold if they differ."""
        name = submission.name
        if submission.manifests is None:
            bound = self._watching.when_bound[name] = self._loop.create_future()
            for resource, made in objects.gang_objects(submission, self._scenario.site.topology.name):
                await self._cluster.create(resource, made)
            if not self._running:
                self._heed_quiet()
            return await bound, ()
        assert self._operated is not None
        await self._operated.submit(name, submission.manifests)
        if not self._running:
            self._heed_quiet()
        while True:
            news = self._watching.news
            holdings = self._scheduler.state.holdings(await self._operated.pods_of(name))
            if sum(each.pods for each in holdings) >= submission.ask.pods:
                break
            await news.wait()
        held: dict[int, Resources] = {}
        pods: dict[int, int] = {}
        for each in holdings:
            node = self._watching.number[each.node]
            held[node] = held.get(node, Resources()) + (each.resources + _ONE_POD) * each.pods
            pods[node] = pods.get(node, 0) + each.pods
        return tuple(sorted(pods.items())), tuple(sorted(held.items(), key=lambda found: found[0]))

    async def _runs(self, submission: Submission, placement: Placement) -> bool:
        """Whether a gang ran for its whole time."""
        going = self._watching.when_going[submission.name] = asyncio.Event()
        if any(node in self._down for node, _ in placement):
            # It failed between the decision and the last binding.
            return False
        try:
            async with asyncio.timeout(submission.runs):
                await going.wait()
        except TimeoutError:
            return True
        finally:
            del self._watching.when_going[submission.name]
        return False

    async def _delete(self, submission: Submission) -> None:
        if submission.manifests is not None:
            assert self._operated is not None
            await self._operated.delete(submission.name, submission.manifests)
            return
        for name in objects.pod_names(submission):
            with suppress(NotFoundError):
                await self._cluster.delete(PODS, name, namespace=objects.NAMESPACE, options=_NOW)
        await self._cluster.delete(
            objects.POD_GROUPS, submission.name, namespace=objects.NAMESPACE, options=_NOW
        )

    async def _fail(self, node: int) -> None:
        for fails, back in outages(self._scenario.faults, self._scenario.seed, node):
            await asyncio.sleep(fails - self._loop.time())
            self._history.outages.append((node, fails, back))
            self._down.add(node)
            await self._set_ready(node, ready=False)
            for name, placement in list(self._running.items()):
                if any(used == node for used, _ in placement):
                    self._watching.when_going[name].set()
            await asyncio.sleep(back - self._loop.time())
            self._down.discard(node)
            await self._set_ready(node, ready=True)

    async def _set_ready(self, node: int, *, ready: bool) -> None:
        described = self._scenario.site.nodes[node]
        status: dict[str, Any] = {"status": objects.node_status(described, ready=ready)}
        await self._cluster.patch(NODES, described.name, MergePatch(status), subresource="status")

    def _heed_quiet(self) -> None:
        if not self._running and not self._arriving:
            self._quiet.set()

    async def _nobody_moves(self) -> None:
        """Return when those who wait would wait for ever."""
        patience = _PATIENCE + (self._scenario.faults.repair if self._scenario.faults.per_node_day else 0.0)
        while True:
            await self._quiet.wait()
            self._quiet.clear()
            ended = self._ended
            await asyncio.sleep(patience)
            if not self._running and not self._arriving and self._ended == ended:
                return
            if not self._running:
                self._quiet.set()


async def _all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)


async def _started(scenario: Scenario, told: Told, loop: VirtualLoop) -> History:
    return await _Replay(scenario, told, loop).run()
