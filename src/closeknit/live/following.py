"""Follows every kind that somebody reads, once for all who read it.

A kind that the server does not serve yet, such as one without its definition, holds nobody up; it is
followed as soon as it is served. Who begins to listen is told first what there is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any, Protocol

from closeknit.apis import core_v1
from closeknit.dialects.core.kinds import KINDS
from closeknit.dialects.family import Family
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.failures import Step
from closeknit.hub.keys import Key
from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import Clock
from closeknit.kube.errors import ApiError
from closeknit.kube.mirror import (
    COMPARISON_INTERVAL,
    SILENCE,
    Changes,
    Difference,
    Freshness,
    Mirror,
    Repairs,
)
from closeknit.kube.port import PAGE_SIZE, KubernetesApi, Written
from closeknit.kube.resources import Resource
from closeknit.live.containment import Containment, Record
from closeknit.live.entries import key_of
from closeknit.live.log import Log

_DIRECT = frozenset({core_v1.Node, core_v1.Pod})
"""Read straight into their wire types, because there are many and the server has checked their shape."""
_LOOK_AGAIN = 30.0
"""Seconds until the server is asked again whether it serves a kind by now."""


class Listener(Protocol):
    """Is told of every object of the kinds that it wants."""

    def heard(self, kind: Kind, api_version: str, key: Key, obj: Any | None) -> None:
        """An object as the server says it, of its wire type or plain data; None where it has gone.

        It may be shared with other listeners and is not to be changed.
        """


def kinds_read(families: Iterable[Family], others: Iterable[Kind] = ()) -> tuple[Kind, ...]:
    """The kinds of families that a server may serve, those that all families need, and others."""
    every = [*KINDS, *(kind for each in families for kind in each.kinds), *others]
    return tuple(dict.fromkeys(kind for kind in every if kind.named and kind.served))


class Listening:
    """One listener's ear: what it has been told so far."""

    def __init__(
        self,
        listener: Listener,
        kinds: Iterable[Kind],
        changed: Callable[[], None],
        following: Following,
        may_change: asyncio.Event | None,
    ) -> None:
        self._may_change = may_change
        self.kinds = frozenset(kinds)
        self._listener = listener
        self._changed = changed
        self._following = following
        self._readers: dict[Kind, Changes[Any]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: dict[tuple[str, str], list[asyncio.Future[None]]] = {}
        """By group and kind, those who wait until all that the mirror knows was passed on."""
        self.told = 0
        """How many changes of objects were passed on; who reads it may start to count anew."""

    def open(self, kind: Kind, resource: Resource, mirror: Mirror[Any]) -> None:
        """Begin to pass on what a mirror sees."""
        if kind in self.kinds:
            self._tasks.append(self._following.start(self._pass_on(kind, resource, mirror)))
            # Who would write objects of this kind may do so from now on, though there are none to tell of.
            self._changed()

    def close(self) -> None:
        """Pass on nothing more."""
        for task in self._tasks:
            task.cancel()

    async def synced(self) -> None:
        """Return when the listener was told everything that there was at one moment."""
        await self._following.synced()
        await asyncio.sleep(0)
        await self._drained()

    async def reached(self, group: str, kind: str, resource_version: str) -> None:
        """Return when the listener was told of a write that was answered with this version."""
        mirror = self._following.mirror(group, kind)
        if mirror is None:
            return
        await mirror.reached(resource_version)
        reader = next(
            (each for own, each in self._readers.items() if (own.group, own.kind) == (group, kind)), ()
        )
        if len(reader):
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault((group, kind), []).append(told)
            await told

    async def caught_up(self, resource: Resource) -> None:
        """Return when the listener knows of every write to a resource that was accepted before this call.

        The API server is asked for all objects, because a watch does not tell how far behind it is. What was
        deleted meanwhile may still be known.
        """
        await self.reached(resource.group, resource.kind, await self._following.newest(resource))

    @property
    def drained(self) -> bool:
        """Whether the listener knows all that the mirrors know."""
        return not any(map(len, self._readers.values()))

    async def _drained(self) -> None:
        while not self.drained:  # noqa: ASYNC110
            await asyncio.sleep(0)

    async def _pass_on(self, kind: Kind, resource: Resource, mirror: Mirror[Any]) -> None:
        with mirror.changes() as changes:
            self._readers[kind] = changes
            try:
                while True:
                    await changes.some()
                    # It may be cleared again before a task that waits for it goes on.
                    while self._may_change is not None and not self._may_change.is_set():
                        await self._may_change.wait()
                    for notice in changes.take_now():
                        own = Key(kind.group, kind.kind, *notice.key)
                        # A listener contains what fails for one object; what it does not contain stays here.
                        with self._following.containment.at(own, Step.READ):
                            key = key_of(kind, notice.key.namespace, notice.key.name)
                            self._listener.heard(kind, resource.api_version, key, notice.after)
                        self.told += 1
                    for told in self._waiting.pop((kind.group, kind.kind), ()):
                        if not told.done():
                            told.set_result(None)
                    self._changed()
            finally:
                del self._readers[kind]


class Following:
    """Mirrors of all kinds that are read, for any number of listeners."""

    def __init__(
        self,
        api: KubernetesApi,
        kinds: Iterable[Kind],
        *,
        clock: Clock,
        random: Random,
        silence: float = SILENCE,
        comparison_interval: float = COMPARISON_INTERVAL,
        log: Log | None = None,
        record: Record | None = None,
    ) -> None:
        """``silence`` and ``comparison_interval``: as a mirror takes them; ``log`` names what differed.

        ``record``: where objects are counted and logged that a listener could not take in.
        """
        self.containment = Containment("informer", record)
        self._api = api
        self._silence = silence
        self._comparison_interval = comparison_interval
        self._log = log
        self._kinds = tuple(kinds)
        self._clock = clock
        self._random = random
        self._mirrors: dict[Kind, Mirror[Any]] = {}
        self._by_name: dict[tuple[str, str], Mirror[Any]] = {}
        self._listening: list[Listening] = []
        self._synced = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None
        self.resources: dict[tuple[str, str], Resource] = {}
        """By group and kind, what is followed."""

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            backoff = Backoff(self._random)
            while True:
                try:
                    served = await self._api.resources()
                except ApiError:
                    await self._clock.sleep(backoff.wait())
                    continue
                backoff.reset()
                for kind, resource in _chosen(self._kinds, served).items():
                    if kind not in self._mirrors:
                        into = kind.shape if kind.shape in _DIRECT else None
                        mirror: Mirror[Any] = Mirror(
                            self._api,
                            resource,
                            random=self._random,
                            into=into,
                            clock=self._clock,
                            silence=self._silence,
                            comparison_interval=self._comparison_interval,
                            on_difference=partial(self._note_difference, kind),
                            failed=partial(self._passed_over, kind),
                        )
                        self._mirrors[kind] = self._by_name[kind.group, kind.kind] = mirror
                        self.resources[kind.group, kind.kind] = resource
                        tasks.create_task(mirror.run())
                        for each in self._listening:
                            each.open(kind, resource, mirror)
                if not self._synced.is_set():
                    await asyncio.gather(*(mirror.synced() for mirror in self._mirrors.values()))
                    self._synced.set()
                await self._clock.sleep(_LOOK_AGAIN)

    def _passed_over(self, kind: Kind, namespace: str, name: str, error: Exception) -> None:
        self.containment.note(Key(kind.group, kind.kind, namespace, name), Step.READ, error)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let something run beside the mirrors; where it fails, ``run`` does."""
        assert self._tasks is not None
        return self._tasks.create_task(work)

    @contextmanager
    def listening(
        self,
        listener: Listener,
        kinds: Iterable[Kind],
        changed: Callable[[], None],
        may_change: asyncio.Event | None = None,
    ) -> Iterator[Listening]:
        """Pass objects of some kinds to a listener while the block lasts, and call ``changed`` after some.

        What is there already comes first. Nothing is passed on while ``may_change`` is given and not set.
        """
        made = Listening(listener, kinds, changed, self, may_change)
        for kind, mirror in self._mirrors.items():
            made.open(kind, self.resources[kind.group, kind.kind], mirror)
        self._listening.append(made)
        try:
            yield made
        finally:
            self._listening.remove(made)
            made.close()

    async def synced(self) -> None:
        """Return when everything was listed once."""
        await self._synced.wait()

    async def newest(self, resource: Resource) -> str:
        """The highest version of any object of a resource that the API server has now."""
        backoff = Backoff(self._random)
        while True:
            try:
                return await newest_version(self._api, resource)
            except ApiError:
                await self._clock.sleep(backoff.wait())

    def mirror(self, group: str, kind: str) -> Mirror[Any] | None:
        """The mirror of a kind, where it is served."""
        return self._by_name.get((group, kind))

    def is_behind(self, kinds: Iterable[tuple[str, str]]) -> bool:
        """Whether changes of one of these kinds, by group and name, may have been missed."""
        return any(mirror.is_behind() for each in kinds if (mirror := self._by_name.get(each)))

    def freshness(self) -> Mapping[str, Freshness]:
        """How far each kind can be trusted now."""
        return {kind.kind: mirror.freshness() for kind, mirror in self._mirrors.items()}

    def repairs(self) -> Iterator[tuple[str, Repairs]]:
        """By resource, such as ``podgroups.scheduling.run.ai``, what its mirror did to equal the server."""
        for kind, mirror in self._mirrors.items():
            yield self.resources[kind.group, kind.kind].qualified, mirror.repairs

    def _note_difference(self, kind: Kind, difference: Difference) -> None:
        if self._log is not None:
            self._log.warning(
                "cache-differed",
                resource=self.resources[kind.group, kind.kind].qualified,
                missing=_names(difference.missing),
                superfluous=_names(difference.superfluous),
                outdated=_names(difference.outdated),
            )


def _names(keys: Iterable[tuple[str, str]]) -> list[str]:
    return ["/".join(filter(None, key)) for key in keys]


async def newest_version(api: KubernetesApi, resource: Resource) -> str:
    """The highest version of any object that the API server has now; 0 if there is none."""
    highest, token = 0, ""
    while True:
        page = await api.list(resource, limit=PAGE_SIZE, token=token, into=Written)
        highest = max([highest, *(int(each.resource_version) for each in page.items)])
        if not (token := page.token):
            return str(highest)


def _chosen(kinds: Iterable[Kind], served: Iterable[Resource]) -> dict[Kind, Resource]:
    """For each group and kind one resource, in the version that is read first of those that are served."""
    found: dict[tuple[str, str], dict[str, Resource]] = {}
    for each in served:
        found.setdefault((each.group, each.kind), {})[each.version] = each
    chosen: dict[tuple[str, str], tuple[Kind, Resource]] = {}
    for kind in kinds:
        versions = found.get((kind.group, kind.kind), {})
        for version in kind.versions:
            if version in versions:
                chosen.setdefault((kind.group, kind.kind), (kind, versions[version]))
    return dict(chosen.values())
