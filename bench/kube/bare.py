"""The least that can be done: aiohttp and msgspec, without errors, retries or deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import msgspec

from bench.kube.shapes import NAMESPACE, LightPod
from bench.kube.work import WORKERS
from closeknit.kube.rest.access import Connection


class _Pods(msgspec.Struct):
    items: list[LightPod]


_pods = msgspec.json.Decoder(_Pods)


@dataclass(frozen=True)
class Bare:
    """A session, and what each request needs."""

    session: aiohttp.ClientSession
    connection: Connection

    async def list_pods(self) -> list[LightPod]:
        """All pods at once."""
        async with self.session.get(
            f"{self.connection.address}/api/v1/pods", ssl=self.connection.tls or True
        ) as answer:
            return _pods.decode(await answer.read()).items

    async def bind(self, pods: Sequence[str], node: str) -> None:
        """Put pods on a node, with as many connections as there are."""
        waiting = iter(pods)

        async def work() -> None:
            for pod in waiting:
                body = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": pod, "namespace": NAMESPACE},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": node},
                }
                async with self.session.post(
                    f"{self.connection.address}/api/v1/namespaces/{NAMESPACE}/pods/{pod}/binding",
                    data=msgspec.json.encode(body),
                    headers={"Content-Type": "application/json"},
                    ssl=self.connection.tls or True,
                ) as answer:
                    await answer.read()
                    answer.raise_for_status()

        await asyncio.gather(*(work() for _ in range(WORKERS)))


@asynccontextmanager
async def bare(connection: Connection, connections: int) -> AsyncIterator[Bare]:
    """A bare client with as many connections as the one that it is compared with."""
    headers = {
        "Authorization": connection.authorization,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "bare",
    }
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(connector=connector, headers=headers, read_bufsize=2**18) as session:
        yield Bare(session, connection)
