"""The controllers of one process with all that belongs to them, and the lease that lets them work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from closeknit.controllers.metrics import Metrics
from closeknit.controllers.runtime.controller import Operator
from closeknit.controllers.runtime.loop import ControllerLoop
from closeknit.dialects import DIALECTS
from closeknit.dialects.store.store import Entry
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.events import Recorder
from closeknit.kube.leases import Terms
from closeknit.kube.port import KubernetesApi
from closeknit.live.containment import Containment, Record
from closeknit.live.failure_log import FailureLog
from closeknit.live.following import Following
from closeknit.live.leadership import Leadership, LeaseName
from closeknit.live.log import Log
from closeknit.live.supervision import supervised

COMPONENT = "closeknit-controllers"


class Controllers:
    """Looks after objects while it holds the lease, waits while it does not, until ``stop``."""

    def __init__(
        self,
        api: KubernetesApi,
        operators: Sequence[Operator],
        *,
        identity: str,
        log: Log,
        random: Random,
        lease: LeaseName | None = None,
        clock: Clock = SYSTEM_CLOCK,
        following: Following | None = None,
        settings: Sequence[Entry] = (),
        terms: Terms | None = None,
        record: Record | None = None,
    ) -> None:
        """``settings``: what operators were installed with, such as Dynamo's ``domainToLabelMapping``.

        ``record``: where failures of objects are counted and logged.
        """
        self.containment = Containment("controllers", record or FailureLog(log))
        self._operators = operators
        self._identity = identity
        self._log = log
        self._random = random
        self._clock = clock
        self._following = following
        self._settings = settings
        self.leadership = Leadership(
            api, lease, identity=identity, log=log, random=random, clock=clock, terms=terms
        )
        self.loop: ControllerLoop | None = None
        self.metrics = Metrics(lambda: self.loop.waiting if self.loop is not None else 0)

    async def run(self) -> None:
        """Work until ``stop`` was called and what was under way has ended."""
        await self.leadership.lead(self._work)

    def stop(self) -> None:
        """Decide nothing more, and end."""
        self.leadership.stop()
        if self.loop is not None:
            self.loop.stop()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and nothing was told that was not looked at."""
        return self.loop is None or self.loop.idle

    @property
    def untold(self) -> int:
        """How many events are not written yet."""
        return self.loop.untold if self.loop is not None else 0

    @property
    def following(self) -> Following | None:
        """What it knows of the cluster; None while it does not work."""
        return self.loop.following if self.loop is not None else None

    def not_ready(self) -> str | None:
        """Why it does no work; None while it does, or waits for its turn."""
        if self.loop is None and not self.leadership.waiting:
            return "The controllers have not started."
        return None

    async def _work(self, api: KubernetesApi) -> None:
        """Work for one term, with new state: what was known before may be out of date.

        All writes go through ``api``, which sends them only while the lease is held.
        """
        for operator in self._operators:
            if operator.start is not None:
                await operator.start(api, self._settings, self._log)
        await supervised(
            partial(self._control, api),
            self.containment,
            log=self._log,
            random=self._random,
            clock=self._clock,
        )

    async def _control(self, api: KubernetesApi) -> None:
        if self.leadership.stopping:
            return
        recorder = Recorder(api, COMPONENT, instance=self._identity, random=self._random, clock=self._clock)
        self.loop = ControllerLoop(
            api,
            self._operators,
            DIALECTS,
            recorder=recorder,
            log=self._log,
            random=self._random,
            clock=self._clock,
            following=self._following,
            settings=self._settings,
            metrics=self.metrics,
            containment=self.containment,
        )
        self._log.info("controlling", families=[each.family for each in self._operators])
        try:
            await self.loop.run()
        finally:
            self.loop = None
