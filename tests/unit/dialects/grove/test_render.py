"""What holds for all that Grove makes of a PodCliqueSet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit import Unplaceable, solve
from closeknit.dialects import Source, translate
from closeknit.dialects.grove.to_cliques import to_cliques
from closeknit.dialects.grove.to_gangs import to_gangs
from closeknit.dialects.grove.to_pod_groups import to_pod_groups as pod_groups_of
from closeknit.dialects.grove.to_pods import to_pods
from closeknit.hub.workload import PlaceableWorkload
from tests.counting import calls
from tests.unit.dialects.grove.sets import (
    SERVING,
    clique,
    configuration,
    group,
    made,
    pod_clique_set,
    pod_spec,
    topology,
)
from tests.unit.dialects.kit import reading


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
        assert isinstance(workload, PlaceableWorkload)
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
