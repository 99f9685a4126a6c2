"""The PodCliqueSet of a deployment: the mapping table, names, and what goes by way of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.dialects.dynamo.to_pod_clique_set import checksum, set_name, to_pod_clique_set
from closeknit.hub.problems import OneOf
from closeknit.hub.request import Group
from closeknit.hub.sentences import grove
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.dynamo.graphs import deployment, graph, service
from tests.unit.dialects.grove.sets import LEVELS, clique, pod_clique_set, topology
from tests.unit.dialects.kit import reading, reported, request

GPU = {"limits": {"gpu": "4"}}


def template(text: str) -> dict[str, Any]:
    found: dict[str, Any] = to_pod_clique_set(deployment(text), "default", "grove-topology")["spec"][
        "template"
    ]
    return found


def close(found: dict[str, Any]) -> dict[str, Any]:
    """By place, the constraints of a template."""
    listed = [*found["cliques"], *found.get("podCliqueScalingGroups", [])]
    named = {each["name"]: each.get("topologyConstraint") for each in listed}
    return {"": found.get("topologyConstraint"), **named}


def whole(domain: str) -> dict[str, Any]:
    return {"topologyName": "grove-topology", "pack": {"required": domain}}


def test_a_constraint_of_the_deployment_stands_on_the_template_and_is_inherited() -> None:
    assert close(template(graph([service("Worker", 2), service("Multi", nodes=2)], "zone"))) == {
        "": whole("zone"),
        "worker": None,
        "multi-ldr": None,
        "multi-wkr": None,
        "multi": None,
    }


def test_a_constraint_of_a_service_on_one_node_stands_on_its_clique() -> None:
    found = close(template(graph([service("Worker", 2, "rack")], "zone")))

    assert found == {"": whole("zone"), "worker": {"pack": {"required": "rack"}}}


def test_a_constraint_of_a_service_on_several_nodes_stands_on_its_scaling_group_alone() -> None:
    assert close(template(graph([service("Worker", 2, "rack", nodes=4)], "zone"))) == {
        "": whole("zone"),
        "worker-ldr": None,
        "worker-wkr": None,
        "worker": {"pack": {"required": "rack"}},
    }


@pytest.mark.requirement("D51")
def test_without_a_constraint_of_the_deployment_a_service_names_the_topology_itself() -> None:
    assert close(template(graph([service("Worker", domain="rack"), service("Front")]))) == {
        "": None,
        "worker": whole("rack"),
        "front": None,
    }


def test_without_constraints_there_are_none() -> None:
    assert set(close(template(graph([service("Worker")]))).values()) == {None}


def test_several_nodes_are_a_leader_and_workers() -> None:
    found = template(graph([service("Worker", 3, nodes=4, minAvailable=2)]))
    (group,) = found["podCliqueScalingGroups"]

    assert group == {
        "name": "worker",
        "cliqueNames": ["worker-ldr", "worker-wkr"],
        "replicas": 3,
        "minAvailable": 2,
    }
    counts = [
        (each["name"], each["spec"]["replicas"], each["spec"]["minAvailable"]) for each in found["cliques"]
    ]
    assert counts == [("worker-ldr", 1, 1), ("worker-wkr", 3, 3)]


@pytest.mark.requirement("D14", "D15")
@pytest.mark.parametrize("version", ["a mapping", "a list", "components"])
@pytest.mark.requirement("D14", "D15")
def test_all_ways_to_list_services_mean_the_same(version: str) -> None:
    container = {"name": "main", "image": "vllm", "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    match version:
        case "a mapping":
            pod: dict[str, Any] = {"extraPodSpec": {"mainContainer": {"image": "vllm"}}, "resources": GPU}
            text = graph({"Worker": service(replicas=2, domain="rack", **pod)}, "zone")
        case "a list":
            pod = {"extraPodSpec": {"mainContainer": {"image": "vllm"}}, "resources": GPU}
            text = graph([service("Worker", 2, "rack", **pod)], "zone")
        case _:
            constraint = {"clusterTopologyName": "grove-topology", "packDomain": "zone"}
            component = service("Worker", 2, "rack", podTemplate={"spec": {"containers": [container]}})
            text = graph([component], version="v1beta1", topologyConstraint=constraint)
    found = template(text)

    assert close(found) == {"": whole("zone"), "worker": {"pack": {"required": "rack"}}}
    (clique,) = found["cliques"]
    assert clique["spec"]["podSpec"] == {"schedulerName": "kai-scheduler", "containers": [container]}


def test_amounts_of_a_service_become_those_of_its_main_container() -> None:
    resources = {
        "requests": {"cpu": "8", "memory": "1Gi", "gpu": "2", "gpuType": "gpu.intel.com/xe"},
        "limits": {"custom": {"example.com/nic": "1"}},
    }
    extra = {
        "mainContainer": {"resources": {"requests": {"cpu": "1"}}},
        "containers": [{"name": "side"}],
        "tolerations": [],
    }
    (clique,) = template(graph([service("A", resources=resources, extraPodSpec=extra)]))["cliques"]

    assert clique["spec"]["podSpec"] == {
        "schedulerName": "kai-scheduler",
        "tolerations": [],
        "containers": [
            {
                "name": "main",
                "resources": {
                    "requests": {"cpu": "8", "memory": "1Gi", "gpu.intel.com/xe": "2"},
                    "limits": {"example.com/nic": "1"},
                },
            },
            {"name": "side"},
        ],
    }


@pytest.mark.parametrize(
    ("name", "services", "want"),
    [
        pytest.param("graph", [service("Worker")], "graph", id="a short name is kept"),
        pytest.param(
            "g" * 40, [service("Worker")], f"{'g' * 34}-9ccd", id="a long one is cut, with a checksum"
        ),
        pytest.param("g" * 20, [service("W" * 30, nodes=2)], "ggg-60d1", id="it is never cut below eight"),
    ],
)
def test_the_name_of_the_set_leaves_room_for_those_of_its_pods(
    name: str, services: list[dict[str, Any]], want: str
) -> None:
    assert set_name(deployment(graph(services, name=name))) == want


@pytest.mark.parametrize(("text", "want"), [("a", 0x292C), ("foobar", 0xF968)])
def test_the_checksum_is_the_one_that_is_published(text: str, want: int) -> None:
    assert checksum(text) == want


def test_the_queue_is_named_by_an_annotation() -> None:
    named = {"annotations": {"nvidia.com/kai-scheduler-queue": "prod"}}
    for metadata, want in (({}, "dynamo"), (named, "prod")):
        (clique,) = template(graph([service("A")], metadata=metadata))["cliques"]
        assert clique["labels"]["kai.scheduler/queue"] == want


def test_a_service_scaled_to_nothing_has_no_clique_and_a_deployment_without_any_no_replica() -> None:
    some = template(graph([service("A", 0), service("B", 1)]))
    none = to_pod_clique_set(deployment(graph([service("A", 0)])), "default", "")

    assert [clique["name"] for clique in some["cliques"]] == ["b"]
    assert (none["spec"]["replicas"], len(none["spec"]["template"]["cliques"])) == (0, 1)


def test_an_override_can_say_a_preference() -> None:
    constraint = {"topologyName": "grove-topology", "pack": {"preferred": "rack"}}
    override = {"apiVersion": "grove.io/v1alpha1", "value": {"topologyConstraint": constraint}}
    text = graph([service("A", nodes=2, providerOverride=override)], version="v1beta1")
    groups = {
        member.name: member
        for member, _ in request(topology(), text).root.walk()
        if isinstance(member, Group)
    }

    assert groups["graph-0-a-0"].preferred == "topology/rack"


def test_a_deployment_asks_for_what_its_set_would() -> None:
    text = graph([service("Worker", 2, "rack", nodes=3, resources=GPU), service("Front")], "zone")
    (made,) = translate([Source("f", f"{topology()}\n---\n{text}".encode())], "grove").objects

    assert request(topology(), text) == request(topology(), json.dumps(made))


def test_gangs_pod_groups_and_pods_come_from_the_set() -> None:
    text = graph([service("Worker", 2, "rack", nodes=3)], "zone", metadata={"uid": "1"})
    sources = [Source("f", f"{topology()}\n---\n{text}".encode())]
    found = {
        target: [(each["kind"], each["metadata"]["name"]) for each in translate(sources, target).objects]
        for target in ("podgang", "kai", "pods")
    }

    assert found["podgang"] == [("PodGang", "graph-0"), ("PodGang", "graph-0-worker-0")]
    assert found["kai"] == [
        ("Topology", "grove-topology"),
        ("PodGroup", "graph-0"),
        ("PodGroup", "graph-0-worker-0"),
    ]
    assert [name for _, name in found["pods"]][:3] == [
        "graph-0-worker-0-worker-ldr-0",
        "graph-0-worker-0-worker-wkr-0",
        "graph-0-worker-0-worker-wkr-1",
    ]
    # The set that will own them does not exist yet, so they cannot name it.
    assert "ownerReferences" not in json.dumps(translate(sources, "podgang").objects)


def test_a_mapping_of_domains_to_labels_takes_the_place_of_a_topology() -> None:
    mapping = {"rack": "example.com/rack", "zone": "example.com/zone"}
    settings = json.dumps({"operator": {"topologyAwareScheduling": {"domainToLabelMapping": mapping}}})
    text = graph([service("A", domain="rack")], "zone")
    found = request(settings, text)
    levels = {member.name: member.required for member, _ in found.root.walk() if isinstance(member, Group)}

    assert levels == {"default/graph": None, "graph-0": "example.com/zone", "graph-0-a": "example.com/rack"}
    assert reported(settings, graph([service("A")], "host")) == [
        finding(
            grove.UNKNOWN_DOMAIN,
            "2:spec.topologyConstraint.packDomain",
            domain="host",
            remedy=OneOf("host", ("zone", "rack")),
            topology="dynamo-domains",
        )
    ]


def test_the_topology_of_grove_goes_before_a_mapping() -> None:
    settings = json.dumps({"operator": {"topologyAwareScheduling": {"domainToLabelMapping": {"zone": "z"}}}})

    assert request(settings, topology(), graph([service("A")], "zone")).topology == "grove-topology"
    assert LEVELS["zone"] != "z"


def test_a_deployment_whose_set_is_there_asks_for_nothing_more() -> None:
    text = graph([service("Worker", 2)])
    made = json.dumps(to_pod_clique_set(deployment(text), "default", ""))
    found = reading(text, made)

    assert found.problems == ()
    assert [(each.dialect, each.object.kind) for each in found.workloads] == [("grove", "PodCliqueSet")]
    assert found.workloads[0].notes == ()


def owned(kind: str, name: str) -> dict[str, Any]:
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "name": name, "uid": "u"}
    return {"ownerReferences": [owner]}


NOTE = finding(
    grove.TAKEN_FOR_DEPLOYMENTS,
    "metadata.name",
    label="nvidia.com/dynamo-graph-deployment-name",
    name="graph",
)


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        pytest.param({}, [NOTE], id="nothing but its name says so"),
        pytest.param(owned("DynamoGraphDeployment", "other"), [NOTE], id="it is owned by another deployment"),
        pytest.param(owned("Job", "graph"), [NOTE], id="it is owned by something else of that name"),
        pytest.param(owned("DynamoGraphDeployment", "graph"), [], id="its owner says so"),
        pytest.param(
            {"labels": {"nvidia.com/dynamo-graph-deployment-name": "graph"}}, [], id="its label says so"
        ),
    ],
)
def test_a_set_is_not_taken_for_that_of_a_deployment_in_silence(
    metadata: dict[str, Any], want: list[Finding]
) -> None:
    own = pod_clique_set(clique("a"), name="graph", metadata=metadata)
    (only,) = reading(graph([service("Worker", 2)]), own).workloads

    assert only.object.kind == "PodCliqueSet"
    assert findings(only.notes) == want
    assert reading(own).workloads[0].notes == ()
