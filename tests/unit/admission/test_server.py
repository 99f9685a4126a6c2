from __future__ import annotations

import asyncio
import base64
import io
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import pytest

from closeknit.admission.certificates import renewed
from closeknit.admission.embedded import admit
from closeknit.admission.reviewer import Reviewer
from closeknit.admission.server import LARGEST, Webhook
from closeknit.kube.certificates import Certificate
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.errors import InternalServerError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.resources import JOBS
from tests.scenario.admitted import DEFINITIONS, RESOURCES, embedded

Json = dict[str, Any]
NOW = datetime.now(UTC)


def made() -> Certificate:
    return renewed(None, ("127.0.0.1",), NOW).current


@asynccontextmanager
async def listening(api: KubernetesApi, *, synced: bool = True) -> AsyncIterator[tuple[Webhook, Certificate]]:
    reviewer = Reviewer(api)
    reviewer.synced = synced
    certificate = made()
    webhook = Webhook(reviewer, certificate, host="127.0.0.1", port=0)
    await webhook.start()
    try:
        yield webhook, certificate
    finally:
        await webhook.stop()


async def ask(webhook: Webhook, trusted: bytes, path: str, body: bytes) -> tuple[int, bytes]:
    context = ssl.create_default_context(cadata=trusted.decode())
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"https://127.0.0.1:{webhook.port}{path}", data=io.BytesIO(body), ssl=context
        ) as response,
    ):
        return response.status, await response.read()


def review(obj: Json, **fields: Any) -> bytes:
    group, _, version = obj["apiVersion"].rpartition("/")
    return msgspec.json.encode(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "u-1",
                "kind": {"group": group, "version": version, "kind": obj["kind"]},
                "operation": "CREATE",
                "namespace": "default",
                "name": obj["metadata"]["name"],
                "userInfo": {"username": "somebody", "groups": []},
                "object": obj,
                "oldObject": None,
                **fields,
            },
        }
    )


JOB: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
    "spec": {"template": {"spec": {"containers": []}}},
}
GROUP: Json = {
    "apiVersion": "scheduling.run.ai/v2alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"minMember": 1, "topologyConstraint": {"topology": "none", "requiredTopologyLevel": "x"}},
}


async def test_defaults_come_as_a_patch() -> None:
    async with listening(EmbeddedCluster()) as (webhook, certificate):
        status, body = await ask(webhook, certificate.authority, "/mutate/kueue", review(JOB))

    response = msgspec.json.decode(body)["response"]
    assert status == 200
    assert (response["uid"], response["allowed"], response["patchType"]) == ("u-1", True, "JSONPatch")
    patch = msgspec.json.decode(base64.b64decode(response["patch"]))
    assert patch == [{"op": "add", "path": "/spec/suspend", "value": True}]


async def test_a_refusal_is_a_status_with_causes() -> None:
    async with listening(EmbeddedCluster()) as (webhook, certificate):
        _, body = await ask(webhook, certificate.authority, "/validate/kai", review(GROUP))

    response = msgspec.json.decode(body)["response"]
    assert (response["allowed"], response["status"]["code"]) == (False, 422)
    assert [cause["field"] for cause in response["status"]["details"]["causes"]] == [
        "spec.topologyConstraint.topology"
    ]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/validate/kai", b"{", 400, id="no JSON"),
        pytest.param("/validate/kai", b"[" * 100_000, 400, id="JSON that goes too deep"),
        pytest.param("/validate/kai", b'{"request": {}}', 400, id="no AdmissionReview"),
        pytest.param("/validate/kai", b" " * (LARGEST + 1), 413, id="more than is read"),
        pytest.param("/elsewhere", b"", 404, id="another path"),
    ],
)
async def test_what_cannot_be_answered(path: str, body: bytes, status: int) -> None:
    async with listening(EmbeddedCluster()) as (webhook, certificate):
        found, _ = await ask(webhook, certificate.authority, path, body)

    assert found == status


async def test_before_the_cluster_was_read_nothing_is_reviewed_but_defaults_are_written() -> None:
    async with listening(EmbeddedCluster(), synced=False) as (webhook, certificate):
        reviewed, _ = await ask(webhook, certificate.authority, "/validate/kai", review(GROUP))
        defaulted, _ = await ask(webhook, certificate.authority, "/mutate/kueue", review(JOB))

    # The API server takes an error as no answer, and goes by the policy of the entry.
    assert (reviewed, defaulted) == (503, 200)


async def test_another_certificate_is_shown_without_a_pause() -> None:
    async with listening(EmbeddedCluster()) as (webhook, first):
        second = made()
        trusted = first.authority + second.authority
        asking = [asyncio.create_task(ask(webhook, trusted, "/mutate/kueue", review(JOB))) for _ in range(5)]
        webhook.show(second)
        after = await ask(webhook, second.authority, "/mutate/kueue", review(JOB))
        answered = [await each for each in asking]

    assert [status for status, _ in (*answered, after)] == [200] * 6


async def test_the_embedded_cluster_refuses_only_what_asks_for_a_topology_before_it_was_read() -> None:
    cluster = EmbeddedCluster(DEFINITIONS)
    admit(cluster, Reviewer(cluster))
    groups = RESOURCES["PodGroup", "v2alpha2", "scheduling.run.ai"]

    with pytest.raises(
        InternalServerError, match=r'failed calling webhook "constrained\.kai\.closeknit\.dev"'
    ):
        await cluster.create(groups, GROUP)
    await cluster.create(groups, {**GROUP, "spec": {"minMember": 1}})


async def test_a_family_that_is_external_is_not_reviewed() -> None:
    async with embedded("grove") as cluster:
        await cluster.create(RESOURCES["PodGroup", "v2alpha2", "scheduling.run.ai"], GROUP)
        job = await cluster.create(
            JOBS,
            {
                **JOB,
                "spec": {
                    "template": {
                        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}
                    }
                },
            },
        )

    assert not job["spec"].get("suspend")


async def test_what_was_made_a_moment_ago_counts_though_nobody_has_heard_of_it() -> None:
    """The reviewer follows nothing here; it looks before it refuses."""
    cluster = EmbeddedCluster(DEFINITIONS)
    reviewer = Reviewer(cluster)
    reviewer.synced = True
    reviewer.resources = {(each.group, each.kind): each for each in await cluster.resources()}
    topology = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "none"},
        "spec": {"levels": [{"nodeLabel": "x"}]},
    }
    await cluster.create(RESOURCES["Topology", "v1alpha1", "kai.scheduler"], topology)
    admit(cluster, reviewer)

    await cluster.create(RESOURCES["PodGroup", "v2alpha2", "scheduling.run.ai"], GROUP)
