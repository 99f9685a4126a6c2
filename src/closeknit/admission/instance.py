"""Admission with all that belongs to it: what it follows, the certificates, the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random

from closeknit.admission.keeping import Keeper
from closeknit.admission.registration import Renewal, install
from closeknit.admission.reviewer import FAMILIES, Reviewer
from closeknit.admission.server import Webhook
from closeknit.admission.webhooks import NAME, Endpoint, configurations
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
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
        self.reviewer = Reviewer(api, families=settings.families, operators=settings.operators)

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._webhook is not None
        return self._webhook.port

    def not_ready(self) -> str | None:
        """Why it cannot review yet."""
        if self._webhook is None:
            return "The webhook does not listen yet."
        return None if self.reviewer.synced else "The cluster has not been read yet."

    async def start(self) -> None:
        """Listen; raises ``OSError``, ``ApiError`` or ``UnusableCertificateError`` where that cannot be."""
        kept = await self._renewal.first()
        webhook = Webhook(self.reviewer, kept.current, host=self._settings.host, port=self._settings.port)
        await webhook.start()
        self._webhook = webhook
        if self._settings.url:
            endpoint = Endpoint(client={"url": self._settings.url}, authorities=kept.bundle)
            made = configurations(
                endpoint,
                families=self.reviewer.families,
                operators=self._settings.operators,
                name=self._settings.name,
            )
            await install(self._api, made)
        self._log.info("reviewing", port=webhook.port, families=list(self.reviewer.families))

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
) -> AsyncIterator[None]:
    """Tell a reviewer of all that it measures workloads by, while the block lasts."""
    following = Following(api, reviewer.kinds, clock=clock, random=random)
    with following.listening(reviewer, reviewer.kinds, lambda: None) as listening:
        reviewer.resources = following.resources

        async def sync() -> None:
            await listening.synced()
            reviewer.synced = True

        tasks = [asyncio.create_task(following.run()), asyncio.create_task(sync())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
