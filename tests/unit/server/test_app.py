"""The map over HTTP: what is answered, what is refused and how, and what every answer carries."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from closeknit.apis.closeknit_keys import OUTCOME
from closeknit.dialects.kai.family import KAI
from closeknit.kube.certificates import certificate
from closeknit.server.access import Access
from closeknit.server.app import MapServer
from tests.unit.scheduler.objects import entry, node, pod, pod_group
from tests.unit.server.shown import cluster_state, served

API = "api/v1/"
WAITS = f"{API}workloads/PodGroup/default/waits"
GANG = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: new}
spec: {minMember: 1, topologyConstraint: {topology: tree, requiredTopologyLevel: rack}}
---
apiVersion: v1
kind: Pod
metadata: {name: new-1, annotations: {pod-group-name: new}}
spec:
  schedulerName: closeknit
  containers: [{name: main, image: pause, resources: {limits: {nvidia.com/gpu: %d}}}]
"""


@pytest.fixture
async def server() -> AsyncIterator[MapServer]:
    async with served(cluster_state()) as running:
        yield running


async def asked(
    server: MapServer, path: str, *, method: str = "GET", **named: Any
) -> tuple[int, Any, aiohttp.ClientResponse]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, server.address + path, **named) as response,
    ):
        text = await response.text()
        return response.status, json.loads(text) if "json" in response.content_type else text, response


async def test_the_map_has_nodes_in_tree_order_and_who_holds_them(server: MapServer) -> None:
    _, shown, _ = await asked(server, f"{API}map")
    assert shown["nodes"]["name"] == ["n0", "n1", "n2", "n3"]
    assert shown["domains"]["name"] == ["z", "r0", "r1"]
    assert shown["nodes"]["size"] == [8] * 4
    rows = {row["id"]: row["name"] for row in shown["workloads"]}
    held = zip(*(shown["holdings"][each] for each in ("node", "workload", "amount")), strict=True)
    assert sorted((node, rows[workload], amount) for node, workload, amount in held) == [
        (0, "runs", 8),
        (3, "alone", 2),
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("workloads?state=pending", ["waits"], id="those that wait"),
        pytest.param("workloads?state=running", ["alone", "runs"], id="those that run"),
        pytest.param("workloads?name=run", ["runs"], id="those whose name contains a word"),
        pytest.param("workloads?limit=1&offset=1", ["runs"], id="a page"),
        pytest.param("queue", ["waits"], id="the queue"),
        pytest.param("nodes?name=n1", ["n1"], id="nodes by name"),
    ],
)
async def test_lists(server: MapServer, path: str, found: list[str]) -> None:
    _, answer, _ = await asked(server, API + path)
    assert [item["name"] for item in answer["items"]] == found


async def test_a_workload_has_its_groups_and_pods(server: MapServer) -> None:
    _, answer, _ = await asked(server, WAITS)
    assert [pod["name"] for pod in answer["pods"]] == ["waits-0", "waits-1", "waits-2"]
    assert [(group["required"], group["pods"]) for group in answer["groups"]] == [("rack", 3)]


async def test_a_pending_workload_is_explained(server: MapServer) -> None:
    _, answer, _ = await asked(server, f"{WAITS}/explain")
    assert answer["outcome"]["status"] == "unplaceable"
    assert answer["outcome"]["shortfalls"][0]["best"][0]["fits"] == 1
    (short,) = answer["outcome"]["shortfalls"]
    assert (short["group"], short["level"], short["wanted"]) == ("default/waits", "rack", 3)
    assert answer["sentences"][0].startswith("default/waits ")


