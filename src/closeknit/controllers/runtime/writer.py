"""Sends what controllers decided: so many writes at once, with word of what the server would not take."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from closeknit.controllers.metrics import Metrics
from closeknit.controllers.runtime import sending
from closeknit.controllers.runtime.controller import Item
from closeknit.controllers.runtime.state import ControllerState
from closeknit.controllers.runtime.writes import Delete, Evict, Tell, Write
from closeknit.dialects.store.store import Entry
from closeknit.kube.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidObjectError,
    NotFoundError,
)
from closeknit.kube.events import Recorder
from closeknit.kube.port import KubernetesApi
from closeknit.live.following import Following
from closeknit.live.log import Log

_REFUSED = (BadRequestError, ForbiddenError, InvalidObjectError)
"""The server will not take this write, so somebody should know."""
_UNSURPRISING = (AlreadyExistsError, ConflictError)
"""Something changed that was not seen yet."""


class Version(NamedTuple):
    """The version of an object that a write was answered with."""

    group: str
    kind: str
    resource_version: str


class Writer:
    """The writes of all controllers of a process, and the events that they tell."""

    def __init__(
        self,
        api: KubernetesApi,
        following: Following,
        state: ControllerState,
        *,
        recorder: Recorder,
        log: Log,
        metrics: Metrics,
        connections: int,
    ) -> None:
        self._api = api
        self._following = following
        self._state = state
        self._recorder = recorder
        self._log = log
        self._metrics = metrics
        self._free = asyncio.Semaphore(connections)
        self._unserved: set[tuple[str, str]] = set()
        """Kinds that somebody would write and the server does not know."""

    def newly_served(self) -> bool:
        """Whether the server has come to know a kind that somebody would write, since the last call."""
        served = self._unserved & self._following.resources.keys()
        self._unserved -= served
        return bool(served)

    def can_send(self, write: Write) -> bool:
        """Whether the server knows the kind that a write is about; ``newly_served`` says when it does."""
        kind = (write.key.group, write.key.kind)
        if kind in self._following.resources:
            return True
        if kind not in self._unserved:
            self._unserved.add(kind)
            self._log.warning("not served", kind=kind[1], group=kind[0])
        return False

    async def send(
        self, item: Item, write: Write, entry: Entry | None
    ) -> Version | Callable[[], Awaitable[None]] | ApiError | None:
        """Send a write that can be sent; what to wait for until it is seen, or what went wrong."""
        key = write.key
        manager = f"closeknit-{item.controller.manager or item.controller.name}"
        resource = self._following.resources[key.group, key.kind]
        try:
            async with self._free:
                version = await sending.send(self._api, resource, write, entry, manager)
        except ApiError as error:
            self._metrics.wrote(item.controller.name, type(write).__name__, "refused")
            return self._refused(item, write, error)
        self._metrics.wrote(item.controller.name, type(write).__name__, "written")
        if isinstance(write, Delete | Evict):
            return partial(self._state.leaving, key, write.uid)
        return Version(key.group, key.kind, version) if version else None

    def tell(self, told: Tell) -> None:
        """Record an event, and say the same in the log."""
        resource = self._following.resources.get((told.key.group, told.key.kind))
        if resource is not None:
            sending.record(self._recorder, told, self._state.get(told.key), resource.api_version)
            log = self._log.warning if told.warning else self._log.info
            log("told", object=str(told.key), reason=told.reason, message=told.message)

    def _refused(self, item: Item, write: Write, error: ApiError) -> ApiError | None:
        """What went wrong with a write, where something did."""
        if isinstance(write, Delete | Evict) and isinstance(error, NotFoundError):
            return None
        if not isinstance(error, _UNSURPRISING):
            verb = type(write).__name__
            self._log.warning(
                "not written",
                controller=item.controller.name,
                object=str(item.key),
                write=f"{verb} {write.key}",
                why=str(error),
            )
            if isinstance(error, _REFUSED) and write.key != item.key:
                said = f"{write.key} could not be written: {error}"
                self.tell(Tell(item.key, f"Failed{verb}", said, warning=True, action=verb))
        return error
