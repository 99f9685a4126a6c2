"""Sends requests over a bounded pool of connections, each with a deadline.

A server that asks to be left alone for a while (Retry-After) is asked again after that while, as long as
the deadline allows. A read whose connection broke is sent again; a write is not, because nobody
knows whether it was carried out. Everything else is the caller's to decide.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import aiohttp
import msgspec
from aiohttp.abc import AbstractStreamWriter

from closeknit.hub.copying import replace
from closeknit.kube.clock import Clock
from closeknit.kube.errors import (
    ApiError,
    DeadlineExceededError,
    LeaseExpiredError,
    Status,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    error_of,
)
from closeknit.kube.fencing import check_fence
from closeknit.kube.rest.access import Access, ConfigurationError, Connection

_BROKEN_READS = 3
"""How often a read is sent whose connection breaks."""
_LINE_LIMIT = 32 * 2**20
"""An object is stored in a few megabytes at most; a longer line is no event."""
_CHUNK = 2**18
_WATCHES = 200
_PORTION = 0.03
"""Seconds between two readings of a stream that says much: a reading costs far more than what it brings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    content_type: str = "application/json"
    accept: str = "application/json"
    waits: bool = True
    """Whether an answer with Retry-After is waited for; where it says something else, it is not."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """One server, as seen through a pool of connections. Watches have a pool of their own."""

    def __init__(
        self,
        access: Access,
        *,
        user_agent: str,
        connections: int,
        deadline: float,
        clock: Clock,
        random: Random,
    ) -> None:
        self._access = access
        self._deadline = deadline
        self._clock = clock
        self._random = random
        # Inside a data center, packing costs the server more than the network saves.
        headers = {"User-Agent": user_agent, "Accept-Encoding": "identity"}
        self._requests, self._watches = (
            aiohttp.ClientSession(
                connector=_FencedConnector(limit=limit, socket_factory=_socket),
                request_class=_FencedRequest,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_CHUNK,
            )
            for limit in (connections, _WATCHES)
        )

    async def close(self) -> None:
        """Let go of all connections."""
        await self._requests.close()
        await self._watches.close()
        # Sockets are closed by callbacks, which need a few turns of the loop.
        for _ in range(5):
            await asyncio.sleep(0)

    async def send(self, request: Request, *, deadline: float | None = None) -> bytes:
        """The body of a successful answer; every other answer is raised as the error it tells."""
        seconds = self._deadline if deadline is None else deadline
        body = None if request.body is None else msgspec.json.encode(request.body)
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._persistently(request, body, limit)
        except TimeoutError as error:
            raise _late(request, seconds) from error

    async def _persistently(self, request: Request, body: bytes | None, limit: asyncio.Timeout) -> bytes:
        """Send, and send again where that is safe and promising."""
        connection = await self._connection()
        renewed = False
        broken = 0
        while True:
            try:
                return await self._once(request, body, connection)
            except UnauthorizedError:
                if renewed:
                    raise
                connection, renewed = await self._connection(refused=True), True
            except _BrokenError as error:
                broken += 1
                if request.method != "GET" or broken == _BROKEN_READS:
                    raise _unavailable(request, connection, error) from error
            except aiohttp.ClientError as error:
                raise _unavailable(request, connection, error) from error
            except ApiError as error:
                if not request.waits or error.retry_after is None:
                    raise
                pause = error.retry_after * (1 + self._random.random() / 4)
                if asyncio.get_running_loop().time() + pause > (limit.when() or 0):
                    raise
                await self._clock.sleep(pause)

    async def _once(self, request: Request, body: bytes | None, connection: Connection) -> bytes:
        try:
            async with await self._answer(self._requests, request, body, connection) as response:
                return await response.read()
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, ConnectionError) as error:
            raise _BrokenError(_said(error)) from error

    async def lines(
        self, request: Request, *, seconds: float, opened: Callable[[], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The lines of an answer that goes on, until the server ends it or the time is over.

        ``opened`` is called when the answer begins.
        A connection that breaks is an UnavailableError.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        response = await self._begun(request)
        if opened is not None:
            opened()
        try:
            rest, last = b"", loop.time()
            while chunk := await _chunk(request, response, until):
                *complete, rest = (rest + chunk).split(b"\n") if b"\n" in chunk else (rest + chunk,)
                for line in complete:
                    if line:
                        yield line
                if len(rest) > _LINE_LIMIT:
                    raise UnavailableError(f"{request}: the server sent a line of over {_LINE_LIMIT} bytes.")
                if loop.time() - last < _PORTION:
                    await _gathered(response)
                last = loop.time()
        finally:
            # What is left of the stream is not worth reading, so the connection goes too, without a farewell
            # that would take the server's answer.
            if response.connection is not None and response.connection.transport is not None:
                response.connection.transport.abort()
            response.close()

    async def _begun(self, request: Request) -> aiohttp.ClientResponse:
        """An answer whose first part came within the deadline of any other request."""
        connection = await self._connection()
        try:
            async with asyncio.timeout(self._deadline):
                try:
                    return await self._answer(self._watches, request, None, connection)
                except UnauthorizedError:
                    connection = await self._connection(refused=True)
                    return await self._answer(self._watches, request, None, connection)
        except TimeoutError as error:
            raise _late(request, self._deadline) from error
        except (aiohttp.ClientError, ConnectionError) as error:
            raise _unavailable(request, connection, error) from error

    async def _answer(
        self, session: aiohttp.ClientSession, request: Request, body: bytes | None, connection: Connection
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": request.accept}
        if connection.authorization:
            headers["Authorization"] = connection.authorization
        if body is not None:
            headers["Content-Type"] = request.content_type
        response = await session.request(
            request.method,
            f"{connection.address}{request.path}",
            params=request.query,
            data=body,
            headers=headers,
            ssl=connection.tls if connection.tls is not None else True,
            server_hostname=connection.server_name,
            proxy=connection.proxy,
            # A redirect would carry credentials elsewhere; API servers send none.
            allow_redirects=False,
        )
        if 200 <= response.status < 300:
            return response
        async with response:
            raise _refusal(response, await response.read())

    async def _connection(self, *, refused: bool = False) -> Connection:
        try:
            return await (self._access.renew() if refused else self._access.connection())
        except ConfigurationError as error:
            raise UnauthorizedError(f"There are no credentials to ask with: {error}") from error


class _FencedConnector(aiohttp.TCPConnector):
    """Checks a write again when it has its connection, which it may have waited for."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 (the signature of aiohttp)
    ) -> aiohttp.connector.Connection:
        connection = await super().connect(req, traces, timeout)
        try:
            check_fence()
        except BaseException:
            # Nothing was sent over it.
            connection.release()
            raise
        return connection


