"""Makes the calls of commits over many connections, and hands back what each came to.

A call that is not answered within the deadline counts as lost: it may or may not have been carried out.
What is tried again waits, longer each time, and takes no more than half of the connections, so that calls
which hang leave room for others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from itertools import count
from random import Random

from closeknit.apis.core_v1 import Pod
from closeknit.hub.copying import replace
from closeknit.kube.clock import Clock
from closeknit.kube.errors import (
    ApiError,
    ConflictError,
    DeadlineExceededError,
    InternalServerError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from closeknit.kube.port import DeleteOptions, KubernetesApi, MergePatch
from closeknit.kube.resources import PODS, Resource
from closeknit.scheduler.answers import Answer
from closeknit.scheduler.commit import Answered, Bind, Call, Evict, Look, Nominate
from closeknit.scheduler.preparations import Prepare
from closeknit.scheduler.preparing import prepare, undo
from closeknit.scheduler.status.writes import FIELD_MANAGER

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_TICK = 0.25
"""Seconds between two looks at what is late or due."""
_RUSH = 2.0
"""As many calls as there are connections, answered within so many seconds, are a rush."""


def answer_to(error: ApiError) -> Answer:
    """What a refusal means for the call that it answers."""
    match error:
        case ConflictError():
            return Answer.CONFLICT
        case NotFoundError():
            return Answer.GONE
        case TooManyRequestsError():
            return Answer.LATER
        case UnavailableError() | DeadlineExceededError() | InternalServerError():
            return Answer.LOST
        case _:
            return Answer.LOST if error.status.code >= 500 else Answer.REFUSED


def pause(random: Random, tries: int) -> float:
    """Seconds before a call is made again that has failed so often."""
    longest: float = min(_FIRST_WAIT * 2 ** min(tries - 1, 10), _LONGEST_WAIT)
    return longest * (0.5 + random.random() / 2)


class Binder:
    """Workers that share what is to be sent."""

    def __init__(
        self,
        api: KubernetesApi,
        answered: Callable[[Answered], None],
        *,
        clock: Clock,
        random: Random,
        connections: int = 64,
        deadline: float = 4.0,
        resources: Mapping[tuple[str, str], Resource] | None = None,
    ) -> None:
        """``resources``: by group and kind, what the server serves; no other is written."""
        self._api = api
        self._answered = answered
        self._clock = clock
        self._random = random
        self._connections = connections
        self._deadline = deadline
        self._resources = resources if resources is not None else {}
        self._due: deque[Call] = deque()
        self._again: deque[Call] = deque()
        self._later: list[tuple[float, int, Call]] = []
        self._order = count()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._ticking = asyncio.Event()
        self._flying: dict[asyncio.Task[None], float] = {}
        self._retrying = 0
        self._late: set[asyncio.Task[None]] = set()
        self._answers: deque[float] = deque(maxlen=connections)
        """When the last calls were answered."""

    def __len__(self) -> int:
        """How many calls are on their way or still to be made."""
        return len(self._due) + len(self._again) + len(self._later) + len(self._flying)

    @property
    def busy(self) -> bool:
        """Whether calls are on their way, or come so fast that the next ones can be expected."""
        answers = self._answers
        full = len(answers) == answers.maxlen
        return bool(len(self)) or (full and self._clock.monotonic() - answers[0] < _RUSH)

    def send(self, call: Call, tries: int = 0) -> None:
        """Make a call; one that is tried again waits first."""
        if not tries:
            self._due.append(call)
            self._rouse()
            return
        at = self._clock.monotonic() + pause(self._random, tries)
        heappush(self._later, (at, next(self._order), call))
        self._ticking.set()

    async def run(self) -> None:
        """Make calls until cancelled; those on their way are then given up."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tick())
            for _ in range(self._connections):
                tasks.create_task(self._work())

    def _rouse(self) -> None:
        while self._idle:
            waiting = self._idle.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return

    async def _work(self) -> None:
        me = asyncio.current_task()
        assert me is not None
        while True:
            again = not self._due and bool(self._again) and self._retrying < max(self._connections // 2, 1)
            if not self._due and not again:
                waiting = asyncio.get_running_loop().create_future()
                self._idle.append(waiting)
                await waiting
                continue
            call = self._again.popleft() if again else self._due.popleft()
            self._retrying += again
            began = self._flying[me] = self._clock.monotonic()
            self._ticking.set()
            try:
                found = await self._made(call)
            except asyncio.CancelledError:
                if me not in self._late:
                    raise
                found = Answered(call, Answer.LOST, "No answer came in time.")
            finally:
                del self._flying[me]
                self._retrying -= again
                if me in self._late:
                    # Also where the answer came just as it was given up: the next call has its own deadline.
                    self._late.discard(me)
                    me.uncancel()
            ended = self._clock.monotonic()
            self._answers.append(ended)
            self._answered(replace(found, seconds=ended - began))

    async def _made(self, call: Call) -> Answered:
        """What a call came to."""
        try:
            match call:
                case Bind(pod=pod):
                    await self._api.bind(pod.name, call.node, namespace=pod.namespace, uid=call.uid)
                case Look(pod=pod):
                    found = await self._api.get(PODS, pod.name, namespace=pod.namespace, into=Pod)
                    return Answered(call, Answer.DONE, "", found.metadata.uid, found.spec.node_name)
                case Evict(pod=pod):
                    options = DeleteOptions(uid=call.uid)
                    await self._api.evict(pod.name, namespace=pod.namespace, options=options)
                case Nominate(pod=pod):
                    change = MergePatch(
                        {"metadata": {"uid": call.uid}, "status": {"nominatedNodeName": call.node or None}}
                    )
                    await self._api.patch(
                        PODS,
                        pod.name,
                        change,
                        namespace=pod.namespace,
                        subresource="status",
                        field_manager=FIELD_MANAGER,
                    )
                case _:
                    write = prepare if isinstance(call, Prepare) else undo
                    answer, why, version = await write(self._api, self._resources, call.what)
                    return Answered(call, answer, why, version=version)
        except ApiError as error:
            return Answered(call, answer_to(error), str(error))
        return Answered(call, Answer.DONE)

    async def _tick(self) -> None:
        """Send what has waited long enough, and give up what was not answered in time."""
        while True:
            await self._ticking.wait()
            await self._clock.sleep(_TICK)
            now = self._clock.monotonic()
            while self._later and self._later[0][0] <= now:
                self._again.append(heappop(self._later)[2])
                self._rouse()
            for task, since in self._flying.items():
                if now - since > self._deadline and task not in self._late:
                    self._late.add(task)
                    task.cancel()
            if not self._later and not self._flying and not self._again:
                self._ticking.clear()
