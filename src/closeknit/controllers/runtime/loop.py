"""Runs controllers on a cluster that is followed: observe, decide, write, and look again when it was seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import inf
from random import Random
from typing import Any

from closeknit.controllers.metrics import Metrics
from closeknit.controllers.runtime.comparing import is_needed
from closeknit.controllers.runtime.concerns import Concerns
from closeknit.controllers.runtime.controller import Controller, Item, Operator
from closeknit.controllers.runtime.queue import WorkQueue
from closeknit.controllers.runtime.state import ControllerState
from closeknit.controllers.runtime.writer import Version, Writer
from closeknit.controllers.runtime.writes import Decision, SetStatus, Tell, Write
from closeknit.dialects.family import Family
from closeknit.dialects.lone_pods import SCHEDULERS
from closeknit.dialects.store.store import Entry
from closeknit.engine import Pace
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import ApiError
from closeknit.kube.events import Recorder
from closeknit.kube.port import KubernetesApi
from closeknit.live.containment import Containment
from closeknit.live.following import Following, Listening, kinds_read
from closeknit.live.log import Log
from closeknit.scheduler.decide.slices import Slices

_SEEN_WITHIN = 5.0
"""Seconds after which an object is looked at again although its own writes were not seen.

They are the event loop's: with another clock, each of thousands of writes would need two tasks more."""
_FAREWELL = 5.0
"""Seconds for writes and events that are under way at the end."""
_SLICE = 0.005
"""Seconds of a planner's decisions after which others get a turn."""
_TURN = 50
"""So many looks without a write, and others get a turn."""


