"""The embedded cluster over HTTP: the shape that clients expect, and limits that hold."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import CONFIG_MAPS, PODS

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
APPLY = "application/apply-patch+yaml"


class Client:
    """A client that trusts the server's certificate and shows its token."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        content = {"Content-Type": "application/json"} if raw is not None else {}
        headers = {**content, **{name.replace("_", "-"): value for name, value in headers.items()}}
        sent = None if raw is None else io.BytesIO(raw)
        async with self.session.request(
            method, self.server.address + path, data=sent, headers=headers
        ) as answer:
            return answer.status, await answer.json(content_type=None)


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return EmbeddedCluster()


async def clients(server: Server) -> AsyncIterator[Client]:
    trusted = ssl.create_default_context(cadata=server.authority.decode())
    headers = {"Authorization": f"Bearer {server.token}", "User-Agent": "test/1"}
    connector = aiohttp.TCPConnector(ssl=trusted, limit=0)
    async with server, aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield Client(server, session)


@pytest.fixture
async def client(cluster: EmbeddedCluster) -> AsyncIterator[Client]:
    async for made in clients(Server(cluster, patience=0.5, watches=8, watches_of_one_client=5)):
        yield made


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


async def test_an_object_is_made_read_changed_listed_and_deleted(client: Client) -> None:
    made = await client.ask("POST", MAPS, config_map("a", k="1"))
    read = await client.ask("GET", f"{MAPS}/a")
    changed = await client.ask(
        "PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, Content_Type="application/merge-patch+json"
    )
    listed = await client.ask("GET", MAPS)
    gone = await client.ask("DELETE", f"{MAPS}/a")
    missing = await client.ask("GET", f"{MAPS}/a")

    assert made[0] == 201
    assert read == (200, made[1])
    assert changed[1]["data"] == {"k": "2"}
    assert (listed[1]["kind"], listed[1]["apiVersion"]) == ("ConfigMapList", "v1")
    assert [item["metadata"]["name"] for item in listed[1]["items"]] == ["a"]
    assert (gone[0], gone[1]["status"]) == (200, "Success")
    assert (missing[0], missing[1]["kind"], missing[1]["reason"]) == (404, "Status", "NotFound")


async def test_the_writer_is_known_by_its_user_agent(client: Client) -> None:
    _, made = await client.ask("POST", MAPS, config_map("a"))

    assert [entry["manager"] for entry in made["metadata"].get("managedFields", [])] in ([], ["test"])
    _, changed = await client.ask(
        "PATCH", f"{MAPS}/a", {"data": {"k": "2"}}, Content_Type="application/merge-patch+json"
    )
    assert [entry["manager"] for entry in changed["metadata"]["managedFields"]] == ["test"]


