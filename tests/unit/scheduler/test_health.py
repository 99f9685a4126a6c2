from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request

from closeknit.scheduler.health import HealthServer, Probes

wrong: dict[str, str] = {}


def probes() -> Probes:
    return Probes(
        alive=lambda: wrong.get("alive"),
        ready=lambda: wrong.get("ready"),
        metrics=lambda: b"closeknit_free 1\n",
        snapshot=lambda: iter([b"a: 1\n", b"---\n", b"b: 2\n"]),
        roles=lambda: {"closeknit-scheduler": "standby"},
    )


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    wrong.clear()
    server = HealthServer(probes())
    await server.start()
    try:
        yield server.address
    finally:
        await server.stop()


async def asked(path: str, method: str = "GET") -> tuple[int, str]:
    async with (
        served() as address,
        aiohttp.ClientSession() as session,
        session.request(method, f"{address}{path}") as answer,
    ):
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param("/healthz", (200, "ok\n"), id="it is alive"),
        pytest.param("/readyz", (200, "ok\ncloseknit-scheduler: standby\n"), id="it is ready, and its role"),
        pytest.param("/metrics", (200, "closeknit_free 1\n"), id="its metrics"),
        pytest.param("/debug/snapshot", (200, "a: 1\n---\nb: 2\n"), id="a snapshot, piece by piece"),
        pytest.param("/", (404, "404: Not Found"), id="nothing else is served"),
    ],
)
async def test_asked_for(path: str, answer: tuple[int, str]) -> None:
    assert await asked(path) == answer


async def test_nothing_can_be_written() -> None:
    status, _ = await asked("/debug/snapshot", "POST")
    assert status == 405


async def test_what_is_wrong_is_said_with_503() -> None:
    async with served() as address, aiohttp.ClientSession() as session:
        wrong["ready"] = "Pods were not listed yet."
        async with session.get(f"{address}/readyz") as answer:
            assert (answer.status, await answer.text()) == (
                503,
                "Pods were not listed yet.\ncloseknit-scheduler: standby\n",
            )
        async with session.get(f"{address}/healthz") as answer:
            assert answer.status == 200


async def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    async with served() as address:
        assert address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("remote", ["10.0.0.7", "::2", None, "unknown"])
async def test_a_snapshot_is_not_given_to_other_machines(remote: str | None) -> None:
    request = make_mocked_request("GET", "/debug/snapshot").clone(remote=remote or "")

    answer = await HealthServer(probes())._snapshot(request)

    assert answer.status == 403
