"""A proxy before an API server that goes wrong on purpose, as networks and servers do.

It listens on loopback, passes requests on with whatever credentials they bear, and draws each fault from a
seeded source. When ``faults`` is set to ``NONE``, it behaves; ``rule`` names the fault of a chosen request.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import aiohttp
import msgspec
from aiohttp import web

from closeknit.kube.errors import GoneError, TooManyRequestsError
from closeknit.kube.rest.access import Access

_PASSED_ON = ("Accept", "Authorization", "Content-Type", "User-Agent")
_EXPIRED = GoneError("too old resource version: the proxy says so")
_BUSY = TooManyRequestsError("the proxy asks to try later", retry_after=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """How likely each fault is, between 0 and 1, for each request."""

    refused: float = 0.0
    """The connection is cut before an answer."""
    busy: float = 0.0
    """429, with a Retry-After."""
    lost: float = 0.0
    """The request is carried out, and the connection cut before the answer is complete."""
    expired: float = 0.0
    """A watch is told, now or after some changes, that its version is too old."""
    cut: float = 0.0
    """A watch is cut in the middle of a line."""


NONE = Faults()
Rule: TypeAlias = Callable[[str, str], Awaitable[str]]


class FaultProxy:
    """One proxy. ``done`` counts the faults that were committed."""

    def __init__(self, access: Access, random: Random) -> None:
        self.faults = NONE
        self.done: Counter[str] = Counter()
        self.address = ""
        self.rule: Rule = _behaving
        """The fault of a request, by method and path: a field of ``Faults``, or ``hang`` for no answer."""
        self._cut = asyncio.Event()
        self._silenced = asyncio.Event()
        self._access = access
        self._random = random

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[FaultProxy, None]:
        """Listen on a free port of loopback."""
        server = web.Server(self._answer, access_log=None)
        runner = web.ServerRunner(server, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None), read_bufsize=2**18
        ) as upstream:
            self._upstream = upstream
            try:
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                self.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
                yield self
            finally:
                await runner.cleanup()

    def cut_watches(self) -> None:
        """Cut all watches that are under way."""
        self._cut.set()
        self._cut = asyncio.Event()

    def silence_watches(self) -> None:
        """Pass on nothing more of the watches that are open, and keep their connections."""
        self._silenced.set()
        self._silenced = asyncio.Event()

    def _happens(self, fault: str, meant: str = "") -> bool:
        happens: bool = fault == meant or self._random.random() < getattr(self.faults, fault)
        if happens:
            self.done[fault] += 1
        return happens

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        meant = await self.rule(request.method, request.path_qs)
        if meant == "hang":
            await asyncio.get_running_loop().create_future()
        if self._happens("refused", meant):
            return _cut(request)
        if self._happens("busy", meant):
            headers = {"Retry-After": "1"}
            return web.json_response(_BUSY.status.wire(), status=429, headers=headers)
        connection = await self._access.connection()
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        try:
            async with self._upstream.request(
                request.method,
                connection.address + request.raw_path,
                headers=headers,
                data=await request.read() or None,
                ssl=connection.tls if connection.tls is not None else True,
            ) as answer:
                if "watch=true" in request.query_string:
                    return await self._passed_on(request, answer)
                body = await answer.read()
        except (aiohttp.ClientError, ConnectionError):
            return _cut(request)
        if self._happens("lost", meant):
            return _cut(request)
        kept = {
            name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers
        }
        return web.Response(status=answer.status, body=body, headers=kept)

    async def _passed_on(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        """A watch, up to the fault that it was meant to have."""
        response = web.StreamResponse(status=answer.status)
        await response.prepare(request)
        silenced = self._silenced
        chunks = self._random.randrange(4)
        expires = answer.status == 200 and self._happens("expired")
        cuts = not expires and self._happens("cut")
        while True:
            if chunks == 0 and expires:
                event = {"type": "ERROR", "object": _EXPIRED.status.wire()}
                await response.write(msgspec.json.encode(event) + b"\n")
                return response
            chunk = await self._chunk(answer)
            if silenced.is_set():
                await asyncio.get_running_loop().create_future()
            if chunk is None:
                return _cut(request)
            if not chunk:
                return response
            if chunks == 0 and cuts:
                await response.write(chunk[: len(chunk) // 2])
                return _cut(request)
            await response.write(chunk)
            chunks = max(0, chunks - 1)

    async def _chunk(self, answer: aiohttp.ClientResponse) -> bytes | None:
        """What comes next in a watch; None where it is cut."""
        coming, cut = asyncio.ensure_future(answer.content.readany()), asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait({coming, cut}, return_when=asyncio.FIRST_COMPLETED)
            return coming.result() if coming.done() and not cut.done() else None
        finally:
            for each in (coming, cut):
                each.cancel()


async def _behaving(_method: str, _path: str) -> str:
    return ""


def _cut(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
