"""Claims to volumes and what they get, on an embedded cluster with all stand-ins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any

import pytest

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import Object
from closeknit.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from closeknit.kube.standins import run_standins


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    """A cluster without nodes whose stand-ins all run to the end of the test."""
    made = EmbeddedCluster(dice=Random(1))
    running = asyncio.create_task(run_standins(made, random=Random(2)))
    yield made
    assert not running.done(), running.exception()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110 (what is waited for is somewhere in the cluster)
            await asyncio.sleep(0.01)


def volume(name: str, spec: object) -> Object:
    return {"metadata": {"name": name}, "spec": spec}


def claim(name: str, **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }


async def volume_of(cluster: EmbeddedCluster, name: str) -> str | None:
    found = await cluster.get(PERSISTENT_VOLUME_CLAIMS, name, namespace="default")
    bound = (found.get("status") or {}).get("phase") == "Bound"
    return str(found["spec"]["volumeName"]) if bound else None


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"metadata": {"name": "odd"}}, id="a volume without a spec stops nobody"),
        pytest.param(
            volume("odd", {"claimRef": {"name": "c"}}), id="a claim without a namespace stops nobody"
        ),
        pytest.param(volume("odd", {"claimRef": "default/c"}), id="a claim in one word stops nobody"),
    ],
)
async def test_an_odd_volume_keeps_no_other_claim_waiting(cluster: EmbeddedCluster, odd: Object) -> None:
    await cluster.create(PERSISTENT_VOLUMES, odd)
    await cluster.create(STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": "p"})
    await cluster.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "empty", "namespace": "default"}})
    await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim("c", storageClassName="fast"))

    async def bound() -> bool:
        return await volume_of(cluster, "c") is not None

    await until(bound)


async def test_a_claim_gets_its_volume_when_its_class_comes_after_it(cluster: EmbeddedCluster) -> None:
    await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim("c", storageClassName="fast"))
    for _ in range(100):
        await asyncio.sleep(0)
    await cluster.create(STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": "p"})

    async def bound() -> bool:
        return await volume_of(cluster, "c") is not None

    await until(bound)


async def test_a_volume_that_names_a_claim_without_its_uid_is_that_claims(cluster: EmbeddedCluster) -> None:
    await cluster.create(PERSISTENT_VOLUMES, volume("v", {"claimRef": {"namespace": "default", "name": "c"}}))
    made = await cluster.create(PERSISTENT_VOLUME_CLAIMS, claim("c"))

    async def bound() -> bool:
        return await volume_of(cluster, "c") == "v"

    await until(bound)
    found = await cluster.get(PERSISTENT_VOLUMES, "v")
    assert found["spec"]["claimRef"]["uid"] == made["metadata"]["uid"]
    assert found["status"]["phase"] == "Bound"
