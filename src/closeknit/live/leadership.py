"""Works while it holds a lease, waits while it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.leases import Lease, LostLeaseError
from closeknit.kube.port import KubernetesApi
from closeknit.live.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseName:
    """Which lease says who works."""

    namespace: str
    name: str


class Leadership:
    """One instance's turns at work. Without a lease it is always its turn."""

    def __init__(
        self,
        api: KubernetesApi,
        lease: LeaseName | None,
        *,
        identity: str,
        log: Log,
        random: Random,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._lease = lease
        self._identity = identity
        self._log = log
        self._random = random
        self._clock = clock
        self._holding: asyncio.Task[None] | None = None
        self._working = False
        self.stopping = False
        """Whether ``stop`` was called."""

    @property
    def waiting(self) -> bool:
        """Whether another instance works, and this one waits for its turn."""
        return self._holding is not None and not self._working

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Work whenever it is this instance's turn, until ``stop`` was called and the work has ended."""
        while not self.stopping:
            try:
                await self._hold(work)
            except LostLeaseError as error:
                # Whoever holds it now has read the cluster as it is; so does this one when its turn comes.
                self._log.warning("lease lost", why=str(error))

    def stop(self) -> None:
        """Take no further turn. Who is at work ends it by itself."""
        self.stopping = True
        if self._holding is not None and not self._working:
            self._holding.cancel()

    async def _hold(self, work: Callable[[], Awaitable[None]]) -> None:
        if self._lease is None:
            await self._work(work)
            return
        lease = Lease(
            self._api,
            self._lease.name,
            namespace=self._lease.namespace,
            identity=self._identity,
            random=self._random,
            clock=self._clock,
            told=lambda why: self._log.warning("lease not taken", why=why),
        )
        self._log.info("waiting for the lease", lease=f"{self._lease.namespace}/{self._lease.name}")
        self._holding = asyncio.ensure_future(lease.hold(lambda: self._work(work)))
        try:
            await self._holding
        except asyncio.CancelledError:
            if not self.stopping:
                raise
        finally:
            self._holding = None

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        self._working = True
        try:
            if not self.stopping:
                await work()
        finally:
            self._working = False
