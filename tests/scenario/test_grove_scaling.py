"""PodCliqueSets that grow, shrink and change while they run."""

from __future__ import annotations

import pytest

from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import controlling
from tests.scenario.groves import NODES, OPERATORS, images, phases, web


@pytest.mark.parametrize(
    ("kind", "name", "replicas", "pods"),
    [
        pytest.param("PodCliqueSet", "web", 2, 14, id="a set grows by whole replicas"),
        pytest.param("PodCliqueSet", "web", 0, 0, id="a set shrinks to nothing"),
        pytest.param("PodCliqueScalingGroup", "web-0-model", 3, 10, id="a scaling group grows by a gang"),
        pytest.param(
            "PodCliqueScalingGroup", "web-0-model", 1, 4, id="a scaling group shrinks to its minimum"
        ),
        pytest.param("PodCliqueScalingGroup", "web-0-model", 0, 4, id="a scaling group keeps its minimum"),
        pytest.param("PodClique", "web-0-router", 3, 9, id="a clique grows by pods"),
    ],
)
@pytest.mark.requirement("G54")
async def test_scaling_by_the_subresource(
    kind: str, name: str, replicas: int, pods: int, real: KubernetesApi | None
) -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True, real=real) as cluster:
        await cluster.quiet()
        await cluster.patch(kind, name, {"spec": {"replicas": replicas}}, subresource="scale")
        await cluster.quiet()
        found = await phases(cluster)
        assert len(found) == pods
        assert set(found.values()) <= {"Running"}
        await cluster.patch(
            kind, name, {"spec": {"replicas": 2 if "Scaling" in kind else 1}}, subresource="scale"
        )
        await cluster.quiet()
        assert len(await phases(cluster)) == 7
        assert await cluster.names("PodGang") == ["web-0", "web-0-model-0"]


async def test_a_number_in_the_template_is_taken_over_and_a_scaled_one_is_kept() -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        await cluster.patch("PodClique", "web-0-router", {"spec": {"replicas": 3}}, subresource="scale")
        await cluster.quiet()
        template = web(image="two")["spec"]["template"]
        await cluster.patch("PodCliqueSet", "web", {"spec": {"template": template}})
        await cluster.quiet()
        assert (await cluster.get("PodClique", "web-0-router"))["spec"]["replicas"] == 3
        template["cliques"][0]["spec"]["replicas"] = 2
        await cluster.patch("PodCliqueSet", "web", {"spec": {"template": template}})
        await cluster.quiet()
        assert (await cluster.get("PodClique", "web-0-router"))["spec"]["replicas"] == 2
        assert set((await images(cluster)).values()) == {"two"}


async def test_a_changed_template_reaches_one_replica_after_the_other() -> None:
    async with controlling(OPERATORS, *NODES, web(replicas=2), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        await cluster.patch(
            "PodCliqueSet", "web", {"spec": {"template": web(image="two")["spec"]["template"]}}
        )
        mixed = []
        for _ in range(200):
            await cluster.settle(0.25)
            found = await images(cluster)
            first = {image for pod, image in found.items() if pod.startswith("web-0-")}
            second = {image for pod, image in found.items() if pod.startswith("web-1-")}
            mixed.append("one" in first and "two" in second)
            ready = (await cluster.get("PodCliqueSet", "web"))["status"]["availableReplicas"]
            assert ready >= 1, "one replica serves while the other changes"
        assert not any(mixed)
        assert set((await images(cluster)).values()) == {"two"}
        assert (await cluster.get("PodCliqueSet", "web"))["status"]["updatedReplicas"] == 2


async def test_a_restart_in_the_middle_of_a_scale_down_leaks_nothing() -> None:
    async with controlling(OPERATORS, *NODES, web(model=4), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        await cluster.patch(
            "PodCliqueScalingGroup", "web-0-model", {"spec": {"replicas": 1}}, subresource="scale"
        )
        await cluster.settle(0.25)
        await cluster.restart()
        await cluster.quiet()
        assert len(await phases(cluster)) == 4
        assert await cluster.names("PodGang") == await cluster.names("PodGroup") == ["web-0"]
