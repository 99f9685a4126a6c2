"""Look, plan, act: the scheduler on a cluster that it follows.

Mirrors feed a state; what waits is decided on it, one unit at a time and without waiting for anything;
decisions become bindings, whose answers come back between two decisions. All that must outlive this process
is in the cluster, so a scheduler that starts anew goes on where another one ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from closeknit.dialects.family import Family
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.dialects.store.objects import Stored
from closeknit.hub.keys import Key
from closeknit.hub.outcome import Assignment, Placed
from closeknit.hub.sentences import scheduler as sentences
from closeknit.hub.workload import Workload
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.port import KubernetesApi
from closeknit.scheduler.acting import Acting, Counters
from closeknit.scheduler.binder import Binder
from closeknit.scheduler.cluster_state import FAMILIES, ClusterState
from closeknit.scheduler.commit import Answered, Bind
from closeknit.scheduler.following import Following
from closeknit.scheduler.partial_gangs import GRACE, Patience, grace_of, partial_pods
from closeknit.scheduler.planning import Verdict, decide
from closeknit.scheduler.reporter import Observer, Reporter, Silence
from closeknit.scheduler.waiting import WaitingQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a scheduler works."""

    schedulers: frozenset[str] = SCHEDULERS
    """The values of ``schedulerName`` whose pods are bound."""
    families: tuple[Family, ...] = FAMILIES
    connections: int = 64
    """How many calls are made at once."""
    bind_deadline: float = 4.0
    """Seconds until a call without an answer counts as lost; fewer than a lease outlives its holder."""
    gather: float = 0.01
    """Seconds that changes are gathered before they are looked at, so that a gang's pods come together."""
    turn: float = 0.005
    """Seconds of deciding after which others get a turn."""
    farewell: float = 10.0
    """Seconds that bindings under way get to settle after ``stop``."""
    dry_run: bool = False
    """Whether to decide and report, and to bind nothing."""


USUAL = Settings()