@pytest.mark.parametrize(
    ("said", "outcome", "displaced"),
    [
        pytest.param(None, None, [], id="nothing yet"),
        pytest.param("not JSON", None, [], id="something that somebody else wrote there"),
        pytest.param('{"status": "unplaceable"}', {"status": "unplaceable"}, [], id="why it waits"),
        pytest.param(
            '{"plan": {"displaces": [{"workload": "default/runs"}, {"workload": "default/gone"}]}}',
            {"plan": {"displaces": [{"workload": "default/runs"}, {"workload": "default/gone"}]}},
            ["runs"],
            id="who goes for it, as far as they are there",
        ),
    ],
)
async def test_what_the_scheduler_has_said_is_told_again(
    said: str | None, outcome: Any, displaced: list[str]
) -> None:
    group = pod_group("waits", minMember=3)
    group["metadata"]["annotations"] = {OUTCOME: said} if said is not None else {}
    async with served(cluster_state()) as running:
        (kind,) = (each for each in KAI.kinds if each.kind == "PodGroup")
        running.live.announced.heard(kind, group["apiVersion"], entry(group).key, group)
        _, told, _ = await asked(running, f"{WAITS}/outcome")
        _, found, _ = await asked(running, WAITS)
        _, rows, _ = await asked(running, f"{API}workloads")

    names = {row["id"]: row["name"] for row in rows["items"]}
    assert told == {"outcome": outcome}
    assert [names[each] for each in found["displaces"]] == displaced


@pytest.mark.parametrize(
    ("gpus", "status"),
    [pytest.param(8, "placed", id="fits"), pytest.param(16, "unplaceable", id="does not fit")],
)
async def test_what_if(server: MapServer, gpus: int, status: str) -> None:
    _, answer, _ = await asked(server, f"{API}plan", method="POST", data=GANG % gpus)
    assert [each["outcome"]["status"] for each in answer["outcomes"]] == [status]
    _, after, _ = await asked(server, f"{API}workloads?name=new")
    assert after["total"] == 0


async def test_what_if_tells_what_is_wrong_with_the_manifest(server: MapServer) -> None:
    wrong = GANG.replace("topology: tree", "topology: bush") % 1
    _, answer, _ = await asked(server, f"{API}plan", method="POST", data=wrong)
    assert [(each["path"], each["code"]) for each in answer["problems"]] == [
        ("spec.topologyConstraint.topology", "topology-not-there")
    ]


@pytest.mark.parametrize(
    ("path", "named", "status", "names"),
    [
        pytest.param("map?topology=tre", {}, 404, " tree?", id="an unknown topology"),
        pytest.param(
            "workloads?state=lost", {}, 400, "running, pending, incomplete, invalid", id="an unknown state"
        ),
        pytest.param("nodes?limit=-1", {}, 400, " limit ", id="a negative number"),
        pytest.param("workloads/PodGroup/default/no", {}, 404, "/api/v1/workloads ", id="no such workload"),
        pytest.param("plan", {"method": "POST"}, 400, "manifest", id="an empty body"),
        pytest.param(
            "plan",
            {"method": "POST", "data": BytesIO(b"x" * (1 << 21))},
            413,
            "1048576 bytes",
            id="a body that is too large",
        ),
        pytest.param("map", {"method": "DELETE"}, 405, " GET", id="a method that would change something"),
        pytest.param("map", {"headers": {"Host": "evil.example"}}, 421, "Host", id="a name that is not ours"),
        pytest.param("nothing", {}, 404, "/openapi.json", id="an address that is not there"),
    ],
)
async def test_refusals_are_problem_documents(
    server: MapServer, path: str, named: dict[str, Any], status: int, names: str
) -> None:
    got, answer, response = await asked(server, API + path, **named)
    assert got == answer["status"] == status
    assert names in answer["detail"]
    assert response.content_type == "application/problem+json"


@pytest.mark.parametrize("path", ["", "main.js", f"{API}map", f"{API}nothing"])
async def test_every_answer_forbids_what_comes_from_elsewhere(server: MapServer, path: str) -> None:
    _, _, response = await asked(server, path)
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="without a token"),
        pytest.param({"Authorization": "Bearer wrong"}, 401, id="with a wrong one"),
        pytest.param({"Authorization": "Bearer right"}, 200, id="with the right one"),
        pytest.param({"Cookie": "closeknit-token=right"}, 200, id="with the right one in a cookie"),
        pytest.param({"Cookie": "closeknit-token=r%69ght"}, 200, id="as the page writes it"),
    ],
)
async def test_a_token_is_asked_for(headers: dict[str, str], status: int) -> None:
    async with served(cluster_state(), Access("127.0.0.1", "right")) as server:
        got, _, _ = await asked(server, f"{API}map", headers=headers)
        assert got == status


