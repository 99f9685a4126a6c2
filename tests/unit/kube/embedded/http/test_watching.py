"""Watches over HTTP: what they stream, and how many one client may have."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

import aiohttp

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import CONFIG_MAPS
from tests.unit.kube.embedded.http.client import MAPS, Client, config_map


async def read_lines(answer: aiohttp.ClientResponse, count: int) -> list[dict[str, Any]]:
    return [json.loads(await answer.content.readline()) for _ in range(count)]


async def test_a_watch_streams_events(client: Client, cluster: EmbeddedCluster) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a"))
    async with client.session.get(
        client.server.address + MAPS, params={"watch": "1", "timeoutSeconds": "60"}
    ) as answer:
        (first,) = await read_lines(answer, 1)
        await cluster.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "v"}}), namespace="default")
        await cluster.delete(CONFIG_MAPS, "a", namespace="default")
        rest = await read_lines(answer, 2)

    assert [event["type"] for event in (first, *rest)] == ["ADDED", "MODIFIED", "DELETED"]


async def test_a_watch_may_begin_with_what_is_there_and_say_when_that_is_all(
    client: Client, cluster: EmbeddedCluster
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a"))
    params = {
        "watch": "1",
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    async with client.session.get(client.server.address + MAPS, params=params) as answer:
        added, end = await read_lines(answer, 2)

    assert added["type"] == "ADDED"
    assert (end["type"], end["object"]["metadata"]["annotations"]) == (
        "BOOKMARK",
        {"k8s.io/initial-events-end": "true"},
    )


async def test_a_forgotten_version_is_told_in_the_stream_or_at_once(
    client: Client, cluster: EmbeddedCluster
) -> None:
    for number in range(3):
        await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
    cluster.forget_history()

    status, answer = await client.ask("GET", f"{MAPS}?watch=1&resourceVersion=1")

    assert (status, answer["reason"]) == (410, "Expired")


async def test_one_client_has_so_many_watches_and_others_notice_nothing(client: Client) -> None:
    async def opened(agent: str) -> aiohttp.ClientResponse:
        return await client.session.get(
            client.server.address + MAPS, params={"watch": "1"}, headers={"User-Agent": agent}
        )

    held = [await opened("greedy") for _ in range(5)]
    refused = await opened("greedy")
    other = await opened("modest")

    assert [answer.status for answer in held] == [200] * 5
    assert refused.status == 429
    assert ((await refused.json())["reason"], refused.headers["Retry-After"]) == ("TooManyRequests", "1")
    assert other.status == 200
    held[0].close()
    again = await opened("greedy")
    while again.status != 200:
        await asyncio.sleep(0.02)
        again = await opened("greedy")
    for answer in (*held, refused, other, again):
        answer.close()


async def test_a_client_that_watches_and_never_reads_is_let_go_of(
    client: Client, cluster: EmbeddedCluster
) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1",
        int(client.server.address.rsplit(":", 1)[1]),
        ssl=ssl.create_default_context(cadata=client.server.authority.decode()),
        limit=1024,
    )
    request = f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.server.token}\r\n\r\n"
    writer.write(request.encode())
    await reader.readuntil(b"\r\n\r\n")
    large = "x" * 500_000
    await cluster.create(CONFIG_MAPS, config_map("a"))
    for number in range(40):
        await cluster.patch(
            CONFIG_MAPS, "a", MergePatch({"data": {"k": f"{number}{large}"}}), namespace="default"
        )
        await asyncio.sleep(0)

    async with asyncio.timeout(60):
        while client.server._turnstile._open:
            # Meanwhile others are answered.
            assert (await client.ask("GET", f"{MAPS}?limit=1"))[0] == 200
            await asyncio.sleep(0.02)
    writer.transport.abort()