class Scheduler:
    """One instance, which works while ``run`` does. A lease sees to it that it is the only one."""

    def __init__(
        self,
        api: KubernetesApi,
        settings: Settings = USUAL,
        *,
        random: Random,
        reporter: Reporter | None = None,
        observer: Observer | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.settings = settings
        self.state = ClusterState(settings.families, settings.schedulers)
        self.queue = WaitingQueue(random)
        self.counters = Counters()
        self._reporter: Reporter = reporter or Silence()
        self._observer: Observer = observer or Silence()
        self._since: dict[Key, float] = {}
        """By unit that waits, when it could first be decided."""
        self._clock = clock
        self._wake = asyncio.Event()
        self._stop_by: float | None = None
        self._answers: list[Answered] = []
        self._patience = Patience()
        self.following = Following(
            api, self.state, settings.families, changed=self._wake.set, clock=clock, random=random
        )
        self.binder = Binder(
            api,
            self._on_answer,
            clock=clock,
            random=random,
            connections=settings.connections,
            deadline=settings.bind_deadline,
        )
        self.acting = Acting(self.state, self.binder.send, self.counters, self._observer)

    # ----------------------------------------------------------------------------------------- running

    async def run(self) -> None:
        """Schedule until cancelled, or until ``stop`` was called and what was under way is settled."""
        tasks = [
            asyncio.create_task(each) for each in (self._work(), self.following.run(), self.binder.run())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self) -> None:
        """Decide nothing more. What is not settled in time is left to whoever comes next."""
        self._stop_by = self._clock.monotonic() + self.settings.farewell
        self._wake.set()

    async def synced(self) -> None:
        """Return when the cluster was read once."""
        await self.following.synced()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and nothing was told that was not looked at."""
        return not (len(self.acting) or len(self.binder) or self._answers or self._wake.is_set())

    async def _work(self) -> None:
        await self.following.synced()
        self._wake.set()
        while self._stop_by is None or (len(self.acting) and self._clock.monotonic() < self._stop_by):
            await self._awake()
            if self.settings.gather:
                await self._clock.sleep(self.settings.gather)
            self._wake.clear()
            self._look()
            if self._stop_by is None:
                await self._decide_all()
                self._release_overdue()

    async def _awake(self) -> None:
        """Wait for news, or for the next time that something is due."""
        now = self._clock.monotonic()
        due = (self.queue.next_time(now), self._patience.next_time(), self._stop_by)
        times = [each for each in due if each is not None]
        alarm = asyncio.create_task(self._ring(min(times) - now)) if times else None
        try:
            await self._wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    async def _ring(self, seconds: float) -> None:
        await self._clock.sleep(max(seconds, 0.0))
        self._wake.set()

    def _on_answer(self, answered: Answered) -> None:
        self._answers.append(answered)
        self._wake.set()

    # ----------------------------------------------------------------------------------------- looking

    def _look(self) -> None:
        """Take in answers and news."""
        self.counters.looks += 1
        now = self._clock.monotonic()
        answers, self._answers = self._answers, []
        for answered in answers:
            self.acting.answered(answered)
        self.acting.told(self.state.told())
        news = self.state.news()
        again = dict.fromkeys([*news.units, *self.acting.left()])
        for settled in self.acting.settled():
            again[settled.commit.unit] = None
            if settled.commit.whole:
                self._reporter.placed(settled.verdict)
                workload = settled.verdict.workload
                self._observer.scheduled(workload, now - self._since.pop(settled.commit.unit, now))
            elif settled.commit.first:
                self._patience.hurry(settled.commit.unit)
        for key in again:
            self._look_at(key, self.state.units.get(key), now)
        if news.changes:
            self.queue.wake(news.changes, self.state.engine)

    def _look_at(self, key: Key, workload: Workload | None, now: float) -> None:
        if workload is None:
            self.queue.remove(key)
            self._since.pop(key, None)
            self._reporter.gone(key)
        if self.acting.busy_with(key):
            return
        grace: float | None = GRACE
        if workload is not None:
            entry = self.state.view.entry(workload.key)
            grace = grace_of(entry.written) if isinstance(entry, Stored) else GRACE
        self._patience.look(key, workload, grace, now)
        if workload is None:
            return
        if workload.request is None or workload.problems:
            self.queue.remove(key)
            self._reporter.waiting(Verdict(workload, None, workload.problems))
        elif any(self.state.is_open(pod) for pod in _pods_to_place(workload)):
            self._since.setdefault(key, now)
            self.queue.put(workload)
        else:
            self.queue.remove(key)

    # ---------------------------------------------------------------------------------------- deciding

    async def _decide_all(self) -> None:
        since = self._clock.monotonic()
        while (workload := self.queue.take(self._clock.monotonic())) is not None:
            self._decide(workload)
            if self._clock.monotonic() - since > self.settings.turn:
                await asyncio.sleep(0)
                self._look()
                since = self._clock.monotonic()

    def _decide(self, workload: Workload) -> None:
        self.counters.decisions += 1
        key, now = workload.object.key, self._clock.monotonic()
        verdict = self._decided(workload)
        self._observer.decided(verdict, self._clock.monotonic() - now)
        outcome = verdict.outcome
        if isinstance(outcome, Placed):
            pods = [bind for each in outcome.assignments if (bind := self._bind(workload, each)) is not None]
            if pods:
                self.queue.remove(key)
                self._carry_out(verdict, pods)
                return
        self.queue.failed(key, outcome, now)
        if not isinstance(outcome, Placed):
            self._reporter.waiting(verdict)
        self._patience.cannot_complete(key, now)

    def _decided(self, workload: Workload) -> Verdict:
        try:
            return decide(self.state.engine, self.state.topologies, workload)
        except Exception as error:  # noqa: BLE001 (one unit that breaks a rule of ours must not stop the others)
            wrong = sentences.NOT_UNDERSTOOD.at(
                (), kind=workload.object.kind, error=f"{type(error).__name__}: {error}"
            )
            return Verdict(workload, None, (wrong,))

    def _carry_out(self, verdict: Verdict, pods: list[Bind]) -> None:
        if not self.settings.dry_run:
            self.acting.commit(verdict, pods)
            return
        for each in pods:
            self.state.assume(each.pod, each.node)
        self._reporter.placed(verdict)

    def _bind(self, workload: Workload, assignment: Assignment) -> Bind | None:
        """The binding of a pod, if it exists and waits; some are only expected."""
        key = _pod_key(workload, assignment.pod)
        pod = self.state.pod(key)
        if pod is None or not self.state.is_open(key):
            return None
        return Bind(key, pod.content.metadata.uid, assignment.node)

    def _release_overdue(self) -> None:
        for key in self._patience.overdue(self._clock.monotonic()):
            workload = self.state.units.get(key)
            if workload is None or self.acting.busy_with(key):
                continue
            pods = partial_pods(workload)
            self.queue.remove(key)
            if not self.settings.dry_run:
                self.acting.release(workload, [_pod_key(workload, name) for name in pods])
            noun = "pod has" if len(pods) == 1 else "pods have"
            why = f"Only {len(pods)} {noun} a node, which is below the minimum."
            self._reporter.released(workload, why)
            self._observer.let_go(workload, "released", why)


def _pod_key(workload: Workload, name: str) -> Key:
    return Key("", "Pod", workload.object.namespace, name)


def _pods_to_place(workload: Workload) -> Iterator[Key]:
    assert workload.request is not None
    for pods in workload.request.root.pod_sets():
        yield from (_pod_key(workload, name) for name in pods.pods)
