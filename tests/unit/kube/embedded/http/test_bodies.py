"""What a server does with garbage, with what is too large and with strangers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.unit.kube.embedded.http.client import APPLY, MAPS, Client, config_map


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
