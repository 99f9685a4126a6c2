"""What an attacker sends: every answer is a Status with the usual headers, and costs no more than was sent."""

from __future__ import annotations

import gzip
import json
import logging
from typing import Any
from urllib.parse import quote

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.resources import CONFIG_MAPS
from tests.unit.kube.embedded.http.client import APPLY, MAPS, Client, config_map, raw_answer

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/x.io/v1/namespaces/default/widgets"


def definition(spec: dict[str, Any], **version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **version,
                }
            ],
        },
    }


def widget(spec: Any, name: str = "a") -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


# ----------------------------------------------------------------------------------------------- nesting


@pytest.mark.parametrize(
    ("levels", "want"),
    [pytest.param(98, 201, id="as deep as files may nest"), pytest.param(99, 400, id="one level deeper")],
)
@pytest.mark.parametrize("media", ["application/json", "application/yaml"])
async def test_a_body_nests_as_deep_as_a_file_may(client: Client, media: str, levels: int, want: int) -> None:
    # The object itself, and `other` as a list in it.
    deep = "[" * (levels + 1) + "]" * (levels + 1)
    body = f'{{"metadata": {{"name": "a"}}, "other": {deep}}}'
    if media == "application/yaml":
        body = f"metadata: {{name: a}}\nother: {deep}\n"

    status, _ = await client.ask("POST", MAPS, body.encode(), Content_Type=media)

    assert status == want


@pytest.mark.parametrize(
    ("path", "body", "media"),
    [
        pytest.param(MAPS, b"[" * 500_000, "application/json", id="JSON lists"),
        pytest.param(MAPS, b'{"a":' * 500_000, "application/json", id="JSON objects"),
        pytest.param(MAPS, b"[" * 500_000, "application/yaml", id="YAML lists"),
        pytest.param(MAPS, b"- " * 500_000, "application/yaml", id="YAML lists of lines"),
        pytest.param(
            MAPS,
            b"".join(b"%%TAG !a%d! x\n" % number for number in range(50_000)) + b"---\na: 1\n",
            "application/yaml",
            id="YAML directives",
        ),
        pytest.param(
            MAPS, b'{"a":"' + b'\\"' * 1_000_000, "application/json", id="a string of quotes without an end"
        ),
        pytest.param(MAPS, b"---\na: 1\n" * 2, "application/yaml", id="two documents"),
    ],
)
async def test_a_body_that_cannot_be_an_object_gets_a_status(
    client: Client, path: str, body: bytes, media: str
) -> None:
    status, answer = await client.ask("POST", path, body, Content_Type=media)

    assert (status, answer["reason"]) == (400, "BadRequest")


async def test_a_deep_annotation_of_kubectl_is_no_fault(client: Client) -> None:
    last = {"kubectl.kubernetes.io/last-applied-configuration": '{"a":' * 10_000}
    await client.ask("POST", MAPS, {"metadata": {"name": "a", "annotations": last}})
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}

    status, _ = await client.ask("PATCH", f"{MAPS}/a?fieldManager=kubectl", wanted, Content_Type=APPLY)

    assert status == 200


# ---------------------------------------------------------------------------------------------- patches


def doubling(copies: int) -> list[dict[str, Any]]:
    """Each copy puts the whole of what is there into it once more."""
    first = {"op": "add", "path": "/data", "value": {"k": "x" * 32}}
    return [
        first,
        *({"op": "copy", "from": "/data", "path": f"/data/c{number}"} for number in range(copies)),
    ]


@pytest.mark.parametrize(
    ("operations", "want"),
    [
        pytest.param(doubling(20), 422, id="copies of copies"),
        pytest.param([{"op": "test", "path": "", "value": {}}] * 10_001, 413, id="10,001 operations"),
        pytest.param(
            [{"op": "add", "path": "/data" + "/a" * level, "value": {}} for level in range(800)],
            422,
            id="800 levels, one by one",
        ),
        pytest.param(
            [
                {"op": "add", "path": "/finalizers", "value": []},
                {"op": "add", "path": "/finalizers/²", "value": 1},
            ],
            422,
            id="an index that is no number",
        ),
        pytest.param(
            [
                {"op": "add", "path": "/x", "value": [1] * 100_000},
                *[{"op": "add", "path": "/x/0", "value": 1}] * 5_000,
            ],
            422,
            id="500 million items shifted",
        ),
    ],
)
async def test_a_json_patch_is_bounded(client: Client, operations: Any, want: int) -> None:
    await client.ask("POST", MAPS, config_map("a"))

    status, answer = await client.ask("PATCH", f"{MAPS}/a", operations, Content_Type=JSON_PATCH)

    assert (status, answer["kind"]) == (want, "Status")
    assert "data" not in (await client.ask("GET", f"{MAPS}/a"))[1] or want == 200