async def test_an_apply_makes_and_then_changes(client: Client) -> None:
    path = f"{MAPS}/a?fieldManager=me"
    made = await client.ask(
        "PATCH", path, b"apiVersion: v1\nkind: ConfigMap\ndata: {k: '1'}\n", Content_Type=APPLY
    )
    again = await client.ask(
        "PATCH", path, b"apiVersion: v1\nkind: ConfigMap\ndata: {k: '2'}\n", Content_Type=APPLY
    )

    assert (made[0], again[0], again[1]["data"]) == (201, 200, {"k": "2"})


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "want"),
    [
        pytest.param("POST", MAPS, b"garbage", {}, (400, "BadRequest"), id="no JSON"),
        pytest.param("POST", MAPS, b"[1]", {}, (400, "BadRequest"), id="a list in place of an object"),
        pytest.param("POST", MAPS, b"\xff\xfe", {}, (400, "BadRequest"), id="no UTF-8"),
        pytest.param(
            "POST", MAPS, b'{"metadata": 3}', {}, (400, "BadRequest"), id="metadata that is a number"
        ),
        pytest.param(
            "POST", MAPS, b'{"metadata": {"name": 3}}', {}, (400, "BadRequest"), id="a name that is a number"
        ),
        pytest.param("POST", MAPS, b"[" * 100_000, {}, (400, "BadRequest"), id="a hundred thousand brackets"),
        pytest.param(
            "POST", MAPS, b"x", {"Content_Type": "text/html"}, (415, "UnsupportedMediaType"), id="HTML"
        ),
        pytest.param(
            "POST",
            MAPS,
            b"k8s\x00\xff\xff",
            {"Content_Type": "application/vnd.kubernetes.protobuf"},
            (400, "BadRequest"),
            id="damaged protobuf",
        ),
        pytest.param(
            "GET", "/api/v1/gadgets", None, {}, (404, "NotFound"), id="a resource that is not there"
        ),
        pytest.param("GET", "/nowhere", None, {}, (404, "NotFound"), id="a path that is not there"),
        pytest.param(
            "GET", f"{MAPS}?labelSelector=a in", None, {}, (400, "BadRequest"), id="half a selector"
        ),
        pytest.param(
            "GET", f"{MAPS}?limit=many", None, {}, (400, "BadRequest"), id="a limit that is no number"
        ),
        pytest.param(
            "GET",
            f"{MAPS}?watch=1&resourceVersion=x",
            None,
            {},
            (400, "BadRequest"),
            id="a version that is no number",
        ),
        pytest.param("GET", f"{MAPS}?continue=x", None, {}, (400, "BadRequest"), id="a token of nobody"),
        pytest.param(
            "GET", MAPS, None, {"Accept": "text/html"}, (406, "NotAcceptable"), id="an answer in HTML"
        ),
        pytest.param("POST", f"{MAPS}/a", b"{}", {}, (405, "MethodNotAllowed"), id="a POST to an object"),
        pytest.param(
            "DELETE",
            "/api/v1/configmaps",
            None,
            {},
            (404, "NotFound"),
            id="deleting in all namespaces at once",
        ),
        pytest.param(
            "POST",
            f"{MAPS}?dryRun=Some",
            b'{"metadata":{"name":"a"}}',
            {},
            (400, "BadRequest"),
            id="a dry run of some kind",
        ),
        pytest.param(
            "POST",
            MAPS,
            config_map("a") | {"metadata": {"name": "a", "namespace": "b"}},
            {},
            (400, "BadRequest"),
            id="another namespace than the path's",
        ),
        pytest.param(
            "PATCH",
            f"{MAPS}/a",
            b"[]",
            {"Content_Type": "application/merge-patch+json"},
            (400, "BadRequest"),
            id="a merge patch that is a list",
        ),
        pytest.param(
            "PATCH",
            f"{MAPS}/a",
            b"{}",
            {"Content_Type": "application/json-patch+json"},
            (400, "BadRequest"),
            id="a JSON patch that is an object",
        ),
        pytest.param(
            "PATCH",
            f"{MAPS}/a?fieldManager=m",
            b"a: &x [1]\nb: *x\n",
            {"Content_Type": APPLY},
            (400, "BadRequest"),
            id="YAML with aliases",
        ),
        pytest.param(
            "PATCH",
            f"{MAPS}/a",
            b"{}",
            {"Content_Type": "text/plain"},
            (415, "UnsupportedMediaType"),
            id="a patch of no kind",
        ),
        pytest.param(
            "POST",
            MAPS,
            b'{"x": "' + b"y" * 4_000_000 + b'"}',
            {},
            (413, "RequestEntityTooLarge"),
            id="four megabytes",
        ),
    ],
)
async def test_garbage_gets_a_status(  # noqa: PLR0917
    client: Client, method: str, path: str, body: Any, headers: dict[str, str], want: tuple[int, str]
) -> None:
    status, answer = await client.ask(method, path, body, **headers)

    assert (status, answer["kind"], answer["reason"], answer["code"]) == (want[0], "Status", want[1], want[0])
    assert (await client.ask("GET", "/version"))[0] == 200


async def test_a_body_that_does_not_say_its_length_is_limited_too(client: Client) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536

    headers = {"Content-Type": "application/json"}
    try:
        async with client.session.post(
            client.server.address + MAPS, data=endless(), headers=headers
        ) as answer:
            assert answer.status == 413
    except aiohttp.ClientConnectionError:
        # The server may close the connection before the client has read its answer.
        pass
    assert (await client.ask("GET", "/version"))[0] == 200