class _FencedRequest(aiohttp.ClientRequest):
    """Checks a write for the last time when its bytes are written: headers wait in a buffer for the body.

    aiohttp writes the body in a task of its own (before Python 3.12 in the next turn of the loop, after all
    answers that came in this one); from here to the system call nothing waits.
    """

    async def write_bytes(
        self,
        writer: AbstractStreamWriter,
        conn: aiohttp.connector.Connection,
        content_length: int | None = None,
    ) -> None:
        try:
            check_fence()
        except LeaseExpiredError as error:
            # It is raised to the caller that waits for the answer, and the connection is closed.
            if conn.protocol is not None:
                conn.protocol.set_exception(error)
            return
        await super().write_bytes(writer, conn, content_length)


class _BrokenError(Exception):
    """A connection was there, and broke before the answer was complete."""


async def _gathered(response: aiohttp.ClientResponse) -> None:
    """Let more come in before the next reading: for a moment, or until it is a good deal."""
    _wake_at(response, _CHUNK // 4)
    await asyncio.sleep(_PORTION)
    _wake_at(response, 1)


def _wake_at(response: aiohttp.ClientResponse, size: int) -> None:
    """Have the system wake this process only when so many bytes wait to be read."""
    transport = response.connection.transport if response.connection is not None else None
    found = transport.get_extra_info("socket") if transport is not None else None
    if found is not None and sys.platform == "linux":
        # A connection that has just broken says so at the next reading.
        with suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)


async def _chunk(request: Request, response: aiohttp.ClientResponse, until: float) -> bytes:
    """What has come next; nothing at the end, or when the time is over."""
    try:
        async with asyncio.timeout_at(until):
            return await response.content.readany()
    except TimeoutError:
        return b""
    except (aiohttp.ClientError, ConnectionError) as error:
        raise UnavailableError(f"{request}: the connection broke: {_said(error)}") from error


def _refusal(response: aiohttp.ClientResponse, answer: bytes) -> ApiError:
    try:
        document = msgspec.json.decode(answer)
    except msgspec.DecodeError:
        document = None
    text = answer[:500].decode("utf-8", errors="replace").strip()
    status = Status.read(document, code=response.status, text=text)
    header = response.headers.get("Retry-After", "")
    # The header decides: a server also names seconds in the status where waiting would not help.
    seconds = int(header) if header.isdecimal() and len(header) < 6 else None
    if seconds is None and response.status == TooManyRequestsError.code:
        seconds = status.retry_after
    return error_of(replace(status, retry_after=seconds))


def _late(request: Request, seconds: float) -> DeadlineExceededError:
    return DeadlineExceededError(f"{request}: there was no answer within {seconds:g} s.")


def _unavailable(request: Request, connection: Connection, error: Exception) -> UnavailableError:
    via = f" through the proxy {connection.proxy}" if connection.proxy else ""
    return UnavailableError(f"{request}: {connection.address} cannot be reached{via}: {_said(error)}")


def _said(error: Exception) -> str:
    # What the library adds to the system's own words is how its own objects look.
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
        if not isinstance(error, ssl.SSLError):
            # A name that cannot be resolved has a number of another table, below zero.
            number = error.errno or 0
            return os.strerror(number) if number > 0 else str(error.strerror)
    return " ".join(str(error).split()) or type(error).__name__


def _socket(address: Any) -> socket.socket:
    """A socket that notices within a minute when the other side is gone without a word."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