async def test_tolerations_may_be_added_and_not_changed(client: Client) -> None:
    first = {"key": "a", "operator": "Exists"}
    pod = {"containers": [{"name": "c", "image": "i"}], "tolerations": [first]}
    _, made = await client.ask("POST", PODS, {"metadata": {"name": "p"}, "spec": pod})
    present = made["spec"]["tolerations"]

    async def patched(tolerations: list[Any]) -> int:
        body = {"spec": {"tolerations": tolerations}}
        return (await client.ask("PATCH", f"{PODS}/p", body, Content_Type=MERGE_PATCH))[0]

    assert await patched([*present, *({"key": f"k{n}", "operator": "Exists"} for n in range(5_000))]) == 200
    assert await patched(present[1:]) == 422


async def test_patches_do_not_add_to_an_object_for_ever(client: Client) -> None:
    await client.ask("POST", MAPS, config_map("a"))
    statuses = [
        (
            await client.ask(
                "PATCH", f"{MAPS}/a", {"data": {f"k{number}": "x" * 2_500_000}}, Content_Type=MERGE_PATCH
            )
        )[0]
        for number in range(3)
    ]
    smaller, _ = await client.ask("PATCH", f"{MAPS}/a", {"data": {"k0": None}}, Content_Type=MERGE_PATCH)

    assert [*statuses, smaller] == [200, 200, 413, 200]


# ------------------------------------------------------------------------------------------- definitions


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"type": "string", "pattern": "(?=a)b"}, id="a pattern that looks ahead"),
        pytest.param({"type": "string", "pattern": r"(a)\1"}, id="a pattern with a backreference"),
        pytest.param({"type": "string", "pattern": "("}, id="half a pattern"),
        pytest.param(
            {"type": "array", "items": {"type": "string", "not": {"pattern": "("}}},
            id="half a pattern inside",
        ),
        pytest.param({"type": "²"}, id="a type that is none"),
        pytest.param({"type": {"a": "b"}}, id="a type that is an object"),
        pytest.param({"type": "integer", "minimum": "x"}, id="a minimum that is a string"),
        pytest.param({"type": "integer", "multipleOf": 0}, id="a multiple of nothing"),
        pytest.param({"type": "object", "properties": "x"}, id="properties that are a string"),
        pytest.param({"type": "object", "required": [{}]}, id="required fields that are no names"),
        pytest.param({"type": "integer", "anyOf": [5]}, id="an alternative that is a number"),
        pytest.param({"type": "integer", "default": "x"}, id="a default of another type"),
        pytest.param({"type": "string", "pattern": "a" * 20_000}, id="a pattern of 20,000 characters"),
    ],
)
async def test_a_definition_with_a_schema_that_cannot_check_is_refused(
    client: Client, spec: dict[str, Any]
) -> None:
    status, answer = await client.ask("POST", DEFINITIONS, definition(spec))

    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["details"]["causes"][0]["field"].startswith("spec.versions[0].schema.openAPIV3Schema")


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(
            {"additionalPrinterColumns": [{"type": "string", "jsonPath": ".a"}]}, id="a column without a name"
        ),
        pytest.param(
            {"subresources": {"scale": {"specReplicasPath": "", "statusReplicasPath": ".status.a"}}},
            id="a scale without a path",
        ),
        pytest.param({"selectableFields": [{}]}, id="a field without a path"),
    ],
)
async def test_a_definition_whose_objects_could_not_be_shown_is_refused(
    client: Client, version: dict[str, Any]
) -> None:
    status, _ = await client.ask("POST", DEFINITIONS, definition({"type": "object"}, **version))

    assert status == 422
    assert (await client.ask("GET", WIDGETS))[0] == 404


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        pytest.param(
            {"type": "string", "pattern": "[ab]*a[ab]{1000}c"}, "ab" * 100_000, id="a thousand states at once"
        ),
        pytest.param(
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"a": {"type": "string", "default": "x" * 100_000}},
                },
            },
            [{}] * 2_000,
            id="a large default in each item",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "integer", "anyOf": [{"minimum": 5}] * 1_000}},
            [1] * 1_000,
            id="a thousand alternatives for each item",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "string", "enum": [f"e{index}" for index in range(10_000)]}},
            ["x"] * 1_000,
            id="ten thousand values for each item",
        ),
    ],
)
async def test_what_a_schema_asks_for_is_counted(client: Client, spec: dict[str, Any], value: Any) -> None:
    assert (await client.ask("POST", DEFINITIONS, definition(spec)))[0] == 201

    status, answer = await client.ask("POST", WIDGETS, widget(value))

    assert (status, answer["reason"]) == (400, "BadRequest")


