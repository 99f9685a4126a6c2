"""Connections: how long they may do nothing, and how many there may be."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.limits import Limits
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.listening import Bounds, Listener
from tests.unit.kube.embedded.http.client import MAPS, connected

_ASK = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def served(limits: Limits) -> AsyncIterator[Server]:
    async with Server(EmbeddedCluster(), limits=limits) as server:
        yield server


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends the connection; a test that waits for it in vain fails by its time-out."""
    async with asyncio.timeout(20):
        try:
            return await reader.read() == b""
        except ConnectionError:
            return True


async def answered(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(20):
        return await reader.readuntil(b"ok")


async def test_a_connection_that_never_asks_ends() -> None:
    async with served(Limits(bounds=Bounds(header_seconds=0.1, idle_seconds=60))) as server:
        reader, writer = await connected(server)

        assert await ended(reader)
        writer.transport.abort()


async def test_headers_that_never_end_end_the_connection() -> None:
    async with served(Limits(bounds=Bounds(header_seconds=0.1, idle_seconds=60))) as server:
        reader, writer = await connected(server)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-")

        assert await ended(reader)


async def test_a_connection_that_asks_no_more_ends() -> None:
    async with served(Limits(bounds=Bounds(header_seconds=60, idle_seconds=0.1))) as server:
        reader, writer = await connected(server)
        writer.write(_ASK)
        assert await answered(reader)

        assert await ended(reader)


async def test_a_handshake_that_never_ends_ends_the_connection() -> None:
    async with served(Limits(bounds=Bounds(handshake_seconds=0.1))) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.address.rsplit(":", 1)[1]))

        assert await ended(reader)
        writer.transport.abort()


async def test_a_body_that_never_comes_is_refused() -> None:
    async with served(Limits(body_seconds=0.1)) as server:
        head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
        sent = f"{head}Content-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{{"
        reader, writer = await connected(server)
        writer.write(sent.encode())
        async with asyncio.timeout(20):
            top = await reader.readuntil(b"\r\n")

        assert b" 504 " in top


async def test_a_newcomer_gets_the_place_of_the_one_that_was_idle_for_longest() -> None:
    async with served(Limits(bounds=Bounds(connections=2))) as server:
        clients = []
        for _ in range(3):
            reader, writer = await connected(server)
            writer.write(_ASK)
            assert await answered(reader)
            clients.append((reader, writer))
        first, (second, asking), _ = clients
        asking.write(_ASK)

        assert await ended(first[0])
        assert await answered(second)


async def test_a_newcomer_is_ended_where_all_others_are_busy() -> None:
    async with served(Limits(bounds=Bounds(connections=2))) as server:
        watch = f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        watching = [await connected(server) for _ in range(2)]
        for reader, writer in watching:
            writer.write(watch.encode())
            async with asyncio.timeout(20):
                await reader.readuntil(b"\r\n\r\n")
        reader, writer = await connected(server)
        writer.write(_ASK)

        assert await ended(reader)
        watching[0][1].transport.abort()
        async with asyncio.timeout(20):
            while True:
                reader, writer = await connected(server)
                writer.write(_ASK)
                try:
                    assert await answered(reader)
                    break
                except (ConnectionError, asyncio.IncompleteReadError):
                    await asyncio.sleep(0.02)


def test_two_thousand_connections_are_too_many_for_the_smallest_limit_of_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("closeknit.kube.listening.resource.getrlimit", lambda _: (1024, 4096))

    assert Bounds().connections == 1024 - 256


async def test_a_body_stays_as_compressed_as_it_came() -> None:
    async def count(request: web.BaseRequest) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    listener = Listener(count, lambda status, detail: web.Response(status=status, text=detail), Bounds())
    port = await listener.start("127.0.0.1", 0, None)
    body = gzip.compress(b" " * 1_000_000)
    head = f"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head.encode() + body)
        async with asyncio.timeout(20):
            answer = await reader.read()
    finally:
        writer.transport.abort()
        await listener.stop()

    assert answer.endswith(f"\r\n\r\n{len(body)}".encode())
