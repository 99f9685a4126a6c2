"""A web server that answers with what a test wrote down, and notes what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Script:
    """Answers, one after the other; the last one is given again and again."""

    answers: list[Handler]
    asked: list[tuple[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, str(request.rel_url)))
        self.headers.append(dict(request.headers))
        self.bodies.append(await request.read())
        handler = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await handler(request)


def answer(document: Any, status: int = 200, **headers: str) -> Handler:
    """An answer of JSON."""

    async def handler(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(document, status=status, headers=named)

    return handler


def text(content: str, status: int) -> Handler:
    """An answer that is no JSON."""

    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(text=content, status=status)

    return handler


def stream(*chunks: bytes, cut: bool = False) -> Handler:
    """An answer in pieces, at whose end the connection may be cut."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if cut:
            _cut(request)
        else:
            await response.write_eof()
        return response

    return handler


def broken() -> Handler:
    """A connection that is cut before an answer."""

    async def handler(request: web.Request) -> web.StreamResponse:
        _cut(request)
        return web.Response()

    return handler


def silent(seconds: float = 60) -> Handler:
    """No answer for a long time."""

    async def handler(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.Response()

    return handler


def _cut(request: web.Request) -> None:
    assert request.transport is not None
    request.transport.abort()


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[str]:
    """The address of a server that follows a script."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", script.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