async def test_an_object_with_a_million_mistakes_names_the_first_thousand(client: Client) -> None:
    await client.ask("POST", DEFINITIONS, definition({"type": "array", "items": {"type": "string"}}))

    status, answer = await client.ask("POST", WIDGETS, widget([1] * 5_000))

    assert (status, len(answer["details"]["causes"])) == (422, 1_000)


# --------------------------------------------------------------------------------- numbers and parameters


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", f"{MAPS}?limit=²", id="a limit"),
        pytest.param("GET", f"{MAPS}?limit=٣", id="a limit in Arabic digits"),
        pytest.param("GET", f"{MAPS}?limit=-1", id="a limit below zero"),
        pytest.param("GET", f"{MAPS}?resourceVersion=²", id="a version"),
        pytest.param("GET", f"{MAPS}?watch=1&resourceVersion=²", id="the version of a watch"),
        pytest.param("GET", f"{MAPS}?watch=1&timeoutSeconds=²", id="the seconds of a watch"),
        pytest.param("GET", f"{MAPS}?watch=1&timeoutSeconds={'9' * 4_000}", id="seconds of 4,000 digits"),
        pytest.param("GET", f"{MAPS}?labelSelector={quote('a>²')}", id="a bound of a selector"),
        pytest.param("GET", f"{MAPS}?labelSelector={quote('a>--5')}", id="a bound with two signs"),
        pytest.param("GET", f"{MAPS}?continue=WzEsLTVd", id="a token with a place below zero"),
        pytest.param("GET", f"{MAPS}?continue=%ff", id="a token that is no UTF-8"),
        pytest.param("GET", f"{MAPS}?fieldSelector=a{'%20' * 2_000}", id="a field and two thousand spaces"),
        pytest.param("DELETE", f"{MAPS}/a?gracePeriodSeconds=²", id="a grace period"),
    ],
)
async def test_a_parameter_that_cannot_be_read_is_refused(client: Client, method: str, path: str) -> None:
    status, answer = await client.ask(method, path)

    assert (status, answer["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param(
            "POST",
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {
                "metadata": {"name": "c"},
                "spec": {
                    "devices": {"requests": [{"name": "g", "firstAvailable": [{"deviceClassName": "x"}]}]}
                },
            },
            id="an alternative without a name",
        ),
        pytest.param(
            "POST",
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"firstAvailable": [{}]}]}}},
            id="a request without a name",
        ),
        pytest.param(
            "POST",
            f"{PODS}/p/binding",
            {"metadata": {"annotations": {"a": {}}}, "target": {"name": "n"}},
            id="an annotation of a binding that is an object",
        ),
        pytest.param(
            "POST",
            f"{PODS}/p/binding",
            {"metadata": "x", "target": {"name": "n"}},
            id="a binding without metadata",
        ),
        pytest.param(
            "PUT", "/api/v1/namespaces/default/finalize", {"spec": "x"}, id="a namespace to finalize"
        ),
        pytest.param(
            "DELETE", f"{MAPS}/a", {"propagationPolicy": {"a": "b"}}, id="a policy that is an object"
        ),
        pytest.param(
            "PUT",
            f"{PODS}/gated",
            {
                "metadata": {"name": "gated"},
                "spec": {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{}]},
            },
            id="a gate without a name",
        ),
    ],
)
async def test_a_malformed_object_is_refused(client: Client, method: str, path: str, body: Any) -> None:
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    gates = {"schedulingGates": [{"name": "a.b/c"}]}
    await client.ask("POST", PODS, {"metadata": {"name": "p"}, **pod})
    await client.ask("POST", PODS, {"metadata": {"name": "gated"}, "spec": {**pod["spec"], **gates}})

    status, answer = await client.ask(method, path, body)

    assert answer["kind"] == "Status"
    assert 400 <= status < 500


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"f:data": 5}, id="a set that is a number"),
        pytest.param({"f:data": {"k:{": {}}}, id="a key that is no JSON"),
        pytest.param({"x": {}}, id="an element of no kind"),
    ],
)
async def test_owners_that_a_client_made_up_are_ignored(client: Client, fields: Any) -> None:
    _, made = await client.ask("POST", MAPS, config_map("a", k="1"))
    entry = {**made["metadata"]["managedFields"][0], "manager": "other", "fieldsV1": fields}
    forged = {**made, "data": {"k": "2"}, "metadata": {**made["metadata"], "managedFields": [entry]}}
    written, answer = await client.ask("PUT", f"{MAPS}/a", forged)
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "3"}}
    applied, _ = await client.ask("PATCH", f"{MAPS}/a?fieldManager=m&force=1", wanted, Content_Type=APPLY)

    assert (written, applied) == (200, 200)
    assert "other" not in {owner["manager"] for owner in answer["metadata"]["managedFields"]}


