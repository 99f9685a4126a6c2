"""An embedded cluster, and a client of it over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.limits import Limits
from closeknit.kube.embedded.http.server import Server
from tests.unit.kube.embedded.http.client import Client, clients

LIMITS = Limits(unread_seconds=0.5, watches=8, watches_of_one_client=5)


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return EmbeddedCluster()


@pytest.fixture
async def client(cluster: EmbeddedCluster) -> AsyncIterator[Client]:
    async for made in clients(Server(cluster, limits=LIMITS)):
        yield made
