"""A copy of one resource that follows the server: a list, then a watch, for as long as it runs.

A watch that ends goes on where it was. A server that no longer remembers so far back is listed again, and
what changed meanwhile is told like any other change. Failures are tried again after waits that grow. Whatever
happens to connections, the copy ends equal to the server's state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar, cast

from closeknit.kube.backoff import Backoff
from closeknit.kube.clock import SYSTEM_CLOCK, Clock
from closeknit.kube.errors import ApiError, GoneError
from closeknit.kube.port import (
    EVERYTHING,
    PAGE_SIZE,
    Change,
    ChangeType,
    KubernetesApi,
    Page,
    Selection,
    WatchEvent,
)
from closeknit.kube.resources import Resource

_log = logging.getLogger(__name__)
T = TypeVar("T")

Index = Callable[[T], Iterable[Hashable]]
"""The values under which an object is found."""

Tell = Callable[[T | None, T | None], None]
"""Is called with an object as it was and as it is; None where it was or is missing."""

_HASTE = 1.0
"""A watch that ends within so many seconds, and without a word, has failed."""


def _log_failure(namespace: str, name: str, error: Exception) -> None:
    _log.warning("%s/%s was passed over: %r", namespace, name, error)


class Key(NamedTuple):
    """What tells objects of one resource apart; the namespace is empty where there is none."""

    namespace: str
    name: str


class Notice(NamedTuple, Generic[T]):
    """An object that changed between two looks; None where it was or is missing.

    An object that was deleted and made again may show as one change: its uid tells.
    """

    key: Key
    before: T | None
    after: T | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How far a mirror can be trusted."""

    synced: bool
    """Whether everything was listed once."""
    resource_version: str
    """All changes up to here are in the copy."""
    behind: float
    """For how many seconds changes may have been missed; 0 while a watch is open."""
    silent: float
    """How many seconds ago the server last said something; bookmarks come about once a minute."""
    problem: str
    """Why changes are missed; empty while they are not."""


class Changes(Generic[T]):
    """What one reader has not seen yet. Many changes of one object are one notice, so it never grows
    beyond the number of objects, however slow the reader is.
    """

    def __init__(self, look: Callable[[Key], T | None]) -> None:
        self._look = look
        self._seen: dict[Key, T | None] = {}
        self._again: set[Key] = set()
        """Objects that have changed more than once, and may be what they were."""
        self._some = asyncio.Event()

    def __len__(self) -> int:
        """How many objects have changed and not been looked at."""
        return len(self._seen)

    def note(self, key: Key, before: T | None) -> None:
        """Remember that an object is no longer what it was."""
        if key in self._seen:
            self._again.add(key)
        else:
            self._seen[key] = before
        self._some.set()

    async def take(self) -> list[Notice[T]]:
        """Everything that changed since the last call, at least one object; waits until there is one."""
        while True:
            await self._some.wait()
            self._some.clear()
            seen, self._seen = self._seen, {}
            again, self._again = self._again, set()
            notices = [Notice(key, before, self._look(key)) for key, before in seen.items()]
            if changed := [each for each in notices if each.key not in again or each.before != each.after]:
                return changed


