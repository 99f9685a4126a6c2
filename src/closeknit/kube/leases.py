"""Leader election by a lease in the cluster: one instance works, and the others wait.

| state | event | next |
|---|---|---|
| waiting | the lease is free: absent, without holder, or unchanged for the duration in it | taking |
| taking | the write was accepted | settling |
| taking | the write was refused: another instance was faster | waiting |
| settling | every call of the predecessor has had its deadline, or it had released the lease | leading |
| settling, leading | renewed within ``renew_within`` | the same |
| settling, leading | not renewed within ``renew_within``, or a write came later than that | lost |
| settling, leading | another instance holds the lease, or it was deleted | lost |
| leading | the work has ended | released |

Clocks of different machines are never compared. Times are those of ``Clock.boottime``, which goes on while a
machine is suspended. Every write of a term passes its ``fence``. ``docs/explanation/leadership.md`` derives
the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Any

from closeknit.kube.clock import SYSTEM_CLOCK, Clock, micro_timestamp
from closeknit.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError, only_expired
from closeknit.kube.fencing import Fence
from closeknit.kube.port import Change, ChangeType, KubernetesApi, Object, Selection
from closeknit.kube.resources import LEASES

_SHORTEST_WAIT = 0.05
"""Seconds between two attempts at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long a lease holds. Each is shorter than the one before it."""

    duration: float = 15.0
    """Seconds that other instances wait for a renewal before they take the lease."""
    renew_within: float = 10.0
    """A holder that could not renew for so many seconds stops, and sends nothing more."""
    every: float = 2.0
    """How often a holder renews, and the others look."""

    def __post_init__(self) -> None:
        if not self.duration > self.renew_within > self.every > 0:
            raise ValueError(
                f"duration ({self.duration:g}) must be longer than renew_within ({self.renew_within:g}), "
                f"and that longer than every ({self.every:g}), or two could hold one lease."
            )

    @property
    def call_deadline(self) -> float:
        """Seconds that a binding may take, so that one sent at the last moment ends before the lease is free.

        It is sent before ``renew_within`` has passed since the last renewal, and the lease is free after
        ``duration``. The other half of what lies between is for clocks that differ in rate and for the
        granularity of timers.
        """
        return (self.duration - self.renew_within) / 2


class LostLeaseError(Exception):
    """The lease could not be renewed in time, or another instance holds it."""


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
        progresses: Callable[[], bool] = lambda: True,
    ) -> None:
        """``told`` is called with why the lease cannot be taken, once a reason; it is tried again anyway.

        ``progresses`` returns whether the work makes progress. If it does not, the lease is lost, so that
        another instance may take over.
        """
        self._progresses = progresses
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
        self._changed = asyncio.Event()
        """Set when the lease may be free."""
        self.fence = Fence(clock)
        """Open while the lease is held; every write of the work passes it."""
        self.holder = ""
        """The holder of the lease as of the last look."""

    async def hold(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, work while it is held, and release it when the work is done.

        When the lease is lost, the work is cancelled, and LostLeaseError is raised after it has ended. What
        the work raises is raised here. A lease is held once: the next term takes a new one.
        """
        await self._acquire()
        working = asyncio.ensure_future(work())
        renewing = asyncio.create_task(self._keep())
        expiring = asyncio.create_task(self.fence.expired.wait())
        try:
            await asyncio.wait({working, renewing, expiring}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost = renewing.done() or expiring.done()
            if lost:
                # What the work does while it is cancelled is not sent either.
                self.fence.close()
            for task in (working, renewing, expiring):
                if not task.done():
                    task.cancel()
            await asyncio.gather(working, renewing, expiring, return_exceptions=True)
            self.fence.close()
            if not lost:
                await self._release()
        if lost and (working.cancelled() or only_expired(working.exception())):
            if not renewing.cancelled():
                renewing.result()
            raise LostLeaseError(
                f"The lease {self._namespace}/{self._name} had not been renewed for "
                f"{self._terms.renew_within:g} s when {self.fence.fenced} writes were to be sent."
            )
        working.result()

    async def settled(self) -> None:
        """Return when every call that may still be under way, of this instance or its predecessor, had its
        deadline.

        At once if the predecessor released the lease, because it did so after its last call was answered.
        """
        while (seconds := self.fence.settles_in(self._terms.call_deadline)) > 0:
            await self._clock.sleep(seconds)

    async def _acquire(self) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            while not await self._attempt():
                await self._until_changed()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _until_changed(self) -> None:
        """Return when the lease may be free, or after a while."""
        # Instances that wait do not all look at the same moment.
        seconds = self._terms.every * (1 + self._random.random() / 5)
        if self.holder and (free_in := self._free_in()) > 0:
            seconds = min(seconds, max(free_in, _SHORTEST_WAIT))
        waits = [
            asyncio.ensure_future(self._changed.wait()),
            asyncio.ensure_future(self._clock.sleep(seconds)),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        self._changed.clear()

    async def _watch(self) -> None:
        """Follow the lease, to take it as soon as it is released; a refused watch leaves the attempts."""
        selection = Selection(namespace=self._namespace, fields=f"metadata.name={self._name}")
        while True:
            with suppress(ApiError):
                async with aclosing(self._api.watch(LEASES, selection)) as events:
                    async for event in events:
                        if isinstance(event, Change):
                            self._look(event.object)
                            if event.type is ChangeType.DELETED or not self.holder:
                                self._changed.set()
            await self._clock.sleep(self._terms.every)

    async def _attempt(self) -> bool:
        """Take the lease if it is free, or ours from before. What the server refuses may be allowed later."""
        try:
            return await self._take()
        except (AlreadyExistsError, ConflictError):
            # Another instance was faster.
            return False
        except ApiError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                self._told(self._problem)
            return False

    async def _take(self) -> bool:
        lease: Object | None
        try:
            lease = await self._api.get(LEASES, self._name, namespace=self._namespace)
        except NotFoundError:
            lease = None
        else:
            self._look(lease)
        # The holder of a lease that was deleted notices it only when it renews.
        if self.holder and self.holder != self.identity and self._free_in() > 0:
            return False
        was_held = bool(self.holder)
        await self._write(lease)
        if was_held:
            # Its last calls may be under way, as may those of our own last term.
            self.fence.note_unanswered()
        return True

    def _look(self, lease: Object) -> None:
        """Note when the lease last changed, by this machine's clock."""
        version = lease["metadata"]["resourceVersion"]
        if not self._seen or self._seen["metadata"]["resourceVersion"] != version:
            self._seen, self._seen_at = lease, self._clock.boottime()
        self.holder = (lease.get("spec") or {}).get("holderIdentity") or ""

    def _free_in(self) -> float:
        """Seconds until the lease as it was last seen is free."""
        return self._seen_at + _duration(self._seen) - self._clock.boottime()

    def _left(self) -> float:
        """Seconds until the lease counts as lost unless it is renewed."""
        return self._renewed_at + self._terms.renew_within - self._clock.boottime()

    async def _keep(self) -> None:
        """Renew until that fails for too long; then raise."""
        while True:
            # An answer that was slow to come has used up a part of the pause.
            pause = self._renewed_at + self._terms.every - self._clock.boottime()
            await self._clock.sleep(max(pause, 0.0))
            if not self._progresses():
                raise LostLeaseError(f"The lease {self._namespace}/{self._name} is given up: no progress.")
            while not await self._renewed():
                await self._clock.sleep(min(self._terms.every, max(self._left(), 0.0)))

    async def _renewed(self) -> bool:
        """Renew once; LostLeaseError if it is too late to try again."""
        if self._left() <= 0:
            # As after a stop of the process: another instance may have taken it by now, or is about to.
            raise self._not_renewed("it was too late to try.")
        try:
            async with asyncio.timeout(self._left()):
                await self._write(self._seen)
        except (ApiError, TimeoutError) as error:
            if isinstance(error, ConflictError | NotFoundError):
                await self._check_ours(error)
            if self._left() <= 0:
                raise self._not_renewed(str(error)) from error
            return False
        return True

    def _not_renewed(self, why: str) -> LostLeaseError:
        name, seconds = f"{self._namespace}/{self._name}", self._terms.renew_within
        return LostLeaseError(f"The lease {name} could not be renewed for {seconds:g} s: {why}")

    async def _check_ours(self, cause: Exception) -> None:
        """After a conflict: another client may have changed the lease, or taken it."""
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

    async def _write(self, lease: Object | None) -> None:
        """Write that the lease is ours; ConflictError if it changed since it was read."""
        # Others begin to count when they see this write, which is after it was sent.
        sent_at = self._clock.boottime()
        now = micro_timestamp(self._clock.now())
        before: dict[str, Any] = (lease or {}).get("spec") or {}
        ours = before.get("holderIdentity") == self.identity
        spec = before | {
            "holderIdentity": self.identity,
            # Whole seconds; others must not count fewer than this instance does.
            "leaseDurationSeconds": ceil(self._terms.duration),
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
        self.fence.extend(self._renewed_at + self._terms.renew_within)

    async def _release(self) -> None:
        """Let the next instance begin at once. If that fails, it begins when the lease has expired.

        If calls of this term may still be under way, the holder stays named and the duration becomes short:
        the next instance then takes the lease soon, and waits for these calls as after a crash.
        """
        settled = self.fence.settles_in(self._terms.call_deadline) <= 0
        holder = "" if settled else self.identity
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(self._terms.renew_within):
                while self.holder == self.identity:
                    spec = self._seen["spec"] | {"holderIdentity": holder, "leaseDurationSeconds": 1}
                    try:
                        self._look(await self._api.replace(LEASES, self._seen | {"spec": spec}))
                    except ConflictError:
                        # A renewal that was cut off may have been written all the same.
                        self._look(await self._api.get(LEASES, self._name, namespace=self._namespace))
                    else:
                        return


def _duration(lease: Object) -> float:
    return float((lease.get("spec") or {}).get("leaseDurationSeconds") or 1)