async def test_who_asks_the_engine_too_often_has_to_wait(server: MapServer) -> None:
    got = {(await asked(server, f"{WAITS}/explain"))[0] for _ in range(20)}
    assert got == {200, 429}


async def test_a_reader_is_told_what_changes_and_when_to_read_all_again() -> None:
    state = cluster_state()
    async with served(state) as server:
        telling = asyncio.create_task(server.tell())
        _, shown, _ = await asked(server, f"{API}map")
        where = f"{API}events?generation={shown['generation']}&version={shown['version']}"
        async with aiohttp.ClientSession() as session, session.get(server.address + where) as stream:
            state.put(entry(pod("alone", gpus=2, on="n2", phase="Running", scheduler="default-scheduler")))
            server.changed.set()
            assert (await stream.content.readline()).strip() == b"event: update"
            update = json.loads((await stream.content.readline()).removeprefix(b"data: "))
            assert sorted((node, len(held)) for node, held in update["nodes"]) == [(2, 1), (3, 0)]
            await stream.content.readline()
            state.remove(entry(pod("alone")).key)
            state.put(entry(node("n9")))
            server.changed.set()
            assert (await stream.content.readline()).strip() == b"event: reset"
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)


async def raw(server: MapServer, sent: bytes) -> bytes:
    """All that the server answers to bytes, until it ends the connection."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(server.address.rsplit(":", 1)[1].strip("/"))
    )
    writer.write(sent)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"Authorization: Bearer \xff", id="a token that is no UTF-8"),
        pytest.param(b"Authorization: \xff\xfe", id="a header that is no UTF-8"),
        pytest.param(b"Cookie: closeknit-token=%FF", id="an escaped cookie that is no UTF-8"),
        pytest.param(b"Cookie: closeknit-token=\xff", id="a cookie that is no UTF-8"),
        pytest.param("Authorization: Bearer ²".encode(), id="no ASCII"),
    ],
)
async def test_a_credential_that_is_no_text_is_a_wrong_one(
    line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(cluster_state(), access=Access("127.0.0.1", token="right")) as server:
        answer = await raw(
            server,
            b"GET /api/v1/map HTTP/1.1\r\nHost: 127.0.0.1\r\n" + line + b"\r\nConnection: close\r\n\r\n",
        )
    top, _, _ = answer.partition(b"\r\n\r\n")

    assert top.startswith(b"HTTP/1.1 401 ")
    assert b"X-Content-Type-Options: nosniff" in top
    assert b"Content-Security-Policy: default-src 'none'" in top
    assert caplog.records == []


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET /api/v1/map\r\n\r\n", id="HTTP/0.9"),
        pytest.param(b"NONSENSE\r\n\r\n", id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", id="a length that is no number"),
    ],
)
async def test_what_is_no_request_is_refused_like_others(server: MapServer, sent: bytes) -> None:
    top, _, body = (await raw(server, sent)).partition(b"\r\n\r\n")

    assert b" 400 " in top.split(b"\r\n")[0]
    assert b"X-Content-Type-Options: nosniff" in top
    assert json.loads(body)["status"] == 400


async def test_a_mistake_of_the_map_is_a_problem_document_and_one_line(
    server: MapServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("a secret\nof two lines")

    monkeypatch.setattr(server.live, "refresh", fail)

    status, body, response = await asked(server, f"{API}nodes")

    assert (status, body["status"]) == (500, 500)
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "secret" not in json.dumps(body)
    (record,) = caplog.records
    assert (record.exc_info, record.getMessage().count("\n")) == (None, 0)


async def test_a_map_over_tls_is_never_asked_for_in_the_clear_again() -> None:
    shown = certificate("127.0.0.1")
    trusted = ssl.create_default_context(cadata=shown.authority.decode())
    async with (
        served(cluster_state(), tls=shown.server_context()) as server,
        aiohttp.ClientSession() as session,
    ):
        for path in ("", f"{API}map", "nowhere", f"{API}events"):
            async with session.get(server.address + path, ssl=trusted) as response:
                assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
                assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_map_without_tls_promises_none(server: MapServer) -> None:
    _, _, response = await asked(server, "")

    assert "Strict-Transport-Security" not in response.headers
