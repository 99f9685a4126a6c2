"""Watches over HTTP: one line of JSON for each event, until the time is over or the client is gone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from aiohttp import web

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http import answers, tables
from closeknit.kube.embedded.http.answers import Form
from closeknit.kube.embedded.kinds import Kind
from closeknit.kube.embedded.store import Record
from closeknit.kube.embedded.watches import Watcher
from closeknit.kube.errors import ApiError, TooManyRequestsError
from closeknit.kube.port import ChangeType, Selection

_encode: Final = msgspec.json.Encoder().encode
_LONGEST: Final = 1800
"""Seconds after which a watch that names no time ends, so that clients connect anew now and then."""
_PIECE: Final = 64 * 1024
"""How many bytes are handed to the transport at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """What a client wants to watch, and how."""

    kind: Kind
    version: str
    selection: Selection
    form: Form
    resource_version: str
    seconds: float
    bookmarks: bool
    initial: bool
    """Whether present objects come first, ended by a bookmark that says so."""


class Turnstile:
    """Lets so many watches in, and no more from one client."""

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[Any]] = set()

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """A place for one watch, as long as it lasts."""
        if self._open.total() >= self._most or self._open[client] >= self._most_of_one:
            raise TooManyRequestsError(
                f"There are too many watches: at most {self._most_of_one} of one client, "
                f"and {self._most} in all. Close some, or watch several objects by one selector.",
                retry_after=1,
            )
        self._open[client] += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    def clear(self) -> None:
        """End all watches."""
        for task in self._tasks:
            task.cancel()


class Stream:
    """One watch on its way to one client."""

    def __init__(self, cluster: EmbeddedCluster, watch: WatchRequest, *, patience: float) -> None:
        self._cluster = cluster
        self._watch = watch
        self._patience = patience
        self._headers = True

    async def run(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send events until the time is over. A client that does not read is let go of."""
        watch = self._watch
        from_now = watch.initial or watch.resource_version in ("", "0")
        watcher, present = await self._cluster.records.watcher(
            watch.kind, watch.selection, "" if from_now else watch.resource_version
        )
        response = web.StreamResponse(headers={**answers.HEADERS, "Content-Type": answers.JSON})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            await self._send(response, [self._line("ADDED", record) for record in present])
            if watch.initial and watch.bookmarks:
                await self._send(response, [self._bookmark(watcher.version(), initial=True)])
            await self._follow(request, response, watcher)
            await response.write_eof()
        except TimeoutError:
            # It holds the connection and does not read.
            if request.transport is not None:
                request.transport.abort()
        except ConnectionError:
            pass
        return response

    async def _follow(self, request: web.BaseRequest, response: web.StreamResponse, watcher: Watcher) -> None:
        watch = self._watch
        loop = asyncio.get_running_loop()
        end = loop.time() + (watch.seconds or _LONGEST)
        try:
            while (left := end - loop.time()) > 0 and not watcher.ended and not _is_gone(request):
                if changes := watcher.take():
                    await self._send(
                        response, [self._line(_word(what), record) for what, record, _ in changes]
                    )
                elif not await watcher.wait(min(left, self._cluster.bookmark_every)) and watch.bookmarks:
                    await self._send(response, [self._bookmark(watcher.version())])
        except ApiError as error:
            await self._send(response, [_encode({"type": "ERROR", "object": error.status.wire()}) + b"\n"])

    async def _send(self, response: web.StreamResponse, lines: list[bytes]) -> None:
        """Write; TimeoutError where the client has not read for too long.

        Piece by piece: only before a further piece does the transport wait for a client that lags behind.
        """
        piece: list[bytes] = []
        size = 0
        for number, line in enumerate(lines, start=1):
            piece.append(line)
            size += len(line)
            if size >= _PIECE or number == len(lines):
                async with asyncio.timeout(self._patience):
                    await response.write(b"".join(piece))
                piece, size = [], 0

    def _line(self, word: str, record: Record) -> bytes:
        watch, form = self._watch, self._watch.form
        if form.shape == "Table":
            now = self._cluster.core.clock.now()
            metadata = {"resourceVersion": record.obj["metadata"]["resourceVersion"]}
            shown: Any = tables.table(
                watch.kind,
                watch.version,
                [record],
                now=now,
                include=form.include,
                headers=self._headers,
                metadata=metadata,
            )
            self._headers = False
            body = _encode(shown)
        elif form.shape:
            body = _encode(tables.partial(record.obj))
        else:
            body = answers.object_bytes(watch.kind, watch.version, record)
        return b"".join((b'{"type":"', word.encode(), b'","object":', body, b"}\n"))

    def _bookmark(self, version: int, *, initial: bool = False) -> bytes:
        resource = self._watch.kind.resources[self._watch.version]
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj: dict[str, Any] = {
            "kind": resource.kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
        }
        if self._watch.form.shape == "Table":
            obj = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "columnDefinitions": [],
                "rows": [],
            }
        elif self._watch.form.shape:
            obj = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        return _encode({"type": "BOOKMARK", "object": obj}) + b"\n"


def _word(what: ChangeType) -> str:
    return what.value


def _is_gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()
