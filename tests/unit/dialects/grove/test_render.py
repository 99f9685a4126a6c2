"""What Grove's operator would create of a PodCliqueSet: names, labels, gates and constraints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import Unplaceable, solve
from closeknit.dialects import Source, translate
from closeknit.dialects.grove.to_cliques import to_cliques
from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.to_pod_groups import queue_of
from closeknit.dialects.grove.to_pod_groups import to_pod_groups as pod_groups_of
from closeknit.dialects.grove.to_pods import to_pods
from tests.counting import calls
from tests.unit.dialects.grove.sets import (
    LEVELS,
    clique,
    configuration,
    group,
    made,
    pod_clique_set,
    pod_spec,
    topology,
)
from tests.unit.dialects.kit import reading

SERVING = pod_clique_set(
    clique("router", domain="block"),
    clique("lead", domain="host"),
    clique("work", 3, minAvailable=2, domain="rack"),
    groups=[group("pre", "lead", "work", domain="rack", replicas=3, minAvailable=1)],
    domain="zone",
    name="srv",
)


def packed(**pack: str) -> dict[str, Any]:
    return {"packConstraint": pack}


def gangs(text: str, levels: Any = LEVELS) -> dict[str, dict[str, Any]]:
    return {gang["metadata"]["name"]: gang for gang in to_gangs(made(text, levels))}


def test_names_of_cliques_and_scaling_groups() -> None:
    found = [(each["kind"], each["metadata"]["name"]) for each in to_cliques(made(SERVING))]

    assert found == [
        ("PodCliqueScalingGroup", "srv-0-pre"),
        ("PodClique", "srv-0-router"),
        ("PodClique", "srv-0-pre-0-lead"),
        ("PodClique", "srv-0-pre-0-work"),
        ("PodClique", "srv-0-pre-1-lead"),
        ("PodClique", "srv-0-pre-1-work"),
        ("PodClique", "srv-0-pre-2-lead"),
        ("PodClique", "srv-0-pre-2-work"),
    ]


def test_a_clique_of_a_scaled_gang_names_its_group_its_gang_and_the_base_gang() -> None:
    found = {each["metadata"]["name"]: each for each in to_cliques(made(SERVING))}["srv-0-pre-2-work"]

    assert found["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "srv",
        "app.kubernetes.io/name": "srv-0-pre-2-work",
        "app.kubernetes.io/component": "pcsg-podclique",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podcliquescalinggroup": "srv-0-pre",
        "grove.io/podcliquescalinggroup-replica-index": "2",
        "grove.io/podgang": "srv-0-pre-1",
        "grove.io/base-podgang": "srv-0",
    }
    assert found["spec"] == {"roleName": "work", "replicas": 3, "minAvailable": 2, "podSpec": pod_spec()}


def test_there_is_a_base_gang_for_each_replica_and_a_scaled_gang_for_each_past_the_minimum() -> None:
    names = ["srv-0", "srv-0-pre-0", "srv-0-pre-1"]
    assert list(gangs(SERVING)) == names

    two = json.loads(SERVING)
    two["spec"]["replicas"] = 2
    assert list(gangs(json.dumps(two))) == [*names, "srv-1", "srv-1-pre-0", "srv-1-pre-1"]


def test_the_base_gang_has_the_constraint_of_the_set_and_a_configuration_for_each_group() -> None:
    base = gangs(SERVING)["srv-0"]

    assert base["metadata"]["annotations"]["grove.io/topology-name"] == "grove-topology"
    assert base["spec"]["topologyConstraint"] == packed(required="topology/zone")
    assert base["spec"]["topologyConstraintGroupConfigs"] == [
        {
            "name": "srv-0-pre-0",
            "podGroupNames": ["srv-0-pre-0-lead", "srv-0-pre-0-work"],
            "topologyConstraint": packed(required="topology/rack"),
        }
    ]
    assert [
        (one["name"], one["minReplicas"], one["topologyConstraint"]) for one in base["spec"]["podgroups"]
    ] == [
        ("srv-0-router", 1, packed(required="topology/block")),
        ("srv-0-pre-0-lead", 1, packed(required="kubernetes.io/hostname")),
        ("srv-0-pre-0-work", 2, packed(required="topology/rack")),
    ]


def test_a_scaled_gang_has_the_constraint_of_its_group_and_no_configurations() -> None:
    scaled = gangs(SERVING)["srv-0-pre-1"]

    assert scaled["spec"]["topologyConstraint"] == packed(required="topology/rack")
    assert "topologyConstraintGroupConfigs" not in scaled["spec"]
    assert [one["name"] for one in scaled["spec"]["podgroups"]] == ["srv-0-pre-2-lead", "srv-0-pre-2-work"]
    assert scaled["spec"]["podgroups"][0]["podReferences"] == [
        {"namespace": "default", "name": "srv-0-pre-2-lead-0"}
    ]


def test_a_scaled_gang_of_a_group_without_a_constraint_falls_back_to_that_of_the_set() -> None:
    text = pod_clique_set(clique("a"), groups=[group("g", "a", replicas=2)], domain="zone")
    found = gangs(text)

    assert found["pcs-0-g-0"]["spec"]["topologyConstraint"] == packed(required="topology/zone")
    assert "topologyConstraintGroupConfigs" not in found["pcs-0"]["spec"]


def test_preferences_reach_the_gang() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "zone", "preferred": "rack"}}
    base = gangs(pod_clique_set(clique("a"), topologyConstraint=pack))["pcs-0"]

    assert base["spec"]["topologyConstraint"] == packed(required="topology/zone", preferred="topology/rack")


def test_a_gang_without_constraints_names_no_topology() -> None:
    base = gangs(pod_clique_set(clique("a")))["pcs-0"]

    assert base["metadata"]["annotations"] == {"kai.scheduler/skip-podgrouper": "true"}
    assert set(base["spec"]) == {"podgroups"}


def test_a_gang_takes_over_labels_and_annotations_that_are_not_groves_own() -> None:
    metadata = {"labels": {"team": "a", "grove.io/x": "y"}, "annotations": {"note": "b", "grove.io/x": "y"}}
    base = gangs(pod_clique_set(clique("a"), metadata=metadata))["pcs-0"]["metadata"]

    assert (base["labels"]["team"], base["annotations"]["note"]) == ("a", "b")
    assert "grove.io/x" not in {*base["labels"], *base["annotations"]}


def test_a_lost_level_takes_only_its_own_constraint_with_it() -> None:
    text = json.loads(SERVING)
    text["metadata"]["uid"] = "1"
    found = gangs(json.dumps(text), {domain: key for domain, key in LEVELS.items() if domain != "rack"})
    base = found["srv-0"]["spec"]

    assert base["topologyConstraint"] == packed(required="topology/zone")
    assert "topologyConstraintGroupConfigs" not in base
    assert [one.get("topologyConstraint") for one in base["podgroups"]] == [
        packed(required="topology/block"),
        packed(required="kubernetes.io/hostname"),
        None,
    ]
    assert found["srv-0-pre-0"]["spec"]["topologyConstraint"] == packed(required="topology/zone")


def test_a_lost_preference_leaves_the_requirement() -> None:
    pack = {"topologyName": "grove-topology", "pack": {"required": "zone", "preferred": "rack"}}
    text = pod_clique_set(clique("a"), topologyConstraint=pack, metadata={"uid": "1"})

    assert gangs(text, {"zone": "z"})["pcs-0"]["spec"]["topologyConstraint"] == packed(required="z")


def test_pods_are_gated_named_and_told_where_they_belong() -> None:
    pods = {pod["metadata"]["name"]: pod for pod in to_pods(made(SERVING))}
    pod = pods["srv-0-pre-1-work-2"]

    assert len(pods) == 1 + 3 * 4
    assert (
        pod["metadata"]["labels"].items()
        >= {
            "grove.io/podclique": "srv-0-pre-1-work",
            "grove.io/podgang": "srv-0-pre-0",
            "grove.io/base-podgang": "srv-0",
            "grove.io/podclique-pod-index": "2",
            "grove.io/podcliquescalinggroup": "srv-0-pre",
            "kai.scheduler/subgroup-name": "srv-0-pre-1-work",
        }.items()
    )
    assert pod["metadata"]["annotations"] == {
        "pod-group-name": "srv-0-pre-0",
        "kai.scheduler/skip-podgrouper": "true",
    }
    assert pod["spec"]["schedulerName"] == "kai-scheduler"
    assert pod["spec"]["schedulingGates"] == [{"name": "grove.io/podgang-pending-creation"}]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("srv-0-pre-1-work-2", "srv-0")
    environment = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    assert environment == {
        "GROVE_PCS_NAME": "srv",
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": "srv-0-pre-1-work",
        "GROVE_HEADLESS_SERVICE": "srv-0.default.svc.cluster.local",
        "GROVE_PCSG_NAME": "srv-0-pre",
        "GROVE_PCSG_INDEX": "1",
        "GROVE_PCSG_TEMPLATE_NUM_PODS": "4",
        "GROVE_PCLQ_POD_INDEX": None,
    }
    assert pod["spec"]["containers"][0]["image"] == "model"


def test_a_pod_of_the_base_gang_has_no_base_to_wait_for() -> None:
    pods = {pod["metadata"]["name"]: pod for pod in to_pods(made(SERVING))}

    assert "grove.io/base-podgang" not in pods["srv-0-pre-0-work-0"]["metadata"]["labels"]
    assert "grove.io/podcliquescalinggroup" not in pods["srv-0-router-0"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("startup", "want"),
    [
        pytest.param("CliqueStartupTypeAnyOrder", {}, id="nobody waits where any order will do"),
        pytest.param(
            "CliqueStartupTypeInOrder",
            {
                "pcs-0-g-0-b": ["pcs-0-a"],
                "pcs-0-g-0-c": ["pcs-0-g-0-b"],
                "pcs-0-g-1-c": ["pcs-0-g-1-b"],
                "pcs-0-d": ["pcs-0-g-0-c"],
            },
            id="in order, each waits for the one before it, in a scaled gang only for its own group",
        ),
        pytest.param(
            "CliqueStartupTypeExplicit",
            {"pcs-0-d": ["pcs-0-g-0-b", "pcs-0-a"]},
            id="explicitly, each waits for whom it names",
        ),
    ],
)
def test_startup_order(startup: str, want: dict[str, list[str]]) -> None:
    text = pod_clique_set(
        clique("a"),
        clique("b"),
        clique("c"),
        clique("d", startsAfter=["b", "a"]),
        groups=[group("g", "b", "c", replicas=2)],
        cliqueStartupType=startup,
    )
    cliques = (each for each in to_cliques(made(text)) if each["kind"] == "PodClique")
    found = {
        each["metadata"]["name"]: each["spec"]["startsAfter"]
        for each in cliques
        if "startsAfter" in each["spec"]
    }

    assert found == want


def test_a_clique_whose_name_ends_like_another_gets_its_own_pods() -> None:
    """Grove looks up the template by the end of a name, so ``b`` may be made like ``a-b``."""
    text = pod_clique_set(clique("a-b", podSpec=pod_spec(8)), clique("b", podSpec=pod_spec(1)))
    found = {each["metadata"]["name"]: each for each in to_cliques(made(text))}

    assert found["pcs-0-a-b"]["spec"]["podSpec"] == pod_spec(8)
    assert found["pcs-0-b"]["spec"]["podSpec"] == pod_spec(1)


def test_a_gang_becomes_a_pod_group_with_parents_for_its_configurations() -> None:
    base, *_ = pod_groups_of(made(SERVING), {}, {})
    close = {"topology": "grove-topology"}

    assert base["metadata"]["name"] == "srv-0"
    assert base["spec"] == {
        "minMember": 4,
        "topologyConstraint": {**close, "requiredTopologyLevel": "topology/zone"},
        "subGroups": [
            {
                "name": "srv-0-pre-0",
                "minSubGroup": 2,
                "topologyConstraint": {**close, "requiredTopologyLevel": "topology/rack"},
            },
            {
                "name": "srv-0-router",
                "minMember": 1,
                "topologyConstraint": {**close, "requiredTopologyLevel": "topology/block"},
            },
            {
                "name": "srv-0-pre-0-lead",
                "parent": "srv-0-pre-0",
                "minMember": 1,
                "topologyConstraint": {**close, "requiredTopologyLevel": "kubernetes.io/hostname"},
            },
            {
                "name": "srv-0-pre-0-work",
                "parent": "srv-0-pre-0",
                "minMember": 2,
                "topologyConstraint": {**close, "requiredTopologyLevel": "topology/rack"},
            },
        ],
    }


def test_a_topology_that_kai_knows_by_another_name_is_called_by_that_name() -> None:
    """Grove at its newest stored state writes its own name all the same."""
    base, *_ = pod_groups_of(made(SERVING), {"grove-topology": "cluster"}, {})

    assert base["spec"]["topologyConstraint"]["topology"] == "cluster"
    assert {each["topologyConstraint"]["topology"] for each in base["spec"]["subGroups"]} == {"cluster"}


def test_what_is_made_for_kai_is_understood_there_with_its_pods() -> None:
    blueprint = made(SERVING)
    topology = {
        "apiVersion": "kai.scheduler/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "grove-topology"},
        "spec": {"levels": [{"nodeLabel": key} for key in LEVELS.values()]},
    }
    objects = [topology, *pod_groups_of(blueprint, {}, {}), *to_pods(blueprint)]
    found = reading(*(json.dumps(each) for each in objects))

    assert [str(problem) for problem in found.problems] == []
    assert [workload.object.name for workload in found.workloads] == ["srv-0", "srv-0-pre-0", "srv-0-pre-1"]
    assert all(workload.request is not None for workload in found.workloads)


def test_a_set_whose_pod_groups_are_there_asks_for_nothing_more() -> None:
    blueprint = made(SERVING)
    topologies = [
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "grove-topology"},
            "spec": {"levels": [{"nodeLabel": key} for key in LEVELS.values()]},
        },
        json.loads(topology()),
    ]
    objects = [
        *topologies,
        json.loads(SERVING),
        *pod_groups_of(blueprint, {}, {}),
        *to_gangs(blueprint),
        *to_pods(blueprint),
    ]
    found = reading(*(json.dumps(each) for each in objects))

    assert [str(problem) for problem in found.problems] == []
    assert {(workload.dialect, workload.object.kind) for workload in found.workloads} == {("kai", "PodGroup")}


@pytest.mark.parametrize(
    ("metadata", "labels", "want", "problem"),
    [
        pytest.param({}, ({}, {}), "", None, id="nobody names a queue"),
        pytest.param(
            {"labels": {"kai.scheduler/queue": "q"}}, ({}, {}), "q", None, id="the set names it by label"
        ),
        pytest.param(
            {"annotations": {"kai.scheduler/queue": "q"}},
            ({}, {}),
            "q",
            None,
            id="the set names it by annotation",
        ),
        pytest.param({}, ({"kai.scheduler/queue": "q"}, {}), "q", None, id="a clique names it"),
        pytest.param(
            {},
            ({"kai.scheduler/queue": "q"}, {"kai.scheduler/queue": "r"}),
            "q",
            'metadata.labels: The cliques are in different queues: "q", "r". A gang has one queue; name it on the set.',
            id="cliques disagree",
        ),
        pytest.param(
            {"labels": {"kai.scheduler/queue": "q"}},
            ({}, {"kai.scheduler/queue": "r"}),
            "q",
            'spec.template.cliques[1].labels: This clique is in queue "r", but the set in "q". Name one queue.',
            id="a clique disagrees with the set",
        ),
    ],
)
def test_the_queue_of_a_set(
    metadata: dict[str, Any], labels: tuple[dict[str, str], ...], want: str, problem: str | None
) -> None:
    cliques = [{**clique(name), "labels": given} for name, given in zip("ab", labels, strict=True)]
    found: list[Any] = []

    assert queue_of(made(pod_clique_set(*cliques, metadata=metadata)).given, found) == want
    assert [str(each) for each in found] == ([problem] if problem else [])


def translated(replicas: int) -> int:
    """Translate a set of so many replicas; returns the number of objects."""
    given = json.loads(SERVING)
    given["spec"]["replicas"] = replicas
    blueprint = made(json.dumps(given))
    count = sum(1 for maker in (to_cliques, to_gangs, to_pods) for _ in maker(blueprint))
    return count + sum(1 for _ in pod_groups_of(blueprint, {}, {}))


def test_a_thousand_replicas_cost_no_more_than_their_number() -> None:
    assert translated(1000) == 1000 * (8 + 3 + 13 + 3)
    assert calls(lambda: translated(200)) < 2.2 * calls(lambda: translated(100))


def waiting_for(replicas: int) -> dict[str, Any]:
    """The cliques of a set in which each of so many waits for one clique, and one clique waits for all of them."""
    text = pod_clique_set(
        clique("last", startsAfter=["work"]),
        clique("work", startsAfter=["first"]),
        clique("first"),
        groups=[group("g", "work", replicas=replicas, minAvailable=replicas)],
        cliqueStartupType="CliqueStartupTypeExplicit",
    )
    return {each["metadata"]["name"]: each for each in to_cliques(made(text))}


def test_a_clique_that_waits_for_a_thousand_others_costs_no_more_than_their_number() -> None:
    objects = waiting_for(1000)

    assert calls(lambda: waiting_for(200)) < 2.2 * calls(lambda: waiting_for(100))
    assert objects["pcs-0-last"]["spec"]["startsAfter"] == [f"pcs-0-g-{i}-work" for i in range(1000)]
    assert objects["pcs-0-g-7-work"]["spec"]["startsAfter"] == ["pcs-0-first"]


ON_CPU = {"containers": [{"name": "main", "image": "model", "resources": {"requests": {"cpu": "500m"}}}]}


@pytest.mark.parametrize(
    ("cliques", "want"),
    [
        pytest.param([clique("a"), clique("b", podSpec=None)], None, id="one GPU each goes without saying"),
        pytest.param(
            [clique("a", podSpec=pod_spec(4)), clique("b", podSpec=pod_spec(4))],
            {"nvidia.com/gpu": "4"},
            id="what all ask for is said once",
        ),
        pytest.param(
            [clique("a", podSpec=pod_spec(4)), clique("b", podSpec=ON_CPU)],
            {"pcs-0-a": {"nvidia.com/gpu": "4"}, "pcs-0-b": {"cpu": "500m"}},
            id="where they differ, it is said for each",
        ),
    ],
)
def test_what_pods_ask_for_is_noted_on_gangs_and_pod_groups(
    cliques: list[dict[str, Any]], want: dict[str, Any] | None
) -> None:
    """Whatever stands on the set: the cliques know better."""
    stale = {"annotations": {"closeknit.dev/pod-resources": '{"nvidia.com/gpu": "9"}'}}
    given = made(pod_clique_set(*cliques, metadata=stale))
    (made_gang,) = to_gangs(given)
    (pod_group,) = pod_groups_of(given, {}, {})

    for each in (made_gang, pod_group):
        noted = each["metadata"]["annotations"].get("closeknit.dev/pod-resources")
        assert (json.loads(noted) if noted is not None else None) == want


@pytest.mark.parametrize("target", ["kai", "podgang"])
def test_what_has_no_room_as_a_set_has_none_as_what_is_made_of_it(target: str) -> None:
    nodes = [
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"n{i}", "labels": {"topology/zone": "z"}},
                "status": {"allocatable": {"nvidia.com/gpu": "1", "cpu": "4", "pods": "10"}},
            }
        )
        for i in range(8)
    ]
    settings = configuration({"zone": "topology/zone"})
    asked = pod_clique_set(clique("a", 2, podSpec=pod_spec(2)), clique("b", 3, podSpec=ON_CPU), domain="zone")
    found = translate([Source("f", f"{settings}\n{asked}".encode())], target)
    assert found.problems == ()
    again = [json.dumps(each) for each in found.objects]

    for texts in ([settings, asked], again):
        read = reading(*texts, *nodes)
        assert read.problems == ()
        (workload,) = read.workloads
        assert workload.request is not None
        assert isinstance(solve(read.cluster, workload.request), Unplaceable)


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        pytest.param(
            [configuration()], ["ClusterTopologyBinding", "PodGang"], id="one of the settings is written"
        ),
        pytest.param(
            [topology(kind="ClusterTopologyBinding")],
            ["PodGang"],
            id="one that is an object is there already",
        ),
        pytest.param(
            [configuration(), topology(kind="ClusterTopologyBinding")],
            ["PodGang"],
            id="one of the settings that Grove made an object of is there as well",
        ),
    ],
)
def test_the_topology_of_gangs(given: list[str], kinds: list[str]) -> None:
    text = "\n".join([*given, pod_clique_set(clique("a"), domain="rack")])
    found = translate([Source("f", text.encode())], "podgang")

    assert [each["kind"] for each in found.objects] == kinds
