"""Works while it holds a lease, waits while it does not.

| role | what it does | next |
|---|---|---|
| standby | waits for the lease; what it follows stays up to date | settling, when it takes the lease |
| settling | waits for the last calls of a predecessor that did not release the lease | leading; standby |
| leading | works; every write passes the fence of this term | standby, when the lease is lost; stopped |
| stopped | has released the lease | |
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TypeAlias

from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.fencing import fenced
from closeknit.kube.leases import Lease, LostLeaseError, Terms
from closeknit.kube.port import KubernetesApi
from closeknit.live.log import Log

Work: TypeAlias = Callable[[KubernetesApi], Awaitable[None]]
"""What is done during one term, with the API through which all of it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseName:
    """The lease whose holder works."""

    namespace: str
    name: str


class Role(Enum):
    """What an instance does now."""

    STANDBY = "standby"
    SETTLING = "settling"
    LEADING = "leading"
    STOPPED = "stopped"


class Leadership:
    """One instance's terms of leadership. Without a lease it always leads."""

    def __init__(
        self,
        api: KubernetesApi,
        lease: LeaseName | None,
        *,
        identity: str,
        log: Log,
        random: Random,
        clock: Clock = SYSTEM_CLOCK,
        terms: Terms | None = None,
        progresses: Callable[[], bool] = lambda: True,
    ) -> None:
        """``progresses`` returns whether the work makes progress; the lease is not renewed if it does not."""
        self._progresses = progresses
        self._api = api
        self._lease = lease
        self._identity = identity
        self._log = log
        self._random = random
        self._clock = clock
        self._terms = terms or Terms()
        self._holding: asyncio.Task[None] | None = None
        self._held: Lease | None = None
        self._fenced = 0
        """Writes that were not sent in former terms."""
        self.role = Role.STANDBY
        self.transitions = 0
        """How often it has begun or ceased to lead."""
        self.stopping = False
        """Whether ``stop`` was called."""

    @property
    def name(self) -> str:
        """The name of its lease; empty for an instance that needs none."""
        return self._lease.name if self._lease is not None else ""

    @property
    def waiting(self) -> bool:
        """Whether it waits for its turn: another instance works, or has just worked."""
        return self._holding is not None and self.role is not Role.LEADING

    @property
    def fenced_writes(self) -> int:
        """How many writes were not sent, because the lease might have been held by another instance."""
        return self._fenced + (self._held.fence.fenced if self._held is not None else 0)

    @property
    def call_deadline(self) -> float | None:
        """Seconds that a binding may take at most; None without a lease."""
        return self._terms.call_deadline if self._lease is not None else None

    async def lead(self, work: Work) -> None:
        """Work whenever it is this instance's turn, until ``stop`` was called and the work has ended."""
        while not self.stopping:
            try:
                await self._hold(work)
            except LostLeaseError as error:
                # The next term begins with what the cluster shows then.
                self._log.warning("lease lost", why=str(error))
        self.role = Role.STOPPED

    def stop(self) -> None:
        """Begin no other term. Work under way ends by itself."""
        self.stopping = True
        if self._holding is not None and self.role is not Role.LEADING:
            self._holding.cancel()

    async def _hold(self, work: Work) -> None:
        if self._lease is None:
            await self._work(work, self._api)
            return
        lease = self._held = Lease(
            self._api,
            self._lease.name,
            namespace=self._lease.namespace,
            identity=self._identity,
            random=self._random,
            clock=self._clock,
            terms=self._terms,
            told=lambda why: self._log.warning("lease not taken", why=why),
            progresses=self._progresses,
        )
        self._log.info("waiting for the lease", lease=f"{self._lease.namespace}/{self._lease.name}")

        async def term() -> None:
            self.role = Role.SETTLING
            await lease.settled()
            await self._work(work, fenced(self._api, lease.fence))

        self._holding = asyncio.ensure_future(lease.hold(term))
        try:
            await self._holding
        except asyncio.CancelledError:
            if not self.stopping:
                raise
        finally:
            self.role = Role.STANDBY
            self._fenced += lease.fence.fenced
            self._holding = self._held = None

    async def _work(self, work: Work, api: KubernetesApi) -> None:
        self.role = Role.LEADING
        self.transitions += 1
        try:
            if not self.stopping:
                await work(api)
        finally:
            self.role = Role.STANDBY
            self.transitions += 1
