"""An embedded cluster that listens while a test runs commands against it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from closeknit.dialects.definitions import FAMILIES
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.embedded.loading import load

T = TypeVar("T")


@dataclass(frozen=True)
class Serving:
    """A cluster, and the loop that it runs in."""

    cluster: EmbeddedCluster
    kubeconfig: Path
    loop: asyncio.AbstractEventLoop

    def ask(self, question: Callable[[EmbeddedCluster], Awaitable[T]]) -> T:
        """Ask the cluster something, past its server."""

        async def asked() -> T:
            return await question(self.cluster)

        return asyncio.run_coroutine_threadsafe(asked(), self.loop).result(timeout=60)

    def load(self, objects: Iterable[dict[str, Any]]) -> None:
        """Put objects into it; none may be refused."""
        assert self.ask(lambda cluster: load(cluster, objects)) == []


@contextmanager
def serving(kubeconfig: Path, families: Iterable[str] = tuple(FAMILIES)) -> Iterator[Serving]:
    """A cluster with the definitions of these families. Commands run in the caller's own thread."""
    definitions = [one.written() for family in families for one in FAMILIES[family]]
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def started() -> tuple[EmbeddedCluster, Server]:
        cluster = EmbeddedCluster(definitions)
        server = Server(cluster)
        await server.start()
        server.write_kubeconfig(kubeconfig)
        return cluster, server

    async def ended() -> None:
        await server.stop()
        await cluster.close()

    cluster, server = asyncio.run_coroutine_threadsafe(started(), loop).result(timeout=60)
    try:
        yield Serving(cluster, kubeconfig, loop)
    finally:
        asyncio.run_coroutine_threadsafe(ended(), loop).result(timeout=60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=60)
        loop.close()
