"""One of many: a lease in the cluster says which instance works, and the others wait.

Clocks of different machines are never compared. A lease is free when it has not changed, as seen from
here, for as long as its holder asked; a holder that cannot renew stops working before others may begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from closeknit.kube.clock import SYSTEM_CLOCK, Clock, micro_timestamp
from closeknit.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from closeknit.kube.port import KubernetesApi, Object
from closeknit.kube.resources import LEASES


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long a lease holds. Each is shorter than the one before it."""

    duration: float = 15.0
    """For how many seconds others believe a holder that says nothing."""
    renew_within: float = 10.0
    """A holder that could not renew for so many seconds stops."""
    every: float = 2.0
    """How often a holder renews, and the others look."""

    def __post_init__(self) -> None:
        if not self.duration > self.renew_within > self.every > 0:
            raise ValueError(
                f"duration ({self.duration:g}) must be longer than renew_within ({self.renew_within:g}), "
                f"and that longer than every ({self.every:g}), or two could hold one lease."
            )


class LostLeaseError(Exception):
    """The lease could not be renewed in time, or somebody else holds it."""


class Lease:
    """One instance's part in the election of a holder."""

    def __init__(
        self,
        api: KubernetesApi,
        name: str,
        *,
        namespace: str,
        identity: str,
        random: Random,
        terms: Terms | None = None,
        clock: Clock = SYSTEM_CLOCK,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``told`` hears why the lease cannot be taken, once for each reason; it is tried again anyway."""
        self.identity = identity
        self._api = api
        self._name = name
        self._namespace = namespace
        self._random = random
        self._terms = terms or Terms()
        self._clock = clock
        self._told = told
        self._problem = ""
        self._seen: Object = {}
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self.holder = ""
        """Who held the lease when it was last looked at."""

    async def hold(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, work while it is held, and give it up when the work is done.

        When the lease is lost, the work is cancelled, and LostLeaseError is raised after it has ended. What
        the work raises is raised here.
        """
        await self._acquire()
        working = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._keep())
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost = renewing.done()
            for task in (working, renewing):
                if not task.done():
                    task.cancel()
            await asyncio.gather(working, renewing, return_exceptions=True)
            if not lost:
                await self._release()
        if lost and (working.cancelled() or working.exception() is None):
            renewing.result()
        working.result()

    async def _acquire(self) -> None:
        while not await self._attempt():
            # Those who wait do not all look at the same moment.
            await self._clock.sleep(self._terms.every * (1 + self._random.random() / 5))

    async def _attempt(self) -> bool:
        """Take the lease if it is free, or ours from before. What the server refuses may be mended later."""
        try:
            return await self._take()
        except (AlreadyExistsError, ConflictError):
            # Somebody else was faster.
            return False
        except ApiError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                self._told(self._problem)
            return False

    async def _take(self) -> bool:
        try:
            lease = await self._api.get(LEASES, self._name, namespace=self._namespace)
        except NotFoundError:
            return await self._write(None)
        self._look(lease)
        free = self._clock.monotonic() - self._seen_at >= _duration(lease)
        if self.holder and self.holder != self.identity and not free:
            return False
        return await self._write(lease)

    def _look(self, lease: Object) -> None:
        """Note when the lease last changed, by this machine's clock."""
        version = lease["metadata"]["resourceVersion"]
        if not self._seen or self._seen["metadata"]["resourceVersion"] != version:
            self._seen, self._seen_at = lease, self._clock.monotonic()
        self.holder = (lease.get("spec") or {}).get("holderIdentity") or ""

    async def _keep(self) -> None:
        """Renew until that fails for too long; then raise."""
        while True:
            await self._clock.sleep(self._terms.every)
            left = self._renewed_at + self._terms.renew_within - self._clock.monotonic()
            try:
                async with asyncio.timeout(left):
                    await self._write(self._seen)
            except (ApiError, TimeoutError) as error:
                if isinstance(error, ConflictError | NotFoundError):
                    await self._check_ours(error)
                left = self._renewed_at + self._terms.renew_within - self._clock.monotonic()
                if left <= self._terms.every:
                    raise LostLeaseError(
                        f"The lease {self._namespace}/{self._name} could not be renewed "
                        f"for {self._terms.renew_within:g} s: {error}"
                    ) from error

    async def _check_ours(self, cause: Exception) -> None:
        """After a conflict: another hand may have touched the lease, or taken it."""
        try:
            lease = await self._api.get(LEASES, self._name, namespace=self._namespace)
        except NotFoundError:
            raise LostLeaseError(f"The lease {self._namespace}/{self._name} was deleted.") from cause
        except ApiError:
            return
        self._look(lease)
        if self.holder != self.identity:
            raise LostLeaseError(
                f"The lease {self._namespace}/{self._name} is held by {self.holder or 'nobody'}."
            ) from cause

    async def _write(self, lease: Object | None) -> bool:
        """Say that the lease is ours; ConflictError where it changed since it was read."""
        # Others begin to count when they see this write, which is after it was sent.
        sent_at = self._clock.monotonic()
        now = micro_timestamp(self._clock.now())
        before: dict[str, Any] = (lease or {}).get("spec") or {}
        ours = before.get("holderIdentity") == self.identity
        spec = before | {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._terms.duration)),
            "acquireTime": before.get("acquireTime") if ours else now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (0 if ours or lease is None else 1),
        }
        if lease is None:
            metadata = {"name": self._name, "namespace": self._namespace}
            written = await self._api.create(
                LEASES,
                {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": metadata, "spec": spec},
            )
        else:
            written = await self._api.replace(LEASES, lease | {"spec": spec})
        self._look(written)
        self._renewed_at = sent_at
        return True

    async def _release(self) -> None:
        """Let the next one begin at once. Where that fails, it begins when the lease has run out."""
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(self._terms.renew_within):
                while self.holder == self.identity:
                    spec = self._seen["spec"] | {"holderIdentity": "", "leaseDurationSeconds": 1}
                    try:
                        self._look(await self._api.replace(LEASES, self._seen | {"spec": spec}))
                    except ConflictError:
                        # A renewal that was cut off may have been written all the same.
                        self._look(await self._api.get(LEASES, self._name, namespace=self._namespace))


def _duration(lease: Object) -> float:
    return float((lease.get("spec") or {}).get("leaseDurationSeconds") or 1)
