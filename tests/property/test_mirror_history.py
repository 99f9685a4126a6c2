"""Whatever a server replays, ends, forgets or lists too late: at rest, a mirror equals it, and its readers do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from closeknit.kube.errors import GoneError
from closeknit.kube.mirror import Key, Mirror
from closeknit.kube.port import (
    Bookmark,
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

NAMES = ("a", "b", "c")
State = dict[str, Object]


@dataclass
class Server:
    """Keeps every state that it was in, and misbehaves as it is asked to."""

    history: list[State] = field(default_factory=lambda: [{}])
    """The state as of each version, which is its position."""
    log: list[Change[Object] | None] = field(default_factory=lambda: [None])
    """The event that led to each version."""
    replayed: list[int] = field(default_factory=list)
    """How far back events are that the watch gives again."""
    lag: int = 0
    """How many versions the next lists are late."""
    late_lists: int = 0
    ends: bool = False
    forgets: bool = False
    bookmarks: bool = False
    more: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def version(self) -> int:
        return len(self.history) - 1

    def write(self, name: str, obj: Object | None) -> None:
        before = self.history[-1].get(name)
        if obj is None and before is None:
            return
        version = self.version + 1
        state = {key: value for key, value in self.history[-1].items() if key != name}
        kind = ChangeType.DELETED
        if obj is not None:
            kind = ChangeType.ADDED if before is None else ChangeType.MODIFIED
            state[name] = obj = self._stored(name, version, before)
        else:
            obj = self._stored(name, version, before)
        self.history.append(state)
        self.log.append(Change(kind, obj, str(version)))
        self.more.set()

    def _stored(self, name: str, version: int, before: Object | None) -> Object:
        uid = before["metadata"]["uid"] if before is not None else f"uid-{version}"
        return {"metadata": {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version)}}

    async def list(self, *_: object, **__: object) -> Page[Object]:
        lag = 0
        if self.late_lists:
            self.late_lists, lag = self.late_lists - 1, self.lag
        version = max(0, self.version - lag)
        items = list(self.history[version].values())
        versions = [each["metadata"]["resourceVersion"] for each in items]
        return Page(items, str(version), versions=versions)

    async def identities(self, *_: object, resource_version: str, **__: object) -> Page[Identity]:
        state = self.history[int(resource_version)]
        items = [
            Identity(each["name"], each["namespace"], each["uid"], each["resourceVersion"])
            for each in (obj["metadata"] for obj in state.values())
        ]
        return Page(items, resource_version)

    async def watch(
        self, *_: object, resource_version: str, opened: Callable[[], None], **__: object
    ) -> AsyncGenerator[WatchEvent[Object], None]:
        opened()
        sent = int(resource_version)
        while True:
            self.more.clear()
            while self.replayed:
                version = sent - self.replayed.pop()
                if version > 0 and (event := self.log[version]) is not None:
                    yield event
            if sent < self.version:
                sent += 1
                event = self.log[sent]
                assert event is not None
                yield event
                continue
            if self.bookmarks:
                self.bookmarks = False
                yield Bookmark(str(sent))
            if self.forgets:
                self.forgets = False
                raise GoneError("forgotten")
            if self.ends:
                self.ends = False
                return
            await self.more.wait()


def drawn_step(random: Random) -> tuple[Any, ...]:
    """Mostly writes; else something that a server should not do, or may."""
    kind = random.choices(
        ["write", "delete", "replay", "late", "end", "forget", "bookmark", "rest"], [6, 3, 4, 1, 1, 1, 1, 1]
    )[0]
    match kind:
        case "write" | "delete":
            return (kind, random.choice(NAMES))
        case "replay":
            return (kind, [random.randrange(7) for _ in range(random.randrange(1, 5))])
        case "late":
            return (kind, random.randrange(1, 5), random.randrange(1, 4))
        case _:
            return (kind,)


@given(seed=st.integers(0, 2**32))
def test_a_mirror_equals_its_server_at_rest(seed: int) -> None:
    random = Random(seed)
    asyncio.run(follow([drawn_step(random) for _ in range(40)], seed))


async def follow(steps: list[tuple[Any, ...]], seed: int) -> None:
    server, clock = Server(), HandClock()
    mirror: Mirror[Object] = Mirror(cast("KubernetesApi", server), PODS, random=Random(seed), clock=clock)
    copy: State = {}
    with mirror.telling(lambda before, after: note(copy, before, after)):
        task = asyncio.create_task(mirror.run())
        try:
            for step in (*steps, ("rest",)):
                take(server, step)
                if step[0] == "rest":
                    await at_rest(server, mirror, clock, copy)
                elif step[0] != "write":
                    await clock.advance()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def note(copy: State, before: Object | None, after: Object | None) -> None:
    """Keep a second copy from what a reader is shown alone; a version never goes back."""
    name = cast("Object", after or before)["metadata"]["name"]
    assert copy.get(name) == before
    if before is not None and after is not None:
        assert int(before["metadata"]["resourceVersion"]) < int(after["metadata"]["resourceVersion"])
    copy.pop(name, None)
    if after is not None:
        copy[name] = after


def take(server: Server, step: tuple[Any, ...]) -> None:
    match step:
        case ("write", name):
            server.write(name, {})
        case ("delete", name):
            server.write(name, None)
        case ("end",):
            server.ends = True
        case ("forget",):
            server.forgets = True
        case ("bookmark",):
            server.bookmarks = True
        case ("replay", distances):
            server.replayed += distances
        case ("late", lag, lists):
            server.lag, server.late_lists = lag, lists
        case _:
            pass
    server.more.set()


async def at_rest(server: Server, mirror: Mirror[Object], clock: HandClock, copy: State) -> None:
    await clock.advance(10)
    # Half a minute is enough for all lists that come late, and too short to think the server restored.
    await clock.advance(20)
    want = server.history[-1]
    assert {each["metadata"]["name"]: each for each in mirror} == want == copy
    assert {key: mirror.get(key.name, key.namespace) for key in mirror._objects} == {
        Key("ns", name): obj for name, obj in want.items()
    }
    assert mirror.repairs.differences == 0
    assert mirror.repairs.restored == 0
    assert not mirror.is_behind()