async def test_nothing_is_answered_without_the_token(client: Client) -> None:
    for credential in ("", "Bearer wrong", "Basic YTpi", f"Bearer {client.server.token}x"):
        status, answer = await client.ask("GET", MAPS, Authorization=credential)
        assert (status, answer["reason"]) == (401, "Unauthorized")


async def test_a_stranger_who_checks_certificates_is_not_fooled(client: Client) -> None:
    async with aiohttp.ClientSession() as stranger:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await stranger.get(client.server.address + "/version")


async def test_unknown_fields_are_warned_about_or_refused(client: Client) -> None:
    body = {**config_map("a"), "nonsense": 1}
    async with client.session.post(client.server.address + MAPS, json=body) as answer:
        assert answer.headers["Warning"] == '299 - "unknown field \\"nonsense\\""'
    status, refused = await client.ask(
        "POST", f"{MAPS}?fieldValidation=Strict", {**body, "metadata": {"name": "b"}}
    )

    assert status == 400
    assert 'strict decoding error: unknown field "nonsense"' in refused["message"]


async def test_pages(client: Client, cluster: EmbeddedCluster) -> None:
    for number in range(5):
        await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
    _, first = await client.ask("GET", f"{MAPS}?limit=2")
    _, second = await client.ask("GET", f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    _, third = await client.ask("GET", f"{MAPS}?limit=2&continue={second['metadata']['continue']}")

    assert first["metadata"]["remainingItemCount"] == 3
    assert [len(page["items"]) for page in (first, second, third)] == [2, 2, 1]
    assert "continue" not in third["metadata"]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1


async def test_a_table_has_the_columns_of_kubectl(client: Client, cluster: EmbeddedCluster) -> None:
    await cluster.create(
        PODS,
        {
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    _, table = await client.ask("GET", "/api/v1/namespaces/default/pods", Accept=TABLE)

    assert table["kind"] == "Table"
    assert [column["name"] for column in table["columnDefinitions"] if not column["priority"]] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert table["rows"][0]["cells"][:4] == ["p", "0/1", "Pending", "0"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_discovery_lists_kinds_and_their_subresources(client: Client) -> None:
    _, groups = await client.ask("GET", "/apis")
    _, core = await client.ask("GET", "/api/v1")
    _, whole = await client.ask(
        "GET", "/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    _, openapi = await client.ask("GET", "/openapi/v3/api/v1")

    assert {"batch", "coordination.k8s.io", "apiextensions.k8s.io"} <= {
        group["name"] for group in groups["groups"]
    }
    assert {"pods", "pods/binding", "pods/eviction", "pods/status", "nodes"} <= {
        one["name"] for one in core["resources"]
    }
    assert whole["kind"] == "APIGroupDiscoveryList"
    patch = openapi["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}


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


def test_a_kubeconfig_is_for_its_owner_alone(tmp_path: Path) -> None:
    server = Server(EmbeddedCluster())
    file = tmp_path / "config"
    file.write_text("old")
    file.chmod(0o644)
    server.write_kubeconfig(file)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = json.loads(file.read_text())
    assert written["clusters"][0]["cluster"]["server"] == server.address
    assert written["users"][0]["user"] == {"token": server.token}
    assert [path.name for path in tmp_path.iterdir()] == ["config"]


async def test_binding_and_eviction_over_http(client: Client, cluster: EmbeddedCluster) -> None:
    pods = "/api/v1/namespaces/default/pods"
    await cluster.create(
        PODS,
        {
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    bound = await client.ask("POST", f"{pods}/p/binding", binding)
    again = await client.ask("POST", f"{pods}/p/binding", binding)
    evicted = await client.ask("POST", f"{pods}/p/eviction", {"deleteOptions": {"gracePeriodSeconds": 0}})

    assert (bound[0], bound[1]["status"]) == (201, "Success")
    assert (again[0], again[1]["reason"]) == (409, "Conflict")
    assert evicted[0] == 201
    assert (await client.ask("GET", f"{pods}/p"))[0] == 404
