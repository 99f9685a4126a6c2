"""Claims that pods get from templates, on an embedded cluster with all stand-ins."""

from __future__ import annotations

import asyncio
from random import Random

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import Change, Object
from closeknit.kube.resources import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from closeknit.kube.standins import run_standins


async def test_a_claim_of_a_pod_that_was_made_by_others_does_not_keep_it_from_its_own() -> None:
    cluster = EmbeddedCluster(dice=Random(1))
    pod = await cluster.create(
        PODS,
        {
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
            },
        },
    )
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "p",
        "uid": pod["metadata"]["uid"],
        "controller": True,
    }
    devices = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "d"}}]}}
    other = {
        "metadata": {"name": "other", "namespace": "default", "ownerReferences": [owner]},
        "spec": devices,
    }
    await cluster.create(RESOURCE_CLAIMS, other)
    await cluster.create(
        RESOURCE_CLAIM_TEMPLATES,
        {"metadata": {"name": "t", "namespace": "default"}, "spec": {"spec": devices}},
    )
    running = asyncio.create_task(run_standins(cluster, random=Random(2)))
    found: Object = {}
    async with asyncio.timeout(60):
        async for event in cluster.watch(PODS):
            assert isinstance(event, Change)
            found = event.object["status"]
            if "resourceClaimStatuses" in found:
                break
    (named,) = found["resourceClaimStatuses"]
    assert named["name"] == "gpu"
    assert named["resourceClaimName"].startswith("p-gpu-")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