async def test_a_time_that_no_calendar_has_is_refused_in_protobuf(client: Client) -> None:
    # A Pod with a creationTimestamp of 2**62 seconds.
    moment = bytes.fromhex("08808080808080808040")
    metadata = bytes([0x42, len(moment)]) + moment
    body = (
        b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12"
        + bytes([len(metadata) + 2, 0x0A, len(metadata)])
        + metadata
    )

    status, answer = await client.ask("POST", PODS, body, Content_Type="application/vnd.kubernetes.protobuf")

    assert (status, answer["reason"]) == (400, "BadRequest")


# ---------------------------------------------------------------------------------------- repeated fields

TWICE = b'{"metadata":{"name":"a","labels":{"l":"1","l":"2"}},"data":{"k":"1","k":"2"}}'
TWICE_IN_YAML = b"metadata:\n  name: a\n  labels: {l: '1', l: '2'}\ndata:\n  k: '1'\n  k: '2'\n"


@pytest.mark.parametrize(
    ("body", "media"),
    [
        pytest.param(TWICE, "application/json", id="JSON"),
        pytest.param(TWICE_IN_YAML, "application/yaml", id="YAML"),
        pytest.param(
            TWICE.replace(b'"k":"2"', b'"k":"\\u003a"'), "application/json", id="JSON with an escaped colon"
        ),
    ],
)
async def test_repeated_fields_are_warned_about_refused_or_ignored(
    client: Client, body: bytes, media: str
) -> None:
    async def warnings(validation: str) -> tuple[int, list[str]]:
        async with client.session.post(
            f"{client.server.address}{MAPS}?dryRun=All&fieldValidation={validation}",
            data=body,
            headers={"Content-Type": media},
        ) as answer:
            return answer.status, answer.headers.getall("Warning", [])

    want = ['299 - "duplicate field \\"metadata.labels.l\\""', '299 - "duplicate field \\"data.k\\""']
    assert await warnings("Warn") == (201, want)
    assert await warnings("Ignore") == (201, [])
    assert await warnings("Strict") == (400, [])


@pytest.mark.parametrize(
    ("body", "media"),
    [
        pytest.param(b'{"data":{"k":"1","k":"2"}}', MERGE_PATCH, id="a merge patch"),
        pytest.param(b'{"data":{"k":"1","k":"2"}}', STRATEGIC_PATCH, id="a strategic merge patch"),
        pytest.param(b'[{"op":"add","op":"add","path":"/data","value":{}}]', JSON_PATCH, id="a JSON patch"),
        pytest.param(
            b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: '1', k: '2'}\n",
            APPLY,
            id="an applied configuration",
        ),
    ],
)
async def test_repeated_fields_of_patches_are_refused_if_so_asked(
    client: Client, body: bytes, media: str
) -> None:
    await client.ask("POST", MAPS, config_map("a"))
    path = f"{MAPS}/a?fieldManager=m&force={'1' if media == APPLY else ''}&fieldValidation="

    strict, _ = await client.ask("PATCH", f"{path}Strict", body, Content_Type=media)
    ignored, _ = await client.ask("PATCH", f"{path}Ignore", body, Content_Type=media)

    assert (strict, ignored) == (400, 200)


