"""A deployment for Kueue: domains as labels, and what Kueue cannot be told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import Placed, solve
from closeknit.dialects import Source, Translation, translate
from closeknit.hub.sentences import dynamo
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.kit import reading

MAPPING = {"rack": "example.com/rack", "zone": "example.com/zone", "host": "kubernetes.io/hostname"}
SETTINGS = json.dumps({"operator": {"topologyAwareScheduling": {"domainToLabelMapping": MAPPING}}})
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
MINIMUM = "kueue.x-k8s.io/job-min-parallelism"


def kueue(text: str) -> Translation:
    return translate([Source("f", f"{SETTINGS}\n---\n{text}".encode())], "kueue")


def objects(text: str, *kinds: str) -> list[dict[str, Any]]:
    """What a deployment that can be said becomes: the batches, or objects of other kinds."""
    found = kueue(text)
    assert [str(problem) for problem in found.problems] == []
    return [each for each in found.objects if each["kind"] in (kinds or ("Job", "JobSet"))]


def asked(batch: dict[str, Any]) -> tuple[str, int, int, str, dict[str, str]]:
    """Name, jobs, pods of each, how many pods will do, and annotations of a Job or a JobSet of one job."""
    spec, replicas = batch["spec"], 1
    if batch["kind"] == "JobSet":
        (job,) = spec["replicatedJobs"]
        spec, replicas = job["template"]["spec"], job["replicas"]
    annotations = spec["template"].get("metadata", {}).get("annotations", {})
    minimum = batch["metadata"].get("annotations", {}).get(MINIMUM, "all")
    return batch["metadata"]["name"], replicas, spec["parallelism"], minimum, annotations


def test_the_mapping_becomes_kueues_topology() -> None:
    (topology,) = objects(graph([service("A", domain="rack")]), "Topology")

    assert topology["spec"]["levels"] == [
        {"nodeLabel": "example.com/zone"},
        {"nodeLabel": "example.com/rack"},
        {"nodeLabel": "kubernetes.io/hostname"},
    ]


def test_a_service_on_one_node_is_asked_to_be_in_its_own_or_an_inherited_domain() -> None:
    (own,) = objects(graph([service("A", 3, "rack")], "zone"))
    (inherited,) = objects(graph([service("A", 3, minAvailable=3)], "zone"))

    assert asked(own) == ("graph-a", 1, 3, "1", {REQUIRED: "example.com/rack"})
    assert asked(inherited) == ("graph-a", 1, 3, "all", {REQUIRED: "example.com/zone"})


@pytest.mark.parametrize(("least", "jobs", "pods", "minimum"), [(3, 3, 4, "all"), (2, 1, 12, "8")])
def test_each_replica_of_a_service_on_several_nodes_is_a_slice(
    least: int, jobs: int, pods: int, minimum: str
) -> None:
    (made,) = objects(graph([service("A", 3, "rack", nodes=4, minAvailable=least)], "zone"))

    slices = {SLICE_LEVEL: "example.com/rack", SLICE_SIZE: "4"}
    assert asked(made) == ("graph-a", jobs, pods, minimum, {REQUIRED: "example.com/zone", **slices})


def test_replicas_that_may_be_missing_are_slices_of_the_domain_that_they_share() -> None:
    (made,) = objects(graph([service("A", 3, nodes=4)], "zone"))

    slices = {SLICE_LEVEL: "example.com/zone", SLICE_SIZE: "4"}
    assert asked(made) == ("graph-a", 1, 12, "4", {REQUIRED: "example.com/zone", **slices})


OVERRIDE = {
    "apiVersion": "grove.io/v1alpha1",
    "value": {"topologyConstraint": {"topologyName": "dynamo-domains", "pack": {"required": "rack"}}},
}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            graph([service("A"), service("B")], "zone"),
            finding(
                dynamo.COMPONENTS_TOGETHER,
                "2:spec.topologyConstraint.packDomain",
                components=2,
                domain="zone",
            ),
            id="components that share a domain",
        ),
        pytest.param(
            graph([service("Frontend"), service("Worker", 3, nodes=4, minAvailable=2)]),
            finding(
                dynamo.REPLICAS_WITHOUT_DOMAIN,
                "2:spec.services[1].minAvailable",
                component="Worker",
                least=2,
                nodes=4,
                replicas=3,
            ),
            id="replicas on several nodes that may be missing, without a domain",
        ),
        pytest.param(
            graph([service("A", providerOverride=OVERRIDE)]),
            finding(dynamo.OVERRIDE_FOR_OTHERS, "2:spec.services[0].providerOverride.value"),
            id="constraints in Grove's words",
        ),
        pytest.param(
            graph([service("A")], metadata={"labels": {"kueue.x-k8s.io/queue-name": "Team_A"}}),
            finding(
                dynamo.NOT_A_QUEUE_NAME, '2:metadata.labels["kueue.x-k8s.io/queue-name"]', queue="Team_A"
            ),
            id="a queue that cannot be",
        ),
    ],
)
def test_where_kueue_has_no_words_nothing_weaker_is_written(text: str, want: Finding) -> None:
    found = kueue(text)

    assert findings(found.problems) == [want]
    assert found.objects == ()


def test_pods_and_queue_are_those_of_the_deployment() -> None:
    extra = {"mainContainer": {"image": "vllm"}, "nodeSelector": {"gpu": "h100"}, "schedulerName": "other"}
    metadata = {"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
    (made,) = objects(graph([service("A", extraPodSpec=extra)], metadata=metadata))
    pod = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]

    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    assert pod == {
        "containers": [{"name": "main", "image": "vllm"}],
        "nodeSelector": {"gpu": "h100"},
        "restartPolicy": "OnFailure",
    }


def test_the_queue_has_room_for_all_deployments_that_go_to_it() -> None:
    first = graph([service("A", 2, "rack", nodes=4), service("B", 3)], name="one")
    second = graph([service("A")], name="two")
    flavors, queues, local = (
        objects(f"{first}\n---\n{second}", kind) for kind in ("ResourceFlavor", "ClusterQueue", "LocalQueue")
    )

    assert [(each["metadata"]["name"], each["spec"].get("topologyName")) for each in flavors] == [
        ("dynamo-domains", "dynamo-domains"),
        ("default-dynamo", None),
    ]
    ((group,),) = (each["spec"]["resourceGroups"] for each in queues)
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": "12"}, {"name": "pods", "nominalQuota": "12"}]
    assert group["flavors"] == [
        {"name": "dynamo-domains", "resources": quota},
        {"name": "default-dynamo", "resources": quota},
    ]
    assert [(each["metadata"], each["spec"]) for each in local] == [
        ({"name": "dynamo", "namespace": "default"}, {"clusterQueue": "default-dynamo"})
    ]


def test_what_the_files_hold_is_not_written_again() -> None:
    text = "\n---\n".join([graph([service("A", domain="rack")]), *queues("dynamo-domains")])

    assert [each["kind"] for each in kueue(text).objects] == ["Topology", "JobSet"]


def queues(topology: str) -> list[str]:
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": 100}]
    flavors = [{"name": "gpu", "resources": quota}]
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}],
    }
    objects = [
        ("ResourceFlavor", {"name": "gpu"}, {"nodeLabels": {"gpu": "h100"}, "topologyName": topology}),
        ("ClusterQueue", {"name": "cq"}, spec),
        ("LocalQueue", {"name": "dynamo", "namespace": "default"}, {"clusterQueue": "cq"}),
    ]
    return [
        json.dumps(
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata, "spec": inner}
        )
        for kind, metadata, inner in objects
    ]


SAYABLE = graph([service("A", 2, "rack", nodes=4), service("B", 3, "host")])


def test_what_is_made_for_kueue_is_understood_there() -> None:
    found = reading(*(json.dumps(each) for each in kueue(SAYABLE).objects))

    assert [str(problem) for problem in found.problems] == []
    assert [
        (each.dialect, each.object.name, isinstance(each, PlaceableWorkload)) for each in found.workloads
    ] == [
        ("kueue", "graph-a", True),
        ("kueue", "graph-b", True),
    ]


def test_a_deployment_whose_jobs_are_there_asks_for_nothing_more() -> None:
    made = [json.dumps(each) for each in kueue(SAYABLE).objects]
    elsewhere = graph([service("A")], metadata={"namespace": "other"})
    found = reading(SETTINGS, SAYABLE, elsewhere, *made)

    assert [str(problem) for problem in found.problems] == []
    assert [(each.dialect, each.object.namespace, each.object.name) for each in found.workloads] == [
        ("kueue", "default", "graph-a"),
        ("kueue", "default", "graph-b"),
        ("dynamo", "other", "graph"),
    ]


def test_as_many_pods_will_do_for_kueue_as_for_grove() -> None:
    """Seven would like to run in one rack, and five can."""
    labels = {
        "example.com/zone": "z",
        "example.com/rack": "r",
        "kubernetes.io/hostname": "n",
        "kubernetes.io/os": "linux",
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": labels},
        "status": {"allocatable": {"nvidia.com/gpu": "5", "pods": "110"}},
    }
    text = graph({"Worker": service(replicas=7, domain="rack")})
    for documents in ([SETTINGS, text], [json.dumps(each) for each in kueue(text).objects]):
        found = reading(json.dumps(node), *documents)
        (workload,) = found.workloads
        assert isinstance(workload, PlaceableWorkload)
        outcome = solve(found.cluster, workload.request)

        assert isinstance(outcome, Placed)
        assert len(outcome.assignments) == 5
