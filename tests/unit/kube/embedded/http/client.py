"""A client that says what the server answered, and what it sends."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from closeknit.kube.embedded.http.server import Server

MAPS = "/api/v1/namespaces/default/configmaps"
APPLY = "application/apply-patch+yaml"


class Client:
    """A client that trusts the server's certificate and shows its token."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        content = {"Content-Type": "application/json"} if raw is not None else {}
        headers = {**content, **{name.replace("_", "-"): value for name, value in headers.items()}}
        sent = None if raw is None else io.BytesIO(raw)
        async with self.session.request(
            method, self.server.address + path, data=sent, headers=headers
        ) as answer:
            return answer.status, await answer.json(content_type=None)


async def clients(server: Server) -> AsyncIterator[Client]:
    trusted = ssl.create_default_context(cadata=server.authority.decode())
    headers = {"Authorization": f"Bearer {server.token}", "User-Agent": "test/1"}
    connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
    async with server, aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield Client(server, session)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


async def connected(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that has sent nothing yet."""
    trusted = ssl.create_default_context(cadata=server.authority.decode())
    port = int(server.address.rsplit(":", 1)[1])
    return await asyncio.open_connection("127.0.0.1", port, ssl=trusted)


async def raw_answer(server: Server, sent: bytes) -> bytes:
    """All that the server answers to bytes, until it ends the connection."""
    reader, writer = await connected(server)
    writer.write(sent)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.transport.abort()
