"""The scheduler on a cluster that it follows.

Mirrors feed the state of a core; what waits is decided one unit after the other, without waiting for
anything in between; calls go over many connections, and their answers come back between two decisions.
"""

from __future__ import annotations

import asyncio
from functools import partial
from random import Random

from closeknit.hub.failures import Step
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import PODS
from closeknit.live.containment import Containment
from closeknit.live.following import Following, Listening, kinds_read
from closeknit.scheduler.acting import Acting, Counters
from closeknit.scheduler.binder import Binder
from closeknit.scheduler.cluster_state import ClusterState
from closeknit.scheduler.commit import Answered
from closeknit.scheduler.core import Core
from closeknit.scheduler.decide.slices import Slices
from closeknit.scheduler.reporter import Observer, Reporter, Silence
from closeknit.scheduler.settings import Settings
from closeknit.scheduler.status.outcomes import KIND as OUTCOME_KIND
from closeknit.scheduler.waiting import WaitingQueue

__all__ = ["USUAL", "Scheduler", "Settings"]

USUAL = Settings()
_MANY = 32
"""So many changed objects between two looks are many."""
_DECISIVE = (("", "Node"), ("", "Pod"))
"""Kinds of which nothing may have been missed when pods are bound."""


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
        following: Following | None = None,
        call_deadline: float | None = None,
        containment: Containment | None = None,
    ) -> None:
        """``following``: what is followed for others already and runs by itself; None follows anew.

        ``call_deadline``: seconds that a call may take at most, so that it ends before another instance may
        lead.
        """
        self.settings = settings
        self._clock = clock
        self._observer: Observer = observer or Silence()
        self._wake = asyncio.Event()
        self._stop_by: float | None = None
        self._answers: list[Answered] = []
        self._kinds = kinds_read(settings.families)
        self._own = following is None
        followed = (*self._kinds, OUTCOME_KIND)
        self.following = following or Following(api, followed, clock=clock, random=random)
        self.binder = Binder(
            api,
            self._on_answer,
            clock=clock,
            random=random,
            connections=settings.connections,
            deadline=min(settings.bind_deadline, call_deadline or settings.bind_deadline),
            resources=self.following.resources,
        )
        self._slices = Slices(clock, settings.turn)
        self._listening: Listening | None = None
        self.core = Core(
            settings,
            self.binder.send,
            reporter=reporter or Silence(),
            observer=self._observer,
            random=random,
            wake=self._wake.set,
            clock_zero=clock.now().timestamp() - clock.monotonic(),
            pause=self._slices.pause,
            spent=self._slices.spent,
            containment=containment,
        )

    @property
    def state(self) -> ClusterState:
        """What is believed of the cluster."""
        return self.core.state

    @property
    def queue(self) -> WaitingQueue:
        """Who waits."""
        return self.core.queue

    @property
    def acting(self) -> Acting:
        """What is under way."""
        return self.core.acting

    @property
    def counters(self) -> Counters:
        """What has happened since the start."""
        return self.core.counters

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and nothing was told that was not looked at."""
        return not (len(self.acting) or len(self.binder) or self._answers or self._wake.is_set())

    @property
    def deciding_for(self) -> float:
        """For how many seconds the current decision has been under way; 0 if none is."""
        return self._slices.under_way()

    async def run(self) -> None:
        """Schedule until cancelled, or until ``stop`` was called and what was under way is settled."""
        may_change = self._slices.may_change
        with self.following.listening(self.state, self._kinds, self._wake.set, may_change) as listening:
            self._listening = listening
            work = [self._work(listening), self.binder.run(), *([self.following.run()] if self._own else [])]
            tasks = [asyncio.create_task(each) for each in work]
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

    async def _work(self, listening: Listening) -> None:
        await listening.synced()
        if not self._own:
            # What was followed before this term may lag behind the last bindings of the one before.
            await listening.caught_up(PODS)
        self._wake.set()
        told = 0
        while self._stop_by is None or (len(self.acting) and self._clock.monotonic() < self._stop_by):
            await asyncio.sleep(0)
            if self._stop_by is not None or not self.core.ready(self._clock.monotonic()):
                await self._awake()
                # Where many came before the last look, many come now: answers to calls only wake it earlier.
                many = max(told, listening.told) >= _MANY
                await self._clock.sleep(self.settings.gather_many if many else self.settings.gather)
            told, listening.told = listening.told, 0
            self._wake.clear()
            await self._slices.run(partial(self._look, hurried=told >= _MANY), self._must_end)
            if self._stop_by is None:
                await self._decide_unless_behind()

    async def _awake(self) -> None:
        """Wait for news, or for the next time that something is due."""
        now = self._clock.monotonic()
        times = [each for each in (self.core.next_time(now), self._stop_by) if each is not None]
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

    def _look(self, *, hurried: bool) -> None:
        answers, self._answers = self._answers, []
        for answered in answers:
            self.core.answered(answered)
        self.core.look(self._clock.monotonic(), hurried=hurried)

    async def _decide_unless_behind(self) -> None:
        """Decide who waits, unless changes of nodes or pods may have been missed: the next look is soon.

        A node may have come back in another rack, and others may have bound pods to it; or the replacement
        of a pod that a gang lost may exist.
        """
        if self.following.is_behind(_DECISIVE):
            await self._clock.sleep(self.settings.gather_many)
            self._wake.set()
        else:
            await self._decide_all()
            self.core.evict_overdue(self._clock.monotonic())

    def _must_end(self) -> bool:
        """Whether the decision under way has taken its time, and others wait."""
        if not self.core.exceeds_protection():
            return False
        # Changes are not passed on while a decision is suspended, but they are counted.
        has_changes = self._listening is not None and not self._listening.drained
        return has_changes or self._wake.is_set() or self.core.queue.ready(self._clock.monotonic())

    async def _decide_all(self) -> None:
        """Decide who waits, for as long as changes may be gathered; others get a turn in between."""
        since = last = began = self._clock.monotonic()
        while verdicts := await self._slices.run(partial(self.core.decide, began), self._must_end):
            now = self._clock.monotonic()
            for verdict in verdicts:
                with self.core.containment.at(verdict.workload.object.key, Step.REPORT):
                    self._observer.decided(verdict, (now - began) / len(verdicts))
            if now - since > self.settings.gather_many:
                return
            if now - last > self.settings.turn:
                await asyncio.sleep(0)
                last = self._clock.monotonic()
            began = self._clock.monotonic()
