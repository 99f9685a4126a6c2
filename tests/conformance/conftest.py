"""The servers that all pass the same tests."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from closeknit.installation.privileges import Component
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import NAMESPACES
from closeknit.kube.rest import Access, connect, load_access
from closeknit.testing.accounts import seen_by
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.rendered import NAMESPACE
from tests.conformance.cluster import Cluster
from tests.planes import chart_accounts

if TYPE_CHECKING:
    from tests.conformance.python_client import Reached

EMBEDDED = "embedded"
OVER_HTTP = "embedded-over-http"
REAL = "kube-apiserver"


@dataclass(frozen=True)
class Served:
    """A server behind the port."""

    api: KubernetesApi
    forget: Callable[[], Awaitable[None]]
    """Makes it forget its history."""
    access: Access | None = None
    """The way to it, where it listens."""


@pytest.fixture(params=[EMBEDDED, OVER_HTTP, pytest.param(REAL, marks=pytest.mark.e2e)])
def server(request: pytest.FixtureRequest) -> str:
    """Which server is asked."""
    return str(request.param)


@pytest.fixture
async def served(server: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    """The server."""
    if server == REAL:
        plane: ControlPlane = request.getfixturevalue("plane")

        async def restart() -> None:
            # A new API server remembers nothing from before its start.
            await asyncio.to_thread(plane.kill_api_server)
            await asyncio.to_thread(plane.start_api_server)

        access = load_access(kubeconfig=str(plane.kubeconfig))
        async with connect(access, component="conformance") as api:
            yield Served(api, restart, access)
        return
    embedded = EmbeddedCluster(bookmark_every=0.2)

    async def forget() -> None:
        embedded.forget_history()

    if server == EMBEDDED:
        yield Served(embedded, forget)
    else:
        kubeconfig = tmp_path / "kubeconfig"
        async with Server(embedded) as listening:
            listening.write_kubeconfig(kubeconfig)
            access = load_access(kubeconfig=str(kubeconfig))
            async with connect(access, component="conformance") as api:
                yield Served(api, forget, access)
    await embedded.close()


@pytest.fixture
async def cluster(served: Served, server: str) -> Cluster:
    """The server, and a namespace of the test's own."""
    made = Cluster(served.api, "", server, secrets.token_hex(3), served.forget)
    made.namespace = await made.new_namespace("test")
    return made


@pytest.fixture
async def scheduler(
    cluster: Cluster, server: str, request: pytest.FixtureRequest
) -> AsyncIterator[KubernetesApi]:
    """The server as the account of the scheduler sees it, which has the roles of the chart and nothing more."""
    if server != REAL:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await cluster.api.create(NAMESPACES, namespace)
        yield cluster.api
        return
    async with chart_accounts(request.getfixturevalue("plane")) as api:
        yield seen_by(Component.SCHEDULER, api)


@pytest.fixture
async def widgets(cluster: Cluster) -> Cluster:
    """The same, with custom resources."""
    await cluster.define_widgets()
    return cluster


@pytest.fixture(params=[OVER_HTTP, pytest.param(REAL, marks=pytest.mark.e2e)])
def reached(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reached]:
    """A server, and a namespace of the test's own."""
    # The client takes long to import, and the other tests do without it.
    from tests.conformance.python_client import listening, reaching  # noqa: PLC0415

    if request.param == REAL:
        plane: ControlPlane = request.getfixturevalue("plane")

        def restart() -> None:
            plane.kill_api_server()
            plane.start_api_server()

        yield from reaching(plane.kubeconfig, restart, tmp_path)
        return
    kubeconfig = tmp_path / "kubeconfig"
    with listening(kubeconfig) as forget:
        yield from reaching(kubeconfig, forget, tmp_path)
