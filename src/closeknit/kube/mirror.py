"""A copy of one resource that follows the server: a list, then a watch, for as long as it runs.

A watch that ends goes on where it was. A server that no longer remembers so far back is listed again, and
what changed meanwhile is told like any other change. Failures are tried again after waits that grow. Whatever
happens to connections, the copy ends equal to the server's state.

It never goes back in time (``versions``): an event older than what is known of its object is ignored, and a
list older than the last known version is asked for again. A watch without an event or a bookmark for too long
is closed and opened again. Now and then the copy is compared with a list of metadata as of its own version,
and on a difference everything is listed again.

| state | what happens | next |
|---|---|---|
| listing | the list is complete and not older than what is known | watching |
| listing | it fails, or is older | listing, after a wait |
| listing | lists were older for a minute: the server was restored from a backup | watching, from its state |
| watching | events, bookmarks; the server ends the watch | watching |
| watching | the connection fails, or is silent for too long | watching, after a wait, from the last version |
| watching | the server forgot the last version, or a comparison differs | listing, after a wait |

Changes may be missed (``is_behind``) from a failure to the next event, or the next watch that a server opens.
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
from closeknit.kube.errors import ApiError, GoneError, UnavailableError
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
from closeknit.kube.versions import LONGEST, Versions, number_of

_log = logging.getLogger(__name__)
T = TypeVar("T")

Index = Callable[[T], Iterable[Hashable]]
"""The values under which an object is found."""

Tell = Callable[[T | None, T | None], None]
"""Is called with an object as it was and as it is; None where it was or is missing."""

_HASTE = 1.0
"""A watch that ends within so many seconds, and without an event, has failed."""
SILENCE = 90.0
"""Seconds without an event or a bookmark after which a watch is opened again.

An API server sends a bookmark about once a minute."""
COMPARISON_INTERVAL = 600.0
"""Seconds between two comparisons with the server, on average."""
_DOUBT_INTERVAL = 60.0
"""An old event may be the sign of a restored server, so a comparison follows, this often at most."""
_RESTORED_AFTER = 60.0
"""Seconds for which lists must be older than what is known until they are taken for the truth.

A quorum read lags by less. Only a server that was restored from a backup stays behind, and then the copy has
to follow it, or would be wrong for ever."""
_PAUSE = 0.2
"""Seconds at most between two pages of a comparison, which nobody waits for."""
_LOGGED_KEYS = 20


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


@dataclass(slots=True)
class Repairs:
    """What a mirror did so that it is equal to the server, as counts since its start."""

    old_events: int = 0
    """Events that were older than what was known, and ignored."""
    old_lists: int = 0
    """Lists that were older than what was known, and refused."""
    restored: int = 0
    """Lists that were older for so long that they were taken."""
    silent_watches: int = 0
    """Watches that were opened again because nothing came."""
    comparisons: int = 0
    """Comparisons with the server that were completed."""
    differences: int = 0
    """Comparisons that found a difference."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How a mirror differed from the server at one version. At most twenty objects each are named."""

    missing: tuple[Key, ...]
    """Objects that the mirror lacked."""
    superfluous: tuple[Key, ...]
    """Objects that only the mirror had."""
    outdated: tuple[Key, ...]
    """Objects of which the mirror had another version."""


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
    """How many seconds ago the last event or bookmark came; bookmarks come about once a minute."""
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
            await self.some()
            if changed := self.take_now():
                return changed

    async def some(self) -> None:
        """Wait until something may have changed."""
        await self._some.wait()

    def take_now(self) -> list[Notice[T]]:
        """Everything that changed since the last call; empty if nothing did."""
        self._some.clear()
        seen, self._seen = self._seen, {}
        again, self._again = self._again, set()
        notices = [Notice(key, before, self._look(key)) for key, before in seen.items()]
        return [notice for notice in notices if notice.key not in again or notice.before != notice.after]


