"""Admission with all that belongs to it: what it follows, the certificates, the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from closeknit.admission.certificates import Kept
from closeknit.admission.keeping import Keeper
from closeknit.admission.metrics import Metrics
from closeknit.admission.registration import Renewal, install
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.admission.server import Webhook
from closeknit.admission.webhooks import NAME, Endpoint, configurations
from closeknit.dialects.store.store import Entry
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import ApiError
from closeknit.kube.port import KubernetesApi
from closeknit.live.following import Following
from closeknit.live.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How admission is run."""

    families: tuple[str, ...] = tuple(FAMILIES)
    """Those that are managed; of the others nothing is reviewed."""
    operators: frozenset[str] = frozenset()
    """The users who may change what operators have made."""
    configured: tuple[Entry, ...] = ()
    """What operators are told in files, and no cluster serves."""
    host: str = "127.0.0.1"
    port: int = 0
    name: str = NAME
    """The name of the webhook configurations."""
    url: str = ""
    """Where API servers reach it, if it is to install the configurations itself; a chart has done so else."""


class Admission:
    """Reviews writes, until ``run`` is cancelled."""

    def __init__(
        self,
        api: KubernetesApi,
        settings: Settings,
        keeper: Keeper,
        *,
        log: Log,
        random: Random,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._settings = settings
        self._log = log
        self._random = random
        self._clock = clock
        self._renewal = Renewal(api, keeper, name=settings.name, clock=clock, random=random, log=log)
        self._webhook: Webhook | None = None
        self.metrics = Metrics()
        self.reviewer = Reviewer(
            api,
            families=settings.families,
            operators=settings.operators,
            settings=settings.configured,
            clock=clock,
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._settings.port if self._webhook is None else self._webhook.port

    def not_ready(self) -> str | None:
        """Why it cannot review yet."""
        if self._webhook is None:
            return "The webhook does not listen yet."
        return None if self.reviewer.synced else "The cluster has not been read yet."

    async def start(self) -> None:
        """Listen; raises ``OSError``, ``ApiError`` or ``UnusableCertificateError`` where that cannot be."""
        kept = await self._renewal.first()
        webhook = Webhook(
            self.reviewer,
            kept.current,
            host=self._settings.host,
            port=self._settings.port,
            metrics=self.metrics,
        )
        await webhook.start()
        try:
            await self._install(kept)
        except ApiError:
            await webhook.stop()
            raise
        self._webhook = webhook
        self._log.info("reviewing", port=webhook.port, families=list(self.reviewer.families))

    async def _install(self, kept: Kept) -> None:
        if self._settings.url:
            endpoint = Endpoint(client={"url": self._settings.url}, authorities=kept.bundle)
            made = configurations(
                endpoint,
                families=self.reviewer.families,
                operators=self._settings.operators,
                name=self._settings.name,
            )
            await install(self._api, made)

    async def run(self) -> None:
        """Review until cancelled. ``start`` comes first."""
        assert self._webhook is not None
        try:
            async with following_for(self.reviewer, self._api, self._clock, self._random):
                await self._renewal.run(self._webhook)
        finally:
            await self._webhook.stop()


@asynccontextmanager
async def following_for(
    reviewer: Reviewer, api: KubernetesApi, clock: Clock, random: Random
) -> AsyncIterator[asyncio.Task[None]]:
    """Tell a reviewer of all that it measures workloads by, while the block lasts.

    What is handed out is done when it was told of everything that there was.
    """
    following = Following(api, reviewer.kinds, clock=clock, random=random)
    with following.listening(reviewer, reviewer.kinds, lambda: None) as listening:
        reviewer.resources = following.resources

        async def sync() -> None:
            await listening.synced()
            reviewer.synced = True

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(following.run()), tasks.create_task(sync())]
            try:
                yield running[1]
            finally:
                for task in running:
                    task.cancel()
