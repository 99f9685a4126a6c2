"""Binding and eviction in the embedded cluster."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    MergePatch,
)
from closeknit.kube.resources import (
    PODS,
)
from tests.unit.kube.embedded.objects import names, pod


class TestBinding:
    async def test_a_bound_pod_has_its_node(self, cluster: EmbeddedCluster) -> None:
        made = await cluster.create(PODS, pod("a"))
        await cluster.bind(
            "a", "n1", namespace="default", uid=made["metadata"]["uid"], annotations={"k": "v"}
        )

        bound = await cluster.get(PODS, "a", namespace="default")
        assert bound["spec"]["nodeName"] == "n1"
        assert bound["metadata"]["annotations"] == {"k": "v"}
        assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [
            ("PodScheduled", "True")
        ]

    async def test_of_two_who_bind_one_pod_one_wins(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(PODS, pod("a"))
        answers = await asyncio.gather(
            *(cluster.bind("a", node, namespace="default") for node in ("n1", "n2")), return_exceptions=True
        )

        assert [type(answer) for answer in answers] == [type(None), errors.ConflictError]
        assert (await cluster.get(PODS, "a", namespace="default"))["spec"]["nodeName"] == "n1"

    async def test_a_gated_pod_cannot_be_bound(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(PODS, pod("a", spec={"schedulingGates": [{"name": "x.y/wait"}]}))

        with pytest.raises(errors.ConflictError, match="schedulingGates"):
            await cluster.bind("a", "n1", namespace="default")

    async def test_an_eviction_respects_the_budget(self, cluster: EmbeddedCluster) -> None:
        budgets = next(one for one in await cluster.resources() if one.plural == "poddisruptionbudgets")
        await cluster.create(
            budgets,
            {
                "metadata": {"name": "b", "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
            },
        )
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for name in ("a", "b"):
            await cluster.create(PODS, pod(name, labels={"app": "x"}))
            await cluster.patch(
                PODS, name, MergePatch({"status": running}), namespace="default", subresource="status"
            )

        await cluster.evict("a", namespace="default")
        with pytest.raises(errors.TooManyRequestsError):
            await cluster.evict("b", namespace="default")

        assert await names(cluster, PODS) == ["b"]
