"""Grove's operator with the scheduler and stand-ins for kubelets: from a PodCliqueSet to pods that run."""

from __future__ import annotations

import pytest

from closeknit.kube.errors import NotFoundError
from closeknit.kube.port import DeleteOptions, KubernetesApi, Propagation
from closeknit.testing.controlling import controlling
from tests.scenario.controlled import real
from tests.scenario.groves import (
    OPERATORS,
    all_parts,
    binding,
    clique,
    clique_set,
    condition,
    images,
    node,
    packed,
    phases,
    web,
)

__all__ = ["real"]

NODES = [node(f"n{i}", zone="z", rack=f"r{i}") for i in range(4)]


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
        assert cluster.writes.index(gates[0]) > cluster.writes.index(made[-1])


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


async def test_a_gang_that_has_lost_pods_for_too_long_is_made_anew() -> None:
    given = web(model=1, terminationDelay="10m")
    async with controlling(OPERATORS, *NODES, given, scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = {pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        broken = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await cluster.patch("Pod", "web-0-router-0", broken, subresource="status")
        await cluster.quiet()
        assert (await condition(cluster, "PodClique", "web-0-router", "MinAvailableBreached"))[
            "status"
        ] == "True"
        await cluster.settle(500)
        assert {pod["metadata"]["uid"] for pod in await cluster.every("Pod")} == before
        await cluster.settle(200)
        await cluster.quiet()
        after = {pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        assert len(after) == len(before)
        assert not after & before, "the whole gang is made anew"
        assert set((await phases(cluster)).values()) == {"Running"}
        assert "GangTerminated" in [each["reason"] for each in await cluster.every("Event")]


async def test_a_replica_of_a_scaling_group_that_can_be_spared_is_made_anew_alone() -> None:
    given = web(terminationDelay="10m")
    async with controlling(OPERATORS, *NODES, given, scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        broken = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await cluster.patch("Pod", "web-0-model-1-worker-0", broken, subresource="status")
        await cluster.settle(610)
        await cluster.quiet()
        after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in await cluster.every("Pod")}
        anew = {name for name in before if before[name] != after[name]}
        assert anew == {f"web-0-model-1-{each}" for each in ("leader-0", "worker-0", "worker-1")}
        assert set((await phases(cluster)).values()) == {"Running"}


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


async def test_a_failed_pod_is_replaced() -> None:
    async with controlling(OPERATORS, *NODES, web(model=1), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        uid = (await cluster.get("Pod", "web-0-router-0"))["metadata"]["uid"]
        await cluster.patch("Pod", "web-0-router-0", {"status": {"phase": "Failed"}}, subresource="status")
        await cluster.quiet()
        found = await cluster.get("Pod", "web-0-router-0")
        assert (found["metadata"]["uid"] != uid, found["status"]["phase"]) == (True, "Running")


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


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("PodCliqueScalingGroup", "web-0-model"),
        ("PodClique", "web-0-model-0-worker"),
        ("PodClique", "web-0-router"),
        ("PodGang", "web-0"),
        ("PodGroup", "web-0-model-0"),
        ("Pod", "web-0-router-0"),
    ],
)
@pytest.mark.parametrize("propagation", [Propagation.BACKGROUND, Propagation.ORPHAN])
async def test_a_part_that_somebody_deletes_comes_back(
    kind: str, name: str, propagation: Propagation
) -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = await all_parts(cluster)
        await cluster.delete(kind, name, options=DeleteOptions(propagation=propagation))
        await cluster.settle(60)
        await cluster.quiet()
        assert await all_parts(cluster) == before
        assert set((await phases(cluster)).values()) == {"Running"}
        assert (await cluster.get("PodCliqueSet", "web"))["status"]["availableReplicas"] == 1


@pytest.mark.parametrize(
    ("kind", "name", "edit"),
    [
        ("PodClique", "web-0-router", {"spec": {"minAvailable": 7}}),
        ("PodClique", "web-0-router", {"metadata": {"labels": {"grove.io/podgang": "other"}}}),
        ("PodGang", "web-0", {"spec": {"podgroups": []}}),
        ("PodGroup", "web-0", {"spec": {"minMember": 1}}),
        ("PodCliqueScalingGroup", "web-0-model", {"spec": {"cliqueNames": ["leader"]}}),
        (
            "PodCliqueScalingGroup",
            "web-0-model",
            {"metadata": {"annotations": {"closeknit.dev/applied": "x"}}},
        ),
    ],
)
async def test_an_edit_of_a_part_is_undone(kind: str, name: str, edit: dict[str, object]) -> None:
    async with controlling(OPERATORS, *NODES, web(), scheduler=True, standins=True) as cluster:
        await cluster.quiet()
        before = await cluster.objects(kind)
        await cluster.patch(kind, name, edit)
        await cluster.quiet()
        assert await cluster.objects(kind) == before


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


# ---------------------------------------------------------------------------------------- topologies


@pytest.mark.requirement("G13", "G15", "G16")
async def test_a_topology_of_kai_follows_its_binding() -> None:
    async with controlling(OPERATORS, binding("dc", "zone", "rack")) as cluster:
        await cluster.quiet()
        made = await cluster.get("Topology", "dc")
        assert [each["nodeLabel"] for each in made["spec"]["levels"]] == ["topology/zone", "topology/rack"]
        assert made["metadata"]["ownerReferences"][0]["kind"] == "ClusterTopologyBinding"
        levels = binding("dc", "zone", "block", "rack")["spec"]["levels"]
        await cluster.patch("ClusterTopologyBinding", "dc", {"spec": {"levels": levels}})
        await cluster.quiet()
        anew = await cluster.get("Topology", "dc")
        assert len(anew["spec"]["levels"]) == 3
        assert anew["metadata"]["uid"] != made["metadata"]["uid"]
        await cluster.delete("ClusterTopologyBinding", "dc")
        await cluster.quiet()
        assert await cluster.names("Topology") == []


async def test_a_topology_that_somebody_else_made_is_left_alone() -> None:
    kai = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "dc"},
        "spec": {"levels": [{"nodeLabel": "other"}]},
    }
    async with controlling(OPERATORS, kai, binding("dc", "zone")) as cluster:
        await cluster.quiet()
        assert (await cluster.get("Topology", "dc"))["spec"]["levels"] == [{"nodeLabel": "other"}]
        assert [each["reason"] for each in await cluster.every("Event")] == ["TopologyNotOwned"]


