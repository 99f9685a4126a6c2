"""``Scheduled`` events of the pods that were bound, in kube-scheduler's form.

An event a pod costs an API server about as much as the binding does. They are written in the background,
at a bounded rate, when no bindings have been under way for a while; until then only those that have waited
for long, and those slowly. Beyond a limit the oldest are dropped and counted. They do not survive a
restart.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from random import Random
from typing import NamedTuple

from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import TRANSIENT, AlreadyExistsError, ApiError
from closeknit.kube.events import EventType, Reference, Source
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import EVENTS, PODS
from closeknit.scheduler import wording
from closeknit.scheduler.commit import Bind

REASON, ACTION = "Scheduled", "Binding"
PENDING_LIMIT = 10_000
"""Events that wait to be written; of more, the oldest are dropped."""
PER_SECOND = 200
"""Events a second when no bindings have been under way for ``CALM``."""
PER_SECOND_BUSY = 20
"""Events a second before that, of those that have waited for ``DEFERRAL``."""
DEFERRAL = 15.0
"""Seconds that an event waits for bindings to be done."""
CALM = 2.0
"""Seconds without bindings before events are written: in a rush, bindings come in bursts."""
_TOGETHER = 8
"""Events that are written at the same time."""
_POLL = 0.05
"""Seconds between two checks whether bindings are still under way."""


class _Pending(NamedTuple):
    bind: Bind
    moment: datetime
    noted_at: float


class PodEvents:
    """Events that wait to be written. ``run`` writes them, until cancelled."""

    def __init__(
        self,
        api: KubernetesApi,
        component: str,
        *,
        instance: str,
        random: Random,
        busy: Callable[[], bool] = lambda: False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._source = Source(component, instance, random)
        self._busy = busy
        self._clock = clock
        self._backoff = Backoff(random)
        self._pending: deque[_Pending] = deque()
        self._some = asyncio.Event()
        self._busy_at = 0.0
        """When bindings were last seen under way, or done."""
        self.written = 0
        self.dropped = 0
        """Events that were too many, or that the server refused for good."""

    def __len__(self) -> int:
        return len(self._pending)

    def note(self, bound: Iterable[Bind]) -> None:
        """Pods were bound."""
        moment, now = self._clock.now(), self._clock.monotonic()
        self._pending.extend(_Pending(bind, moment, now) for bind in bound)
        while len(self._pending) > PENDING_LIMIT:
            self._pending.popleft()
            self.dropped += 1
        self._some.set()

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            if not self._pending:
                self._some.clear()
                await self._some.wait()
                continue
            now = self._clock.monotonic()
            if self._busy() or self._pending[-1].noted_at > self._busy_at:
                self._busy_at = now
            calm = now - self._busy_at >= CALM
            if not calm and now - self._pending[0].noted_at < DEFERRAL:
                await self._clock.sleep(_POLL)
                continue
            together = _TOGETHER if calm else 1
            pause = await self._write_some(together)
            rate = PER_SECOND if calm else PER_SECOND_BUSY
            await self._clock.sleep(max(pause, together / rate))

    async def flush(self) -> None:
        """Write all that wait, however busy the server is; the caller limits the time."""
        while self._pending:
            if pause := await self._write_some(_TOGETHER):
                await self._clock.sleep(pause)

    async def _write_some(self, number: int) -> float:
        """Write the oldest; returns the seconds for which the server should be left alone."""
        some = [self._pending.popleft() for _ in range(min(number, len(self._pending)))]
        pauses = await asyncio.gather(*map(self._write, some))
        if not any(pauses):
            self._backoff.reset()
            return 0.0
        again = [pending for pending, pause in zip(some, pauses, strict=True) if pause]
        self._pending.extendleft(reversed(again))
        return max(self._backoff.wait(), *pauses)

    async def _write(self, pending: _Pending) -> float:
        """Write one event; returns 0, or the seconds after which it is to be tried again."""
        pod, uid, node = pending.bind.pod, pending.bind.uid, pending.bind.node
        regarding = Reference(PODS.api_version, PODS.kind, pod.name, pod.namespace, uid)
        note = wording.assigned(f"{pod.namespace}/{pod.name}", node)
        event = self._source.event(regarding, EventType.NORMAL, REASON, ACTION, note, pending.moment)
        # A pod is bound once, so a retry after a lost answer does not write a second event.
        event["metadata"]["name"] = f"{pod.name[:200]}.bound-{uid[:36]}"
        try:
            await self._api.create(EVENTS, event)
        except AlreadyExistsError:
            pass
        except TRANSIENT as error:
            return max(error.retry_after or 0.0, _POLL)
        except ApiError:
            # The namespace is gone, or no events are allowed: no later attempt would fare better.
            self.dropped += 1
            return 0.0
        self.written += 1
        return 0.0
