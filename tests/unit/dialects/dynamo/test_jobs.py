"""A deployment for Kueue: domains as labels, and what Kueue cannot be told."""

from __future__ import annotations

import json
from typing import Any

from closeknit.dialects import Source, Translation, translate
from tests.unit.dialects.dynamo.graphs import graph, service
from tests.unit.dialects.kit import reading

MAPPING = {"rack": "example.com/rack", "zone": "example.com/zone", "host": "kubernetes.io/hostname"}
SETTINGS = json.dumps({"operator": {"topologyAwareScheduling": {"domainToLabelMapping": MAPPING}}})
REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def kueue(text: str) -> Translation:
    return translate([Source("f", f"{SETTINGS}\n---\n{text}".encode())], "kueue")


def asked(job_set: dict[str, Any]) -> tuple[str, int, int, dict[str, str]]:
    """Name, replicas, pods of each, and annotations of a JobSet with one kind of job."""
    (job,) = job_set["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]
    annotations = spec["template"].get("metadata", {}).get("annotations", {})
    return job_set["metadata"]["name"], job["replicas"], spec["parallelism"], annotations


def test_the_mapping_becomes_kueues_topology() -> None:
    topology, *_ = kueue(graph([service("A", domain="rack")])).objects

    assert topology["spec"]["levels"] == [
        {"nodeLabel": "example.com/zone"},
        {"nodeLabel": "example.com/rack"},
        {"nodeLabel": "kubernetes.io/hostname"},
    ]


def test_a_service_on_one_node_is_asked_to_be_in_its_own_or_an_inherited_domain() -> None:
    _, own = kueue(graph([service("A", 3, "rack")], "zone")).objects
    _, inherited = kueue(graph([service("A", 3)], "zone")).objects

    assert asked(own) == ("graph-a", 1, 3, {REQUIRED: "example.com/rack"})
    assert asked(inherited) == ("graph-a", 1, 3, {REQUIRED: "example.com/zone"})


def test_each_replica_of_a_service_on_several_nodes_is_a_slice() -> None:
    _, made = kueue(graph([service("A", 3, "rack", nodes=4)], "zone")).objects

    assert asked(made) == (
        "graph-a",
        3,
        4,
        {
            REQUIRED: "example.com/zone",
            "kueue.x-k8s.io/podset-slice-required-topology": "example.com/rack",
            "kueue.x-k8s.io/podset-slice-size": "4",
        },
    )


def test_that_components_share_a_domain_cannot_be_said() -> None:
    found = kueue(graph([service("A"), service("B")], "zone"))

    assert [str(problem) for problem in found.problems] == [
        'f:2:spec.topologyConstraint.packDomain: Kueue places each component in one "zone", but cannot be told that'
        " all 2 share it. Constrain each by itself, or use Grove."
    ]
    assert [asked(each)[3] for each in found.objects[1:]] == [{REQUIRED: "example.com/zone"}] * 2


def test_pods_and_queue_are_those_of_the_deployment() -> None:
    extra = {"mainContainer": {"image": "vllm"}, "nodeSelector": {"gpu": "h100"}, "schedulerName": "other"}
    metadata = {"labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
    (made,) = kueue(graph([service("A", extraPodSpec=extra)], metadata=metadata)).objects
    pod = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]

    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    assert pod == {
        "containers": [{"name": "main", "image": "vllm"}],
        "nodeSelector": {"gpu": "h100"},
        "restartPolicy": "OnFailure",
    }


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


def test_what_is_made_for_kueue_is_understood_there() -> None:
    made = kueue(graph([service("A", 2, "rack", nodes=4), service("B", 3, "host")])).objects
    found = reading(*(json.dumps(each) for each in made), *queues("dynamo-domains"))

    assert [str(problem) for problem in found.problems] == []
    assert [(each.dialect, each.object.name, each.request is not None) for each in found.workloads] == [
        ("kueue", "graph-a", True),
        ("kueue", "graph-b", True),
    ]