async def test_a_reference_to_another_topology_is_compared() -> None:
    kai = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "theirs"},
        "spec": {"levels": [{"nodeLabel": "topology/zone"}]},
    }
    async with controlling(OPERATORS, binding("dc", "zone", bound_to="theirs")) as cluster:
        seen = []
        for step in (None, kai, {"spec": {"levels": binding("dc", "rack")["spec"]["levels"]}}):
            if step is kai:
                await cluster.create(kai)
            elif step is not None:
                await cluster.patch("ClusterTopologyBinding", "dc", step)
            await cluster.quiet()
            found = await condition(cluster, "ClusterTopologyBinding", "dc", "SchedulerTopologyDrift")
            seen.append((found["status"], found["reason"]))
        assert seen == [("Unknown", "TopologyNotFound"), ("False", "InSync"), ("True", "Drift")]
        status = (await cluster.get("ClusterTopologyBinding", "dc"))["status"]
        assert status["schedulerTopologyStatuses"][0]["inSync"] is False
        assert await cluster.names("Topology") == ["theirs"]


@pytest.mark.requirement("G55", "G56", "G57", "G58", "G59")
async def test_a_topology_that_drifts_takes_its_constraints_with_it(real: KubernetesApi | None) -> None:
    given = clique_set("web", clique("worker", 2), topologyConstraint=packed("dc", "rack"))
    async with controlling(OPERATORS, binding("dc", "zone", "rack"), real=real) as cluster:
        await cluster.quiet()
        await cluster.create(given)
        seen = []

        async def look() -> None:
            await cluster.quiet()
            told = await condition(cluster, "PodCliqueSet", "web", "TopologyLevelsUnavailable")
            gang = (await cluster.get("PodGang", "web-0"))["spec"].get("topologyConstraint")
            group = (await cluster.get("PodGroup", "web-0"))["spec"].get("topologyConstraint")
            seen.append((told["status"], told["reason"], gang is not None, bool(group)))

        await look()
        levels = binding("dc", "zone")["spec"]["levels"]
        await cluster.patch("ClusterTopologyBinding", "dc", {"spec": {"levels": levels}})
        await look()
        await cluster.delete("ClusterTopologyBinding", "dc")
        await look()
        await cluster.create(binding("dc", "zone", "rack"))
        await look()
        assert seen == [
            ("False", "AllClusterTopologyLevelsAvailable", True, True),
            ("True", "ClusterTopologyLevelsUnavailable", False, False),
            ("Unknown", "ClusterTopologyNotFound", False, False),
            ("False", "AllClusterTopologyLevelsAvailable", True, True),
        ]


async def test_two_topologies_of_one_name_do_not_fight() -> None:
    earlier = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": "dc"},
        "spec": {"levels": [{"domain": "rack", "key": "topology/rack"}]},
    }
    async with controlling(OPERATORS, binding("dc", "zone"), earlier) as cluster:
        await cluster.quiet()
        written = len(cluster.writes)
        await cluster.settle(120)
        assert cluster.writes[written:] == []
        assert await cluster.names("Topology") == ["dc"]
        await cluster.delete("ClusterTopology", "dc")
        await cluster.quiet()
        made = await cluster.get("Topology", "dc")
        assert [each["nodeLabel"] for each in made["spec"]["levels"]] == ["topology/zone"]


# --------------------------------------------------------------------------------------- start order


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
