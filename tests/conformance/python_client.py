"""Servers as the official Python client reaches them."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client, config, dynamic

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from tests.conformance.cluster import PATIENCE


@dataclass(frozen=True)
class Reached:
    """A server, through the client."""

    client: client.ApiClient
    namespace: str
    forget: Callable[[], None]
    """Makes every version that was handed out so far too old to watch from."""
    folder: Path

    @property
    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.client)

    @property
    def batch(self) -> client.BatchV1Api:
        return client.BatchV1Api(self.client)

    def dynamic(self) -> dynamic.DynamicClient:
        # Without a file of its own, it would share what it discovers with every server of the same address.
        return dynamic.DynamicClient(self.client, cache_file=str(self.folder / "discovered.json"))

    def config(self, name: str, **data: str) -> client.V1ConfigMap:
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "a"}), data=data)
        return self.core.create_namespaced_config_map(self.namespace, body)

    def config_names(self) -> list[str]:
        """Those of the test, without the one that a real cluster puts into every namespace."""
        found = self.core.list_namespaced_config_map(self.namespace).items
        return [each.metadata.name for each in found if each.metadata.name != "kube-root-ca.crt"]

    def version(self) -> str:
        return str(self.core.list_namespaced_config_map(self.namespace).metadata.resource_version)


@contextmanager
def listening(kubeconfig: Path) -> Iterator[Callable[[], None]]:
    """An embedded cluster that listens in a thread of its own; yields what makes it forget its history."""
    begun: Future[tuple[EmbeddedCluster, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        cluster, end = EmbeddedCluster(bookmark_every=0.2), asyncio.Event()
        async with Server(cluster) as server:
            server.write_kubeconfig(kubeconfig)
            begun.set_result((cluster, asyncio.get_running_loop(), end))
            await end.wait()
        await cluster.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    cluster, loop, end = begun.result(PATIENCE)

    async def forget() -> None:
        cluster.forget_history()

    try:
        yield lambda: asyncio.run_coroutine_threadsafe(forget(), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(PATIENCE)


def reaching(kubeconfig: Path, forget: Callable[[], None], folder: Path) -> Iterator[Reached]:
    with config.new_client_from_config(str(kubeconfig)) as made:
        namespace = f"python-{secrets.token_hex(3)}"
        metadata = client.V1ObjectMeta(name=namespace)
        client.CoreV1Api(made).create_namespace(client.V1Namespace(metadata=metadata))
        yield Reached(made, namespace, forget, folder)
        made.rest_client.pool_manager.clear()


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "It did not become so in time."
        time.sleep(0.02)
