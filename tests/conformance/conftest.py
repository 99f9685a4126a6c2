"""The servers that all pass the same tests."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from closeknit.kube.port import KubernetesApi
from closeknit.kube.rest import connect, load_access
from closeknit.testing.control_plane import ControlPlane, GoMissingError, control_plane
from tests.conformance.cluster import Cluster

REAL = "kube-apiserver"


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """A real control plane, one for all tests that a process runs."""
    try:
        with control_plane() as running:
            yield running
    except GoMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(params=[pytest.param(REAL, marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest) -> str:
    """Which server is asked."""
    return str(request.param)


@pytest.fixture
async def api(server: str, request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    """The server, behind the port."""
    assert server == REAL
    plane: ControlPlane = request.getfixturevalue("plane")
    async with connect(load_access(kubeconfig=str(plane.kubeconfig)), component="conformance") as made:
        yield made


@pytest.fixture
async def cluster(api: KubernetesApi, server: str) -> Cluster:
    """The server, and a namespace of the test's own."""
    made = Cluster(api, "", server, secrets.token_hex(3))
    made.namespace = await made.new_namespace("test")
    return made


@pytest.fixture
async def widgets(cluster: Cluster) -> Cluster:
    """The same, with custom resources."""
    await cluster.define_widgets()
    return cluster