class Mirror(Generic[T]):
    """The objects of one selection, as of a moment ago.

    ``into`` names a type that holds no more than is read, which keeps the copy small; None keeps
    objects as plain data. ``silence`` and ``comparison_interval`` are seconds, infinite for never;
    ``on_difference`` is called when a comparison differs. Nothing happens until ``run`` is called.
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
        silence: float = SILENCE,
        comparison_interval: float = COMPARISON_INTERVAL,
        on_difference: Callable[[Difference], None] | None = None,
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
        self._monotonic = clock.monotonic
        self._page_size = page_size
        self._random = random
        self._backoff = Backoff(random)
        self._silence = silence
        self._comparison_interval = comparison_interval
        self._on_difference = on_difference
        self.repairs = Repairs()
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
        self._number = 0
        """The version as a number; 0 if it is opaque."""
        self._versions: Versions[Key] = Versions()
        self._received_at = self._clock.monotonic()
        self._compare_at = self._received_at + comparison_interval / 2
        """When the next comparison begins; at first without the random part of the interval."""
        self._is_compare_time_drawn = False
        self._compared_at = self._received_at
        self._is_doubtful = False
        """Whether an event was old since the last comparison."""
        self._older_since: float | None = None
        """Since when lists have been older than what is known."""
        self._broken_at: float | None = self._received_at
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
            silent=now - self._received_at,
            problem=self._problem,
        )

    def is_behind(self) -> bool:
        """Whether changes may have been missed."""
        return self._broken_at is not None

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
        versions: dict[Key, int] = {}
        page = await self._page(self._page_size)
        while True:
            self._refuse_older(page.resource_version)
            for position, item in enumerate(page.items):
                # An object of an unexpected shape keeps no other from being read.
                with self._passing_over(item):
                    key = self._key(item)
                    listed[key] = item
                    number = number_of(page.versions[position] if page.versions else page.resource_version)
                    if number is not None:
                        versions[key] = number
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
                versions.clear()
                page = await self._page(0)
        for key in [key for key in self._objects if key not in listed]:
            with self._passing_over(key):
                self._remove(key)
        for key, after in listed.items():
            with self._passing_over(key):
                self._put(key, after)
        number = number_of(version) or 0
        self.repairs.restored += 0 < number < self._number
        self._versions.replace(versions, number)
        self._version, self._number = version or self._version, number
        self._older_since = None
        self._synced = True
        self._note_open()
        self._wake()

    def _refuse_older(self, version: str) -> None:
        """Raise if a list is older than what is known, unless lists have been so for long."""
        number = number_of(version)
        if number is None or number >= self._number:
            return
        now = self._clock.monotonic()
        if self._older_since is None:
            self._older_since = now
        if now - self._older_since < _RESTORED_AFTER:
            self.repairs.old_lists += 1
            raise UnavailableError(f"The list is of version {version}, and {self._version} is known.")

    async def _page(self, limit: int, token: str = "") -> Page[T]:
        return await self._api.list(
            self._resource, self._selection, limit=limit, token=token, into=self._into
        )

    async def _follow(self) -> None:
        """Watch again and again, until the server has forgotten where to go on, or a comparison differs."""
        while True:
            began = self._clock.monotonic()
            try:
                has_events = await self._watch(began)
                if not has_events and self._clock.monotonic() - began < _HASTE:
                    self._note_break("The server ends watches at once.")
                    await self._clock.sleep(self._backoff.wait())
            except GoneError:
                raise
            except ApiError as error:
                self._note_break(error)
                await self._clock.sleep(self._backoff.wait())

    async def _watch(self, began: float) -> bool:
        """Watch until the server ends it; whether an event came. Silence and differences raise."""
        reading = asyncio.create_task(self._read())
        tasks = [
            reading,
            asyncio.create_task(self._notice_silence(began)),
            asyncio.create_task(self._compare_at_times()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            return reading.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> bool:
        has_events = False
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
                has_events = True
                self._backoff.reset()
        return has_events

    async def _notice_silence(self, began: float) -> None:
        """Raise when nothing came for too long, since the watch began or since the last event."""
        while True:
            # The last part is random, so that mirrors of one silent server do not come back together; it is
            # drawn only then, so that a replay of a cluster that is never silent draws no number.
            least = max(began, self._received_at) + 0.85 * self._silence - self._clock.monotonic()
            if least > 0:
                await self._clock.sleep(least)
                continue
            received_at = self._received_at
            await self._clock.sleep(0.15 * self._silence * self._random.random())
            if self._received_at == received_at:
                self.repairs.silent_watches += 1
                raise UnavailableError("The watch was silent for too long.")

    async def _compare_at_times(self) -> None:
        """Compare now and then; GoneError, after which everything is listed, on a difference."""
        while True:
            wait = self._compare_at - self._clock.monotonic()
            if wait > 0:
                await self._clock.sleep(min(wait, _DOUBT_INTERVAL))
                continue
            if not (self._is_doubtful or self._is_compare_time_drawn):
                # Drawn once, for watches end more often than this, and only now, as for silence.
                self._compare_at += self._comparison_interval * self._random.random()
                self._is_compare_time_drawn = True
                continue
            difference, problem = None, ""
            try:
                difference = await self._compare()
            except ApiError as error:
                # The server forgot this version, or fails. If it may never have had it, only a list helps.
                problem = str(error) if self._is_doubtful else ""
            self._compared_at = self._clock.monotonic()
            self._compare_at = self._compared_at + self._comparison_interval / 2
            self._is_doubtful = self._is_compare_time_drawn = False
            if difference is not None:
                self.repairs.differences += 1
                if self._on_difference is not None:
                    self._on_difference(difference)
                problem = "The copy differs from the server."
            if problem:
                raise GoneError(problem)

    async def _compare(self) -> Difference | None:
        """How the copy differs from the server as of the copy's own version; None if it does not, or that
        is opaque.

        It is compared object by object and not by a digest: the server has none, so all of its objects
        are read anyway, and a difference is to be named.
        """
        version = self._version
        if not self._number:
            return None
        # Between two awaits the copy shows exactly this version. Both copies share their keys and values.
        known, objects = dict(self._versions.known), dict(self._objects)
        missing: list[Key] = []
        outdated: list[Key] = []
        token = ""
        while True:
            page = await self._api.identities(
                self._resource,
                self._selection,
                resource_version=version,
                limit=self._page_size,
                token=token,
            )
            for identity in page.items:
                key = Key(identity.namespace, identity.name)
                mine = objects.pop(key, None)
                if mine is None:
                    missing.append(key)
                elif (_uid(mine), known.get(key)) != (identity.uid, number_of(identity.resource_version)):
                    outdated.append(key)
            token = page.token
            if not token:
                break
            await self._clock.sleep(_PAUSE * self._random.random())
        self.repairs.comparisons += 1
        if not (missing or outdated or objects):
            return None
        first = (tuple(sorted(keys)[:_LOGGED_KEYS]) for keys in (missing, objects, outdated))
        return Difference(*first)

    def _take(self, event: WatchEvent[T]) -> None:
        # Thousands of events come in a second, so the common path has few calls.
        version = event.resource_version
        number = int(version) if len(version) < LONGEST and version.isdecimal() else None
        if isinstance(event, Change):
            with self._passing_over(event.object):
                self._take_change(event, number)
        elif number is not None:
            if number < self._number:
                self._note_old_event()
            self._versions.complete(number)
        if number is None:
            # An empty one leaves the last as it is.
            self._version, self._number = (version, 0) if version else (self._version, self._number)
        elif number > self._number:
            self._version = version
            self._number = number
        self._received_at = self._monotonic()
        if self._broken_at is not None:
            self._note_open()
        if self._waiting:
            self._wake()

    def _take_change(self, event: Change[T], number: int | None) -> None:
        """Take in a changed or deleted object, unless what is known is newer."""
        key = self._key(event.object)
        if event.type is ChangeType.DELETED:
            if number is None or self._versions.delete(key, number):
                self._remove(key)
            else:
                self._note_old_event()
        elif number is None or self._versions.put(key, number):
            self._put(key, event.object)
        else:
            self._note_old_event()
        if number is None:
            self._versions.forget(key)

    def _note_old_event(self) -> None:
        """Count an event that is old, and have the copy compared soon.

        It is a replay, which does no harm, or the server was restored and counts from an older version.
        """
        self.repairs.old_events += 1
        self._compare_at = min(self._compare_at, self._compared_at + _DOUBT_INTERVAL)
        self._is_doubtful = True

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

    def _note_open(self) -> None:
        self._received_at = self._clock.monotonic()
        self._broken_at = None
        self._problem = ""

    def _note_break(self, problem: object) -> None:
        self._problem = str(problem)
        if self._broken_at is None:
            self._broken_at = self._clock.monotonic()

    async def _until(self, version: int) -> None:
        if not self._synced or self._number < version:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heappush(self._waiting, (version, next(self._order), done))
            await done

    def _wake(self) -> None:
        version = self._number
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


def _uid(obj: Any) -> str:
    metadata = obj["metadata"] if isinstance(obj, dict) else obj.metadata
    return str(metadata.get("uid", "") if isinstance(metadata, dict) else metadata.uid)


def _key_of_data(obj: Any) -> Key:
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def _key_of_struct(obj: Any) -> Key:
    return Key(getattr(obj.metadata, "namespace", ""), obj.metadata.name)