class ControllerLoop:
    """All controllers of a process, at work while ``run`` is; a lease sees to it that they are alone."""

    def __init__(
        self,
        api: KubernetesApi,
        operators: Sequence[Operator],
        families: Sequence[Family],
        *,
        recorder: Recorder,
        log: Log,
        random: Random,
        clock: Clock = SYSTEM_CLOCK,
        following: Following | None = None,
        connections: int = 32,
        schedulers: frozenset[str] = SCHEDULERS,
        settings: Sequence[Entry] = (),
        metrics: Metrics | None = None,
        containment: Containment | None = None,
    ) -> None:
        """``following``: what is followed for others already and runs by itself; None follows anew."""
        self.containment = containment or Containment("controllers")
        self._metrics = metrics or Metrics()
        self._log = log
        self._clock = clock
        self._recorder = recorder
        self._kinds = kinds_read(families, (kind for each in operators for kind in each.kinds))
        self._own = following is None
        self.following = following or Following(api, self._kinds, clock=clock, random=random)
        indexes = [index for each in operators for index in each.indexes]
        self.state = ControllerState(
            families,
            self._kinds,
            indexes,
            schedulers=schedulers,
            settings=settings,
            containment=self.containment,
        )
        self._writer = Writer(
            api,
            self.following,
            self.state,
            recorder=recorder,
            log=log,
            metrics=self._metrics,
            connections=connections,
        )
        self._controllers: dict[type[Any], list[Controller[Any]]] = {}
        self._slices = Slices(clock, _SLICE)
        pace = Pace(self._slices.pause)
        self._planners = [each.planner(random, pace) for each in operators if each.planner is not None]
        planning = [each.controller for each in self._planners]
        for controller in (*planning, *(each for operator in operators for each in operator.controllers)):
            self._controllers.setdefault(controller.shape, []).append(controller)
        self._queue: WorkQueue[Item] = WorkQueue(random)
        self._concerns: Concerns[Item] = Concerns()
        self._told: dict[Item, tuple[Tell, ...]] = {}
        self._settled: dict[Item, tuple[object, float | None]] = {}
        """Of those whose last decision was carried out: what was observed, and when to look again."""
        self._put_off: set[Item] = set()
        """Those whose status was not written yet, because other writes come first."""
        self._writing: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._listening: Listening | None = None
        self._stopping = False
        self.looks = 0
        """How often a controller has decided about an object."""

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and nothing was told that was not looked at."""
        listening = self._listening
        if listening is None or not listening.drained:
            return False
        return not (len(self._queue) or self.state.has_news or self._wake.is_set())

    @property
    def waiting(self) -> int:
        """How many objects are looked at now or next."""
        return len(self._queue)

    @property
    def untold(self) -> int:
        """How many events are not written yet."""
        return self._recorder.unwritten

    @property
    def rest(self) -> float:
        """Seconds until something is looked at though nothing changes; infinite where nothing is."""
        return min(self._due(), default=inf) - self._clock.monotonic()

    def stop(self) -> None:
        """Decide nothing more, and let what is under way end."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Look after everything until cancelled, or until ``stop`` was called and writes have ended."""
        with self.following.listening(
            self.state, self._kinds, self._wake.set, self._slices.may_change
        ) as listening:
            work = [self._work(listening), self._recorder.run()]
            if self._own:
                work.append(self.following.run())
            tasks = [asyncio.create_task(each) for each in work]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    each.result()
            finally:
                for each in tasks:
                    each.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await self._within(_FAREWELL, self._recorder.flush())

    async def _work(self, listening: Listening) -> None:
        await listening.synced()
        self._listening = listening
        async with asyncio.TaskGroup() as tasks:
            while not self._stopping:
                self._wake.clear()
                await self._collect()
                await self._look_at_all(tasks)
                await self._awake()
            until = self._clock.monotonic() + _FAREWELL
            while self._queue.busy and self._clock.monotonic() < until:
                await self._clock.sleep(0.05)
            for task in self._writing:
                task.cancel()

    async def _awake(self) -> None:
        """Wait for news, or for the next time that something is due."""
        if self._wake.is_set():
            await asyncio.sleep(0)
            return
        time = min(self._due(), default=None)
        if time is None:
            await self._wake.wait()
        else:
            await self._within(time - self._clock.monotonic(), self._wake.wait())

    def _due(self) -> Iterator[float]:
        """When something is to be looked at though nothing changes."""
        if (time := self._queue.next_time()) is not None:
            yield time
        if (time := self.containment.next_time()) is not None:
            yield time
        now = self._clock.now()
        for planner in self._planners:
            if (planned := planner.next_time(now)) is not None:
                yield self._clock.monotonic() + max((planned - now).total_seconds(), 0.0)

    async def _within(self, seconds: float, work: Coroutine[Any, Any, Any]) -> bool:
        """Wait for some work for so many seconds at most; whether it was done by then."""
        waiting = asyncio.ensure_future(work)
        limit = asyncio.ensure_future(self._clock.sleep(max(seconds, 0.0)))
        try:
            await asyncio.wait({waiting, limit}, return_when=asyncio.FIRST_COMPLETED)
            return waiting.done()
        finally:
            for task in (waiting, limit):
                task.cancel()
            await asyncio.gather(waiting, limit, return_exceptions=True)

    # -------------------------------------------------------------------------------------- looking

    async def _collect(self) -> None:
        """Put everything into the queue that has changed since the last time."""
        now = self.containment.now = self._clock.monotonic()
        self.state.retry()
        changed = self.state.changed()
        if self._writer.newly_served():
            for item in self._concerns.everybody():
                self._settled.pop(item, None)
                self._queue.add(item, now)
        for planner in self._planners:
            look = partial(planner.look, self.state.view, changed, self._clock.now())
            for key in await self._slices.run(look):
                self._queue.add(Item(planner.controller, key), now)
        for key, shape in changed.items():
            entry = self.state.get(key)
            found = (
                Item(each, key)
                for each in self._controllers.get(shape, ())
                # What was looked at before is stale now, and comes by way of the view.
                if entry is None or each.looks_after(entry)
            )
            for item in (*found, *self._concerns.about(key)):
                self._settled.pop(item, None)
                self._queue.add(item, now)
        for controllers in self._controllers.values():
            for controller in controllers:
                for (key,) in self.state.view.stale(controller.observe):
                    # What cannot be observed stays stale, and is tried again after a while.
                    self._queue.add(Item(controller, key), now, urgent=False)

    async def _look_at_all(self, tasks: asyncio.TaskGroup) -> None:
        looks = 0
        while (item := self._queue.next(self._clock.monotonic())) is not None:
            work = self._look(item)
            if work is not None:
                writing = tasks.create_task(self._written(item, work))
                self._writing.add(writing)
                writing.add_done_callback(self._writing.discard)
            looks += 1
            if work is not None or looks % _TURN == 0:
                await asyncio.sleep(0)

    def _look(self, item: Item) -> Coroutine[Any, Any, None] | None:
        """Decide about one object; what remains to be done is returned."""
        self.looks += 1
        result: str = "failed"
        work: Coroutine[Any, Any, None] | None = None
        began = self.containment.now = self._clock.monotonic()
        with self.containment.at(item.key, Step.RECONCILE) as step:
            result, work = self._decided(item)
        if step.failure is not None:
            wait = self._queue.failed(item, self._clock.monotonic())
            facts = {"controller": item.controller.name, "object": str(item.key)}
            self._log.warning("not decided", **facts, why=step.failure.error, again=wait)
        self._metrics.looked(item.controller.name, result, self._clock.monotonic() - began)
        return work

    def _decided(self, item: Item) -> tuple[str, Coroutine[Any, Any, None] | None]:
        """How a look ended, and what remains to be done."""
        controller, key = item
        may_wait = item not in self._put_off
        self._put_off.discard(item)
        observed = self.state.view.derive(controller.observe, key)
        settled, again = self._settled.pop(item, (None, None))
        if settled is observed and (again is None or again > self._clock.monotonic()):
            # What it depends on has changed, and means the same.
            self._done(item, observed, again)
            return "settled", None
        decision = controller.decide(observed, self._clock.now())
        found = [(write, self.state.get(write.key)) for write in decision.writes]
        wanted = frozenset(write.key for write in decision.writes if not isinstance(write, Tell))
        self._concerns.note(item, wanted - {item.key})
        self._tell(item, decision)
        needed = [pair for pair in _needed(found) if self._writer.can_send(pair[0])]
        if needed:
            return "writing", self._carry_out(item, decision, needed, may_wait=may_wait)
        self._done(item, observed, self._again(decision))
        return "settled", None

    def _done(self, item: Item, observed: object, again: float | None) -> None:
        # What a planner wants may be otherwise although it observes the same.
        planned = any(item.controller is each.controller for each in self._planners)
        if observed is not None and not planned and self.state.get(item.key) is not None:
            self._settled[item] = (observed, again)
        self._queue.done(item, self._clock.monotonic(), again)

    def _again(self, decision: Decision) -> float | None:
        if decision.again_at is None:
            return None
        left = (decision.again_at - self._clock.now()).total_seconds()
        return self._clock.monotonic() + max(left, 0.0)

    def _tell(self, item: Item, decision: Decision) -> None:
        tells = tuple(each for each in decision.writes if isinstance(each, Tell))
        before = self._told.pop(item, ())
        if tells:
            self._told[item] = tells
        for each in tells:
            if each not in before:
                self._writer.tell(each)

    # -------------------------------------------------------------------------------------- writing

    async def _written(self, item: Item, work: Coroutine[Any, Any, None]) -> None:
        """Carry out a decision; what fails for one object ends no writes of others."""
        with self.containment.at(item.key, Step.WRITE) as step:
            await work
        if step.failure is not None:
            self._queue.failed(item, self._clock.monotonic())
            self._wake.set()

    async def _carry_out(
        self,
        item: Item,
        decision: Decision,
        needed: Iterable[tuple[Write, Entry | None]],
        *,
        may_wait: bool,
    ) -> None:
        """Send writes, wait until they are seen, and let the object be looked at again.

        ``may_wait``: whether a status that can wait is left to the next look where other writes were sent.
        """
        assert self._listening is not None
        seen: list[Version | Callable[[], Awaitable[None]]] = []
        errors: list[ApiError] = []
        for kind, together in groupby(needed, key=lambda pair: type(pair[0])):
            if errors and kind is not SetStatus:
                continue
            chosen = list(together)
            if may_wait and seen and not errors and any(_can_wait(write) for write, _ in chosen):
                chosen = [pair for pair in chosen if not _can_wait(pair[0])]
                self._put_off.add(item)
                self._queue.add(item, self._clock.monotonic())
            sent = [self._writer.send(item, write, entry) for write, entry in chosen]
            for answer in await asyncio.gather(*sent) if len(sent) > 1 else [await each for each in sent]:
                if isinstance(answer, ApiError):
                    errors.append(answer)
                elif answer is not None:
                    seen.append(answer)
        try:
            async with asyncio.timeout(_SEEN_WITHIN):
                await _until_seen(seen, self._listening)
        except TimeoutError:
            self._log.warning("own writes not seen", controller=item.controller.name, object=str(item.key))
        if errors:
            at_least = max(float(each.retry_after or 0) for each in errors)
            self._queue.failed(item, self._clock.monotonic(), at_least)
        else:
            self._queue.done(item, self._clock.monotonic(), self._again(decision))
        self._wake.set()


async def _until_seen(
    writes: Iterable[Version | Callable[[], Awaitable[None]]], listening: Listening
) -> None:
    """Return when all of some writes are seen; of each kind the last one is, since it is seen last."""
    last: dict[tuple[str, str], str] = {}
    for each in writes:
        if isinstance(each, Version):
            of = each.group, each.kind
            last[of] = max(last.get(of, "0"), each.resource_version, key=int)
        else:
            await each()
    for (group, kind), version in last.items():
        await listening.reached(group, kind, version)


def _needed(found: Iterable[tuple[Write, Entry | None]]) -> Iterator[tuple[Write, Entry | None]]:
    """The writes that would change something; a status waits for other writes of its object to be seen."""
    touched: set[Key] = set()
    for write, entry in found:
        if isinstance(write, Tell) or (isinstance(write, SetStatus) and write.key in touched):
            continue
        if is_needed(write, entry):
            touched.add(write.key)
            yield write, entry


def _can_wait(write: Write) -> bool:
    return isinstance(write, SetStatus) and write.can_wait
