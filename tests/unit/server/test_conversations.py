"""Requests that the OpenAPI document allows, and some that it does not, against a server that listens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case

from closeknit.server.app import MapServer
from closeknit.server.openapi import document
from tests.unit.server.shown import cluster_state, served

schema = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server with its event loop in a thread of its own, since the client waits for each answer."""
    ready, ended, found = threading.Event(), asyncio.Event(), list[str]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with served(cluster_state()) as server:
            _without_limits(server)
            found.append(server.address)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    yield found[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


def _without_limits(server: MapServer) -> None:
    """One client asks for all that many would; how often it may is tested elsewhere."""
    for rate in (server._usual, server._costly):
        rate.per_second = rate.burst = 1e9


@schema.parametrize()
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case: Case[Any], address: str) -> None:
    case.call_and_validate(base_url=address)
