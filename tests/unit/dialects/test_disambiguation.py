"""Families that use one name for different things: topologies and workloads get unique names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Reading, Source, translate
from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.cluster import Holding
from closeknit.hub.outcome import Placed
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import grove
from closeknit.hub.workload import PlaceableWorkload, Workload
from tests.kit.problems import finding, findings
from tests.unit.dialects.dynamo import graphs
from tests.unit.dialects.grove import sets
from tests.unit.dialects.kit import held, pod, pod_group, reading
from tests.unit.dialects.kueue import kit as kueue

GPU = Resources({"nvidia.com/gpu": 1})
MANAGED = {"app.kubernetes.io/managed-by": "grove-operator"}


def kai_topology(*labels: str, name: str = "default") -> str:
    return json.dumps(
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": name},
            "spec": {"levels": [{"nodeLabel": label} for label in labels]},
        }
    )


def binding(**levels: str) -> str:
    return sets.topology(levels, name="default", kind="ClusterTopologyBinding")


def close(level: str) -> dict[str, Any]:
    return {"topologyConstraint": {"topology": "default", "requiredTopologyLevel": level}}


KUEUE = (
    kueue.topology("default", "kueue/block", "kueue/rack"),
    kueue.flavor(over="default"),
    kueue.cluster_queue(),
    kueue.local_queue(),
)


def levels(found: Reading) -> dict[str, tuple[str, ...]]:
    """By kind of workload, the levels of the topology that its request speaks of."""
    assert [str(problem) for problem in found.problems] == []
    spoken: dict[str, tuple[str, ...]] = {}
    for workload in found.workloads:
        assert isinstance(workload, PlaceableWorkload)
        assert workload.request.topology is not None
        topology = found.cluster.topology(workload.request.topology)
        assert topology is not None
        spoken[workload.object.kind] = topology.labels
    return spoken


def group_of_set(domain: str) -> str:
    return sets.pod_clique_set(
        sets.clique("w", 2),
        name="served",
        topologyConstraint={"topologyName": "default", "packDomain": domain},
    )


POD_GROUP = pod_group({"minMember": 2, **close("kai/rack")})
JOB = kueue.job(2, podset_required_topology="kueue/rack")


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            (kai_topology("kai/zone", "kai/rack"), *KUEUE, POD_GROUP, JOB),
            {"PodGroup": ("kai/zone", "kai/rack"), "Job": ("kueue/block", "kueue/rack")},
            id="KAI and Kueue",
        ),
        pytest.param(
            (binding(rack="grove/rack"), *KUEUE, group_of_set("rack"), JOB),
            {"PodCliqueSet": ("grove/rack",), "Job": ("kueue/block", "kueue/rack")},
            id="Grove and Kueue",
        ),
        pytest.param(
            (
                *KUEUE,
                binding(rack="grove/rack"),
                graphs.graph(
                    {"w": graphs.service()},
                    topologyConstraint={"topologyProfile": "default", "packDomain": "rack"},
                ),
                JOB,
            ),
            {"DynamoGraphDeployment": ("grove/rack",), "Job": ("kueue/block", "kueue/rack")},
            id="Dynamo, which has Grove's, and Kueue",
        ),
    ],
)
def test_each_family_means_its_own_topology_by_one_name(
    texts: tuple[str, ...], want: dict[str, tuple[str, ...]]
) -> None:
    found = reading(*texts)

    assert levels(found) == want
    names = [each.name for each in found.cluster.topologies]
    assert names == sorted(names)
    assert set(names) >= {"kueue/default"}
    assert "default" not in names


def test_a_topology_of_kai_beside_another_of_grove_is_told_and_still_kais_own() -> None:
    deployed = graphs.graph(
        {"w": graphs.service()}, topologyConstraint={"topologyProfile": "default", "packDomain": "rack"}
    )
    found = reading(
        kai_topology("kai/rack"), binding(rack="grove/rack"), POD_GROUP, group_of_set("rack"), deployed
    )

    assert findings(found.problems) == [
        finding(grove.KAI_TOPOLOGY_DIFFERS, "1:spec.levels", name="default", levels=("grove/rack",))
    ]
    assert {
        each.object.kind: each.request.topology
        for each in found.workloads
        if isinstance(each, PlaceableWorkload)
    } == {
        "PodGroup": "kai/default",
        "PodCliqueSet": "grove/default",
        "DynamoGraphDeployment": "grove/default",
    }


def test_topologies_of_one_name_and_the_same_levels_are_one() -> None:
    found = reading(
        kai_topology("t/rack"),
        binding(rack="t/rack"),
        pod_group({"minMember": 2, **close("t/rack")}),
        group_of_set("rack"),
    )

    assert levels(found) == {"PodGroup": ("t/rack",), "PodCliqueSet": ("t/rack",)}
    assert [each.name for each in found.cluster.topologies] == ["default"]


def test_what_is_written_has_the_levels_of_the_family_it_comes_from_and_a_name_of_its_own() -> None:
    texts = (kai_topology("kai/rack"), *KUEUE, kueue.job(2, podset_required_topology="kueue/rack"))
    made = translate([Source("f", "\n---\n".join(texts).encode())], "kai")

    (group,) = (each for each in made.objects if each["kind"] == "PodGroup")
    written = {
        each["metadata"]["name"]: [level["nodeLabel"] for level in each["spec"]["levels"]]
        for each in made.objects
        if each["kind"] == "Topology"
    }
    assert group["spec"]["topologyConstraint"]["topology"] == "default-kueue"
    assert written == {"default": ["kai/rack"], "default-kueue": ["kueue/block", "kueue/rack"]}
    assert [(each.object.name, each.topology, each.name) for each in made.renamed] == [
        ("train", "default", "default-kueue")
    ]


def requests(found: Reading) -> dict[str, str]:
    """The name of each workload's request, by kind."""
    assert [str(problem) for problem in found.problems] == []
    return {
        each.object.kind: each.request.name for each in found.workloads if isinstance(each, PlaceableWorkload)
    }