class Mirror(Generic[T]):
    """The objects of one selection, as of a moment ago.

    ``into`` names a type that holds no more than is read, which keeps the copy small; None keeps
    objects as plain data. Nothing happens until ``run`` is called.
    """

    def __init__(
        self,
        api: KubernetesApi,
        resource: Resource,
        selection: Selection = EVERYTHING,
        *,
        random: Random,
        into: type[T] | None = None,
        indexes: Mapping[str, Index[T]] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        page_size: int = PAGE_SIZE,
        failed: Callable[[str, str, Exception], None] = _log_failure,
    ) -> None:
        """``failed`` is called with namespace and name of an object that could not be taken in."""
        self._failed = failed
        self._api = api
        self._resource = resource
        self._selection = selection
        self._into = cast("type[T]", into)
        self._key: Callable[[Any], Key] = _key_of_data if into is None else _key_of_struct
        self._clock = clock
        self._page_size = page_size
        self._backoff = Backoff(random)
        self._objects: dict[Key, T] = {}
        self._indexes = dict(indexes or {})
        self._found: dict[str, dict[Hashable, set[Key]]] = {name: {} for name in self._indexes}
        self._readers: list[Changes[T]] = []
        self._told: list[Tell[T]] = []
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        """A heap of versions that somebody waits for, with a number that tells equal ones apart."""
        self._order = count()
        self.passed_over = 0
        """How many objects could not be taken in."""
        self._synced = False
        self._version = ""
        self._heard_at = self._clock.monotonic()
        self._broken_at: float | None = self._heard_at
        self._problem = "Nothing was listed yet."

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def get(self, name: str, namespace: str = "") -> T | None:
        """One object, or None."""
        return self._objects.get(Key(namespace, name))

    def by(self, index: str, value: Hashable) -> list[T]:
        """The objects that an index finds under a value, in the order of namespace and name."""
        return [self._objects[key] for key in sorted(self._found[index].get(value, ()))]

    def freshness(self) -> Freshness:
        """How far the copy can be trusted now."""
        now = self._clock.monotonic()
        return Freshness(
            synced=self._synced,
            resource_version=self._version,
            behind=0.0 if self._broken_at is None else now - self._broken_at,
            silent=now - self._heard_at,
            problem=self._problem,
        )

    @contextmanager
    def changes(self) -> Iterator[Changes[T]]:
        """What changes from now on; what is there already comes first, as added."""
        reader = Changes(self._objects.get)
        for key in self._objects:
            reader.note(key, None)
        self._readers.append(reader)
        try:
            yield reader
        finally:
            self._readers.remove(reader)

    @contextmanager
    def telling(self, tell: Tell[T]) -> Iterator[None]:
        """Call a function at every change while the block lasts; what is there already comes first, as added.

        It is for those to whom one change more means no more work: nothing is kept for them.
        """
        for each in list(self._objects.values()):
            tell(None, each)
        self._told.append(tell)
        try:
            yield
        finally:
            self._told.remove(tell)

    async def synced(self) -> None:
        """Return when everything was listed once."""
        await self._until(0)

    async def reached(self, resource_version: str) -> None:
        """Return when the copy holds a write of this resource that was answered with this version."""
        await self._until(int(resource_version))

    async def run(self) -> None:
        """Follow the server until cancelled."""
        while True:
            try:
                await self._list()
                await self._follow()
            except ApiError as error:
                self._note_break(error)
                await self._clock.sleep(self._backoff.wait())
            except Exception as error:  # noqa: BLE001 (everything is listed again, so nothing is missed)
                self.passed_over += 1
                self._failed("", "", error)
                self._note_break(error)
                await self._clock.sleep(self._backoff.wait())

    async def _list(self) -> None:
        listed: dict[Key, T] = {}
        page = await self._page(self._page_size)
        while True:
            for each in page.items:
                # An object of an unexpected shape keeps no other from being read.
                with self._passing_over(each):
                    listed[self._key(each)] = each
            # A large page is not kept while the next one is fetched.
            token, version = page.token, page.resource_version
            del page
            if not token:
                break
            try:
                page = await self._page(self._page_size, token)
            except GoneError:
                # The server forgot the moment that the pages show, so all is asked for at once.
                listed.clear()
                page = await self._page(0)
        for key in [key for key in self._objects if key not in listed]:
            with self._passing_over(key):
                self._remove(key)
        for key, after in listed.items():
            with self._passing_over(key):
                self._put(key, after)
        self._synced = True
        self._note_word(version)

    async def _page(self, limit: int, token: str = "") -> Page[T]:
        return await self._api.list(
            self._resource, self._selection, limit=limit, token=token, into=self._into
        )

    async def _follow(self) -> None:
        """Watch again and again, until the server has forgotten where to go on."""
        while True:
            began = self._clock.monotonic()
            heard = False
            try:
                watch = self._api.watch(
                    self._resource,
                    self._selection,
                    resource_version=self._version,
                    opened=self._note_open,
                    into=self._into,
                )
                async with aclosing(watch) as events:
                    async for event in events:
                        self._take(event)
                        heard = True
                        self._backoff.reset()
                if not heard and self._clock.monotonic() - began < _HASTE:
                    self._note_break("The server ends watches at once.")
                    await self._clock.sleep(self._backoff.wait())
            except GoneError:
                raise
            except ApiError as error:
                self._note_break(error)
                await self._clock.sleep(self._backoff.wait())

    def _take(self, event: WatchEvent[T]) -> None:
        if isinstance(event, Change):
            with self._passing_over(event.object):
                key = self._key(event.object)
                if event.type is ChangeType.DELETED:
                    self._remove(key)
                else:
                    self._put(key, event.object)
        self._note_word(event.resource_version)

    @contextmanager
    def _passing_over(self, obj: Any) -> Iterator[None]:
        """Pass over one object that cannot be taken in; others are, and the next list tries it again."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one object stays with it)
            self.passed_over += 1
            self._failed(*_named(obj), error)

    def _put(self, key: Key, after: T) -> None:
        before = self._objects.get(key)
        if before == after:
            # Keeping the object that is there spares its readers, and memory after a second list.
            return
        # What may fail for one object comes before anything is changed.
        indexed = [
            (name, tuple(values(before)) if before is not None else (), tuple(values(after)))
            for name, values in self._indexes.items()
        ]
        self._objects[key] = after
        for name, old, new in indexed:
            found = self._found[name]
            _forget(found, old, key)
            for value in new:
                found.setdefault(value, set()).add(key)
        self._tell(key, before, after)

    def _remove(self, key: Key) -> None:
        before = self._objects.pop(key, None)
        if before is None:
            return
        for name, values in self._indexes.items():
            _forget(self._found[name], values(before), key)
        self._tell(key, before, None)

    def _tell(self, key: Key, before: T | None, after: T | None) -> None:
        for reader in self._readers:
            reader.note(key, before)
        for tell in self._told:
            tell(before, after)

    def _note_word(self, version: str) -> None:
        self._version = version or self._version
        self._heard_at = self._clock.monotonic()
        if self._broken_at is not None:
            self._note_open()
        if self._waiting:
            self._wake()

    def _note_open(self) -> None:
        self._heard_at = self._clock.monotonic()
        self._broken_at = None
        self._problem = ""

    def _note_break(self, problem: object) -> None:
        self._problem = str(problem)
        if self._broken_at is None:
            self._broken_at = self._clock.monotonic()

    async def _until(self, version: int) -> None:
        if not self._synced or int(self._version or 0) < version:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heappush(self._waiting, (version, next(self._order), done))
            await done

    def _wake(self) -> None:
        version = int(self._version or 0)
        while self._synced and self._waiting and self._waiting[0][0] <= version:
            _, _, done = heappop(self._waiting)
            if not done.done():
                done.set_result(None)


def _named(obj: Any) -> tuple[str, str]:
    """Namespace and name of an object, as far as they can be read."""
    if isinstance(obj, Key):
        return obj
    metadata = obj.get("metadata") if isinstance(obj, dict) else getattr(obj, "metadata", None)
    if isinstance(metadata, dict):
        return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return str(getattr(metadata, "namespace", "") or ""), str(getattr(metadata, "name", "") or "")


def _forget(found: dict[Hashable, set[Key]], values: Iterable[Hashable], key: Key) -> None:
    for value in values:
        if keys := found.get(value):
            keys.discard(key)
            if not keys:
                del found[value]


def _key_of_data(obj: Any) -> Key:
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def _key_of_struct(obj: Any) -> Key:
    return Key(getattr(obj.metadata, "namespace", ""), obj.metadata.name)