async def test_warnings_fit_into_the_headers_that_clients_take(client: Client) -> None:
    body = {**config_map("a"), **{f"unknown-{number}-{'x' * 300}": 1 for number in range(2_000)}}

    async with client.session.post(client.server.address + MAPS, json=body) as answer:
        warnings = answer.headers.getall("Warning")

    assert answer.status == 201
    assert sum(map(len, warnings)) < 6_000


# -------------------------------------------------------------------------------------------------- HTTP


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("GET /api/v1/nodes\r\n\r\n", id="HTTP/0.9"),
        pytest.param("NONSENSE\r\n\r\n", id="no HTTP"),
        pytest.param(
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", id="a length that is no number"
        ),
        pytest.param(f"GET /{'x' * 20_000} HTTP/1.1\r\nHost: x\r\n\r\n", id="a line of 20,000 characters"),
        pytest.param(
            "GET / HTTP/1.1\r\nHost: x\r\n" + "".join(f"h{n}: x\r\n" for n in range(1_000)) + "\r\n",
            id="a thousand headers",
        ),
        pytest.param(
            "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            id="two lengths of one body",
        ),
    ],
)
async def test_what_is_no_request_gets_a_status_and_the_connection_ends(client: Client, head: str) -> None:
    raw = await raw_answer(client.server, head.encode())
    top, _, body = raw.partition(b"\r\n\r\n")

    assert b" 400 " in top.split(b"\r\n")[0]
    assert b"X-Content-Type-Options: nosniff" in top
    assert json.loads(body)["kind"] == "Status"
    assert b"Traceback" not in raw


async def test_an_upgrade_is_declined_and_what_follows_it_is_a_request(client: Client) -> None:
    token = f"Authorization: Bearer {client.server.token}\r\n"
    upgrade = f"GET /version HTTP/1.1\r\nHost: x\r\n{token}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    last = f"GET /version HTTP/1.1\r\nHost: x\r\n{token}Connection: close\r\n\r\n"

    raw = await raw_answer(client.server, (upgrade + last).encode())

    assert raw.count(b"HTTP/1.1 200 OK") == 2


async def test_compressed_bodies_are_not_taken(client: Client) -> None:
    bomb = gzip.compress(b" " * 100_000_000)

    status, answer = await client.ask("POST", MAPS, bomb, Content_Encoding="gzip")

    assert (status, answer["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("credential", ["Bearer \udcff", "\udcff", "Bearer ²", "Bearer"])
async def test_a_credential_that_is_no_text_is_refused(client: Client, credential: str) -> None:
    line = b"Authorization: " + credential.encode("utf-8", "surrogateescape")

    raw = await raw_answer(
        client.server, b"GET /version HTTP/1.1\r\nHost: x\r\n" + line + b"\r\nConnection: close\r\n\r\n"
    )

    assert raw.startswith(b"HTTP/1.1 401 ")


async def test_a_mistake_of_the_server_is_a_status_and_one_line(
    client: Client,
    cluster: EmbeddedCluster,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret\nof two lines")

    monkeypatch.setattr(cluster.records, "find", fail)
    with caplog.at_level(logging.ERROR):
        async with client.session.get(f"{client.server.address}{MAPS}/a") as answer:
            body = await answer.text()
    monkeypatch.undo()

    assert (answer.status, json.loads(body)["reason"]) == (500, "InternalError")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "secret" not in body
    (record,) = caplog.records
    assert (record.exc_info, record.getMessage().count("\n")) == (None, 0)
    assert (await client.ask("GET", MAPS))[0] == 200


async def test_a_mistake_within_a_watch_ends_it_and_nothing_else(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise RuntimeError("no bytes")

    monkeypatch.setattr("closeknit.kube.embedded.http.watching.answers.object_bytes", fail)
    head = f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.server.token}\r\n\r\n"
    await client.server.cluster.create(CONFIG_MAPS, config_map("a"))
    raw = await raw_answer(client.server, head.encode())
    monkeypatch.undo()

    assert raw.count(b"HTTP/1.1") == 1
    assert not raw.endswith(b"0\r\n\r\n")
    assert len(caplog.records) == 1
    assert (await client.ask("GET", MAPS))[0] == 200


async def test_every_answer_has_the_usual_headers(client: Client) -> None:
    for path in ("/healthz", "/version", "/openapi/v2", MAPS, "/nowhere", f"{MAPS}?watch=1&timeoutSeconds=1"):
        async with client.session.get(client.server.address + path) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff", path
            assert answer.headers["Cache-Control"] == "no-cache, private", path
