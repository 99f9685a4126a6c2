"""A Kubernetes API whose lists and watches follow a script, and a mirror that runs on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias, cast

from closeknit.kube.errors import ApiError
from closeknit.kube.mirror import Mirror
from closeknit.kube.port import (
    Change,
    ChangeType,
    Identity,
    KubernetesApi,
    Object,
    Page,
    WatchEvent,
)
from closeknit.kube.resources import PODS
from closeknit.testing.clock import HandClock

END = "end"
HANG = "hang"
Step: TypeAlias = WatchEvent[Object] | ApiError | str | float
"""An event, an error, the end of a watch, silence for good, or for so many seconds."""


def pod(name: str, node: str = "", version: int = 0, uid: str = "") -> Object:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": str(version)} | (
        {"uid": uid} if uid else {}
    )
    return {"metadata": metadata, "node": node}


def added(obj: Object, version: int) -> Change[Object]:
    return Change(ChangeType.ADDED, obj, str(version))


def modified(obj: Object, version: int) -> Change[Object]:
    return Change(ChangeType.MODIFIED, obj, str(version))


def deleted(obj: Object, version: int) -> Change[Object]:
    return Change(ChangeType.DELETED, obj, str(version))


def page(*objects: Object, version: int, token: str = "") -> Page[Object]:
    return Page(list(objects), str(version), token)


def identities(*objects: Object, version: int, token: str = "") -> Page[Identity]:
    """What a server answers that has these objects, in the versions that they name."""
    items = [
        Identity(of["name"], of["namespace"], of.get("uid", ""), of["resourceVersion"])
        for of in (obj["metadata"] for obj in objects)
    ]
    return Page(items, str(version), token)


@dataclass
class Scripted:
    """Lists and watches that follow a script; after it, watches stay open and say nothing."""

    lists: list[Page[Object] | ApiError] = field(default_factory=list)
    watches: list[list[Step]] = field(default_factory=list)
    """The steps of each watch."""
    compared: list[Page[Identity] | ApiError] = field(default_factory=list)
    opens: bool = False
    """Whether watches are taken before their first event."""
    clock: HandClock = field(default_factory=HandClock)
    asked: list[str] = field(default_factory=list)
    watched_at: list[float] = field(default_factory=list)

    async def list(self, *_: object, limit: int, token: str, **__: object) -> Page[Object]:
        self.asked.append(f"list {limit} {token}".strip())
        answer = self.lists.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def identities(self, *_: object, resource_version: str, limit: int, token: str) -> Page[Identity]:
        self.asked.append(f"identities {limit} {token or resource_version}")
        answer = self.compared.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def watch(
        self, *_: object, resource_version: str, opened: Callable[[], None] = lambda: None, **__: object
    ) -> AsyncGenerator[WatchEvent[Object], None]:
        self.asked.append(f"watch {resource_version}")
        self.watched_at.append(self.clock.monotonic())
        if self.opens:
            opened()
        for step in self.watches.pop(0) if self.watches else [HANG]:
            if isinstance(step, ApiError):
                raise step
            if step == END:
                return
            if step == HANG:
                await asyncio.Event().wait()
            if isinstance(step, float):
                await self.clock.sleep(step)
                continue
            yield cast("WatchEvent[Object]", step)
        await asyncio.Event().wait()


@asynccontextmanager
async def running(script: Scripted, clock: HandClock, **options: Any) -> AsyncIterator[Mirror[Object]]:
    mirror: Mirror[Object] = Mirror(
        cast("KubernetesApi", script), PODS, random=Random(1), clock=clock, **options
    )
    task = asyncio.create_task(mirror.run())
    try:
        await clock.advance()
        yield mirror
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def names(mirror: Mirror[Object]) -> list[str]:
    return sorted(each["metadata"]["name"] for each in mirror)
