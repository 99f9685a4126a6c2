"""Grove's operator with the scheduler and stand-ins for kubelets: from a PodCliqueSet to pods that run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from closeknit.kube.errors import InvalidObjectError, NotFoundError
from closeknit.kube.port import DeleteOptions, Propagation
from closeknit.kube.resources import Resource
from closeknit.testing.controlling import Controlled, controlling
from tests.scenario.groves import NODES, OPERATORS, all_parts, clique, clique_set, images, node, phases, web


async def test_a_set_becomes_parts_gangs_and_pods_that_run() -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        assert await all_parts(cluster) == {
            "PodCliqueScalingGroup": ["web-0-model"],
            "PodClique": [
                "web-0-model-0-leader",
                "web-0-model-0-worker",
                "web-0-model-1-leader",
                "web-0-model-1-worker",
                "web-0-router",
            ],
            "PodGang": ["web-0", "web-0-model-0"],
            "PodGroup": ["web-0", "web-0-model-0"],
            "Pod": [
                "web-0-model-0-leader-0",
                "web-0-model-0-worker-0",
                "web-0-model-0-worker-1",
                "web-0-model-1-leader-0",
                "web-0-model-1-worker-0",
                "web-0-model-1-worker-1",
                "web-0-router-0",
            ],
        }
        assert set((await phases(cluster)).values()) == {"Running"}
        assert (await cluster.get("PodGang", "web-0"))["status"]["phase"] == "Running"
        status = (await cluster.get("PodCliqueSet", "web"))["status"]
        assert (status["replicas"], status["availableReplicas"], status["updatedReplicas"]) == (1, 1, 1)
        owners = {
            kind: (await cluster.get(kind, name))["metadata"]["ownerReferences"][0]["kind"]
            for kind, name in (
                ("PodCliqueScalingGroup", "web-0-model"),
                ("PodClique", "web-0-model-0-leader"),
                ("PodGang", "web-0"),
                ("PodGroup", "web-0"),
                ("Pod", "web-0-router-0"),
            )
        }
        assert owners == {
            "PodCliqueScalingGroup": "PodCliqueSet",
            "PodClique": "PodCliqueScalingGroup",
            "PodGang": "PodCliqueSet",
            "PodGroup": "PodGang",
            "Pod": "PodClique",
        }
        written = len(cluster.writes)
        assert written <= 64, "four writes a part and three a pod, its status not among them"
        await cluster.settle(300)
        assert cluster.writes[written:] == [], "a quiet cluster sees no writes"


async def test_pods_are_gated_until_all_pods_of_their_gang_exist() -> None:
    async with controlling(OPERATORS, standins=False) as cluster:
        await cluster.create(web(model=1))
        held = await cluster.get("PodCliqueSet", "web")
        assert held["spec"]["replicas"] == 1
        await cluster.quiet()
        assert set((await phases(cluster)).values()) == {"Pending"}
        gates = [each for each in cluster.writes if each.startswith("patch Pod ")]
        made = [each for each in cluster.writes if each.startswith("create Pod ")]
        assert len(gates) == len(made) == 4
        first = cluster.writes.index(gates[0])
        assert first > cluster.writes.index(made[-1])
        assert cluster.writes[first : first + 4] == gates, "they are released together"
        assert "patch PodGroup web-0" in cluster.writes[:first]


async def test_a_scaled_gang_waits_for_the_base_gang() -> None:
    small = node("n0", gpus=3)
    async with controlling(OPERATORS, small, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        found = await phases(cluster)
        assert {found[f"web-0-model-1-{each}"] for each in ("leader-0", "worker-0", "worker-1")} == {"gated"}
        assert {found[f"web-0-model-0-{each}"] for each in ("leader-0", "worker-0", "worker-1")} == {
            "Pending"
        }
        await cluster.create(node("n1", gpus=4))
        await cluster.quiet()
        assert set((await phases(cluster)).values()) == {"Running"}


async def test_pods_of_a_gang_that_runs_are_released_although_its_pod_group_cannot_be_changed() -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        refuse_pod_groups(cluster)
        await cluster.patch("PodCliqueSet", "web", {"metadata": {"labels": {"kai.scheduler/queue": "other"}}})
        await cluster.settle(5)
        await cluster.delete("Pod", "web-0-router-0")
        await cluster.patch("PodClique", "web-0-router", {"spec": {"replicas": 2}}, subresource="scale")
        await cluster.settle(120)

        found = await phases(cluster)
        assert {"web-0-router-0", "web-0-router-1"} <= found.keys()
        assert "gated" not in found.values()


async def test_no_pod_is_released_before_its_pod_group_is_there() -> None:
    async with controlling(OPERATORS, *NODES, scheduler=True, standins=True) as cluster:
        accept = refuse_pod_groups(cluster)
        await cluster.create(web(model=1))
        await cluster.settle(120)
        assert set((await phases(cluster)).values()) == {"gated"}

        accept()
        await cluster.settle(600)
        assert set((await phases(cluster)).values()) == {"Running"}


async def test_pods_that_their_gang_refers_to_are_released_although_the_set_is_wrong_by_now() -> None:
    async with controlling(OPERATORS, web(), standins=True) as cluster:
        await cluster.quiet()
        held = [name for name, phase in (await phases(cluster)).items() if phase == "gated"]
        assert held, "those of the scaled gang wait for the base gang"
        template = (await cluster.get("PodCliqueSet", "web"))["spec"]["template"]
        template["cliques"][1]["spec"]["minAvailable"] = 5
        await cluster.patch("PodCliqueSet", "web", {"spec": {"template": template}})
        await cluster.quiet()
        for each in NODES:
            await cluster.create(each)
        for name, phase in (await phases(cluster)).items():
            if phase != "gated":
                await cluster.cluster.bind(name, "n0", namespace="default")
        await cluster.quiet()

        assert "gated" not in (await phases(cluster)).values()


def refuse_pod_groups(cluster: Controlled) -> Callable[[], None]:
    """Have the server refuse every write of a PodGroup; what is returned ends that."""
    patch = cluster.cluster.patch

    async def refusing(resource: Resource, *args: Any, **kwargs: Any) -> Any:
        if resource.kind == "PodGroup" and not kwargs.get("subresource"):
            raise InvalidObjectError("A webhook refuses it.")
        return await patch(resource, *args, **kwargs)

    def accept() -> None:
        vars(cluster.cluster)["patch"] = patch

    vars(cluster.cluster)["patch"] = refusing
    return accept


async def test_a_pod_of_somebody_else_under_the_name_of_one_is_told_and_left_alone() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-0-router-0"},
        "spec": {"containers": [{"name": "main", "image": "theirs"}]},
    }
    async with controlling(OPERATORS, pod, web(model=1)) as cluster:
        await cluster.quiet()
        assert (await images(cluster))["web-0-router-0"] == "theirs"
        assert "PodNameTaken" in [each["reason"] for each in await cluster.every("Event")]
        await cluster.delete("Pod", "web-0-router-0")
        await cluster.quiet()
        assert (await images(cluster))["web-0-router-0"] == "one"


@pytest.mark.parametrize("propagation", [None, *Propagation])
async def test_a_deleted_set_leaves_nothing_behind(propagation: Propagation | None) -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        await cluster.delete("PodCliqueSet", "web", options=DeleteOptions(propagation=propagation))
        await cluster.settle(60)
        await cluster.quiet()
        assert await all_parts(cluster) == {kind: [] for kind in await all_parts(cluster)}
        with pytest.raises(NotFoundError):
            await cluster.get("PodCliqueSet", "web")


async def test_pods_start_in_the_order_of_their_cliques() -> None:
    given = clique_set(
        "web",
        clique("first", 2, minAvailable=1),
        clique("second", 1),
        cliqueStartupType="CliqueStartupTypeInOrder",
    )
    async with controlling(OPERATORS, *NODES, given, scheduler=True, standins=True) as cluster:
        order: list[str] = []
        for _ in range(40):
            await cluster.settle(0.25)
            for name, phase in (await phases(cluster)).items():
                if phase == "Running" and name not in order:
                    order.append(name)
        assert order[-1] == "web-0-second-0"
        assert len(order) == 3
        told = (await cluster.get("Pod", "web-0-second-0"))["metadata"]["annotations"]
        assert told["closeknit.dev/starts-after"] == "web-0-first-0,web-0-first-1:1"
        assert "initContainers" not in (await cluster.get("Pod", "web-0-second-0"))["spec"]


async def test_a_pod_waits_for_others_as_long_as_they_are_not_ready() -> None:
    given = clique_set(
        "web", clique("first", gpus=9), clique("second"), cliqueStartupType="CliqueStartupTypeInOrder"
    )
    pods = [clique["name"] for clique in given["spec"]["template"]["cliques"]]
    async with controlling(OPERATORS, *NODES, given, scheduler=True, standins=True) as cluster:
        await cluster.settle(5)
        assert await phases(cluster) == {f"web-0-{name}-0": "Pending" for name in pods}