def node(name: str, gpus: int = 8) -> str:
    return kueue.node(name, "b", "r", gpus)


PLAIN_QUEUES = (kueue.flavor(over=None), kueue.cluster_queue(), kueue.local_queue())


def test_workloads_of_one_name_are_called_by_their_kind_as_well() -> None:
    found = reading(
        pod_group({}, name="train"),
        sets.pod_clique_set(sets.clique("w"), name="train"),
        *PLAIN_QUEUES,
        kueue.job(1, name="train"),
        pod_group({}, name="other"),
    )

    assert [(each.object.kind, each.object.name) for each in found.workloads] == [
        ("PodGroup", "other"),
        ("PodGroup", "train"),
        ("PodCliqueSet", "train"),
        ("Job", "train"),
    ]
    assert {each.request.name for each in found.workloads if isinstance(each, PlaceableWorkload)} == {
        "default/other",
        "PodGroup default/train",
        "PodCliqueSet default/train",
        "Job default/train",
    }
    (job,) = (each for each in found.workloads if each.object.kind == "Job")
    assert [option.request.name for option in job.options] == ["Job default/train"]
    assert isinstance(job, PlaceableWorkload)
    assert job.request is job.options[0].request


def test_workloads_of_one_name_hold_what_their_own_pods_use() -> None:
    grove_pod = json.loads(pod("train-0-w-x", nodeName="n1"))
    grove_pod["metadata"]["labels"] = {
        **MANAGED,
        "app.kubernetes.io/part-of": "train",
        "grove.io/podclique": "train-0-w",
    }
    found = reading(
        node("n1"),
        node("n2"),
        pod_group({"minMember": 1}, name="train"),
        pod("a", "train", nodeName="n2"),
        sets.pod_clique_set(sets.clique("w"), name="train"),
        json.dumps(grove_pod),
    )

    assert requests(found) == {
        "PodGroup": "PodGroup default/train",
        "PodCliqueSet": "PodCliqueSet default/train",
    }
    assert tuple(held(found)) == (
        Holding("PodCliqueSet default/train", "n1", GPU),
        Holding("PodGroup default/train", "n2", GPU),
    )
    bound = {each.object.kind: _bound(each) for each in found.workloads}
    assert bound == {"PodGroup": ["n2"], "PodCliqueSet": ["n1"]}


def _bound(workload: Workload) -> list[str]:
    assert isinstance(workload, PlaceableWorkload)
    return [name for pods in workload.request.root.pod_sets() for name in pods.bound]


def test_the_pods_of_a_deployment_are_its_own_beside_a_pod_group_of_its_name() -> None:
    running = json.loads(pod("train-0-w-x", nodeName="n"))
    running["metadata"]["labels"] = {
        **MANAGED,
        "app.kubernetes.io/part-of": "train",
        "grove.io/podclique": "train-0-w",
    }
    graph = graphs.graph({"w": graphs.service()}, name="train")
    found = reading(node("n"), pod_group({}, name="train"), graph, json.dumps(running))

    assert tuple(held(found)) == (Holding("DynamoGraphDeployment default/train", "n", GPU),)


def test_workloads_of_one_name_are_placed_beside_each_other() -> None:
    found = reading(
        node("n", gpus=3),
        pod_group({"minMember": 2}, name="train"),
        sets.pod_clique_set(sets.clique("w", 2), name="train"),
    )
    engine = Engine(found.cluster)
    statuses = []
    for workload in found.workloads:
        assert isinstance(workload, PlaceableWorkload)
        outcome = engine.solve(workload.request)
        statuses.append(isinstance(outcome, Placed))
        if isinstance(outcome, Placed):
            engine.apply(workload.request, outcome)

    assert statuses == [True, False]


def test_workloads_of_one_name_are_charged_each_for_itself() -> None:
    texts = (*PLAIN_QUEUES, kueue.job(40, name="train"), kueue.job(40, name="later"))
    found = reading(*texts, pod_group({}, name="train"))
    accounts = Accounts()
    first, second = (each.options[0] for each in found.workloads if each.options)
    accounts.charge(first)

    assert accounts.lacking(second)
    assert {first.request.name, second.request.name} == {"default/later", "Job default/train"}


def test_a_deployment_and_the_set_that_was_made_of_it_are_one_workload() -> None:
    found = reading(
        sets.topology(),
        graphs.graph({"w": graphs.service()}, name="train"),
        sets.pod_clique_set(sets.clique("w"), name="train"),
    )

    assert requests(found) == {"PodCliqueSet": "default/train"}
