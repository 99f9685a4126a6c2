"""Listening for HTTP: bounded in time and in number, and with an answer to everything.

A connection is in one of these states:

| state | ends by | or after |
| --- | --- | --- |
| handshake | TLS is agreed on | ``handshake_seconds`` |
| new | the headers of its first request are complete | ``header_seconds`` |
| answering | the answer is sent; the handler limits how long that takes | |
| idle | the headers of a further request are complete | ``idle_seconds``, or a newcomer needs its place |

Nothing that a client sends, and no mistake in a handler, ends in a traceback or in silence: what is no HTTP
and what a handler did not expect is answered by the same function, so that every answer has the server's own
shape.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import ssl
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from aiohttp import HttpVersion10, web

_log = logging.getLogger(__name__)

CONNECTIONS: Final = 2_000
_OTHER_FILES: Final = 256
"""File descriptors that are left to the rest of the process."""
_FRAMES: Final = 4

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Refuse: TypeAlias = Callable[[int, str], web.Response]
"""The answer to a request that no handler saw to its end, of a status code and a detail for people."""


def connections_possible() -> int:
    """``CONNECTIONS``, or as many as the limit of file descriptors leaves room for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if files == resource.RLIM_INFINITY else max(min(CONNECTIONS, files - _OTHER_FILES), 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """For how long and how many connections are kept. The seconds are those of kube-apiserver, where it has
    one.
    """

    handshake_seconds: float = 10.0
    header_seconds: float = 32.0
    idle_seconds: float = 90.0
    connections: int = field(default_factory=connections_possible)


class Listener:
    """Hands the requests of one address to a handler, or to an application."""

    def __init__(
        self, handler: Handler | web.Application, refuse: Refuse, bounds: Bounds, **options: Any
    ) -> None:
        """``options`` are those of aiohttp's connections, such as ``max_line_size``."""
        self._handler = handler
        self._refuse = refuse
        self._bounds = bounds
        self._options = options
        self._runners: list[web.BaseRunner] = []
        self._listening: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen, and return the port. Raises OSError where the address is in use."""
        handler, factory = self._handler, None
        if isinstance(handler, web.Application):
            runner = web.AppRunner(handler, access_log=None)
            await runner.setup()
            self._runners.append(runner)
            assert runner.server is not None
            handler, factory = runner.server.request_handler, runner.server.request_factory
        serving = _Serving(handler, self._refuse, self._bounds, request_factory=factory, **self._options)
        runner_of_connections = web.ServerRunner(serving, shutdown_timeout=1)
        await runner_of_connections.setup()
        self._runners.insert(0, runner_of_connections)
        seconds = self._bounds.handshake_seconds if tls is not None else None
        self._listening = await asyncio.get_running_loop().create_server(
            serving, host, port, ssl=tls, backlog=128, ssl_handshake_timeout=seconds
        )
        bound_port: int = self._listening.sockets[0].getsockname()[1]
        return bound_port

    async def stop(self) -> None:
        """Listen no longer, and end all connections."""
        if self._listening is not None:
            self._listening.close()
        for runner in self._runners:
            serving = runner.server
            held = [] if serving is None else [connection.transport for connection in serving.connections]
            await runner.cleanup()
            for transport in held:
                # A client that keeps a connection open for later would be waited for.
                if transport is not None:
                    transport.abort()
        self._runners.clear()


class _Serving(web.Server):
    """aiohttp's server, with bounded connections."""

    def __init__(self, handler: Handler, refuse: Refuse, bounds: Bounds, **options: Any) -> None:
        # A handler whose client has gone must not wait to notice. Bodies are never decompressed: what a small
        # one may become is known too late.
        super().__init__(
            self._answer,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=bounds.idle_seconds,
            **options,
        )
        self._handler = handler
        self.refuse = refuse
        self.bounds = bounds

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=asyncio.get_running_loop(), **self._kwargs)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.version < HttpVersion10:
            return self._last(400, "HTTP/0.9 is not answered. Use HTTP/1.1.")
        try:
            return await self._handler(request)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 (logged; other clients notice nothing)
            _log.error("Internal error: %s %s: %s", request.method, ascii(request.raw_path), _origin(error))
            if request.writer.output_size:
                # The rest of a stream cannot become another answer: a client sees that it broke off.
                raise ConnectionResetError from None
            return self._last(500, "Internal error while answering this request. See the server's log.")

    def _last(self, status: int, detail: str) -> web.Response:
        response = self.refuse(status, detail)
        response.force_close()
        return response

    def make_place(self) -> bool:
        """End the connection that has been idle for longest where there are too many; False if none is
        idle.
        """
        if len(self._connections) <= self.bounds.connections:
            return True
        idle = [
            connection
            for connection in self._connections
            if isinstance(connection, _Connection) and connection.is_idle
        ]
        if not idle:
            return False
        min(idle, key=lambda connection: connection.idle_until).abort()
        return True


def _origin(error: BaseException) -> str:
    """An exception in one line, with where it was raised."""
    frames = reversed(traceback.extract_tb(error.__traceback__, limit=-_FRAMES))
    where = " < ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__}: {str(error)[:300]!a} at {where}"


class _Connection(web.RequestHandler):
    """One client."""

    _header_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a further request. A new one is given the time for its first."""
        return self._request_count > 0 and self._current_request is None and not self._messages

    @property
    def idle_until(self) -> float:
        """When it would be ended."""
        return self._next_keepalive_close_time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is a place."""
        super().connection_made(transport)
        serving = self._serving
        if not serving.make_place():
            self.abort()
            return
        self._header_timer = self._loop.call_later(serving.bounds.header_seconds, self._end_if_new)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        if self._header_timer is not None:
            self._header_timer.cancel()
        super().connection_lost(exc)

    def _end_if_new(self) -> None:
        if not self._request_count:
            self.abort()

    def abort(self) -> None:
        """End at once: a client that is silent would not take part in ending it, either."""
        transport = self.transport
        self.force_close()
        if transport is not None:
            transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser refused: the detail is in the words of aiohttp, and names no code."""
        if request.writer.output_size:
            raise ConnectionResetError
        _log.debug("Refused with status %s: %s", status, message)
        response = self._serving.refuse(status, f"This is not a valid HTTP request: {message or exc}")
        response.force_close()
        return response

    @property
    def _serving(self) -> _Serving:
        assert isinstance(self._manager, _Serving)
        return self._manager
