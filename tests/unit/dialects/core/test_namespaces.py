"""Rules about pods of namespaces with certain labels: by name where Namespaces are in sight, else left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.hub.neighbours import Apart, Near
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.workloads import problems_of
from tests.unit.dialects.kit import node, pod, reading
from tests.unit.dialects.kueue import kit as kueue

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def namespace(name: str, **labels: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})


def term(**more: Any) -> dict[str, Any]:
    return {"topologyKey": HOST, "labelSelector": {}, **more}


def with_terms(kind: str, *terms: dict[str, Any], **spec: Any) -> str:
    affinity = {kind: {REQUIRED: list(terms)}}
    return pod("p", schedulerName="kai-scheduler", affinity=affinity, **spec)


TEAM_A = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
SPACES = (namespace("one", team="a"), namespace("two", team="b"), namespace("three", team="a", tier="x"))


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        pytest.param([TEAM_A], {"one", "three"}, id="by labels"),
        pytest.param([{**TEAM_A, "namespaces": ["two"]}], {"one", "two", "three"}, id="and by name"),
        pytest.param([TEAM_A, {"namespaces": ["one", "two"]}], {"one"}, id="that all terms mean"),
        pytest.param(
            [{"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}],
            {"three"},
            id="that have a label",
        ),
        pytest.param(
            [
                {
                    "namespaceSelector": {
                        "matchExpressions": [
                            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["one"]}
                        ]
                    }
                }
            ],
            {"two", "three"},
            id="of any other name",
        ),
    ],
)
def test_namespaces_that_are_in_sight_are_named(terms: list[dict[str, Any]], names: set[str]) -> None:
    found = reading(*SPACES, with_terms("podAffinity", *(term(**each) for each in terms)))

    (workload,) = found.workloads
    assert workload.notes == ()
    assert isinstance(workload, PlaceableWorkload)
    ((rule,),) = [pods.neighbour.rules for pods in workload.request.root.pod_sets()]
    assert isinstance(rule, Near)
    assert (rule.selector.namespaces, rule.selector.within) == (frozenset(names), ())


def test_without_a_namespace_in_sight_the_rule_is_left_out_with_a_note() -> None:
    (workload,) = reading(with_terms("podAntiAffinity", term(**TEAM_A))).workloads

    assert [note.code.name for note in workload.notes] == ["namespaces-not-in-sight"]
    assert isinstance(workload, PlaceableWorkload)
    assert [pods.neighbour.rules for pods in workload.request.root.pod_sets()] == [()]


def test_running_pods_keep_away_those_of_namespaces_with_these_labels() -> None:
    running = with_terms("podAntiAffinity", term(**TEAM_A), nodeName="n")

    (holding,) = reading(*SPACES, node("n"), running).cluster.holdings
    (rule,) = holding.neighbour.rules

    assert isinstance(rule, Apart)
    assert rule.selector.namespaces == frozenset({"one", "three"})
    unknown = reading(node("n"), running)
    assert [each.problem.code.name for each in unknown.notes] == ["namespaces-not-in-sight"]
    assert [held.neighbour.rules for held in unknown.cluster.holdings] == [()]


def test_a_translation_passes_the_selector_on() -> None:
    job = kueue.job(pod={"affinity": {"podAntiAffinity": {REQUIRED: [term(**TEAM_A, namespaces=["b"])]}}})

    made = translate([Source("f", job.encode())], "kai")

    (written,) = {
        json.dumps(each["spec"]["affinity"], sort_keys=True) for each in made.objects if each["kind"] == "Pod"
    }
    (found,) = json.loads(written)["podAntiAffinity"][REQUIRED]
    assert found["namespaces"] == ["b"]
    assert found["namespaceSelector"] == {
        "matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]
    }


def test_a_queue_whose_namespace_is_not_in_sight_takes_it_with_a_note() -> None:
    given = [*kueue.QUEUES[:2], kueue.cluster_queue(namespaceSelector={"matchLabels": {"team": "a"}})]

    def told(*more: str) -> list[str]:
        (workload,) = reading(*given, kueue.local_queue(), kueue.job(), *more).workloads
        return [each.code.name for each in (*problems_of(workload), *workload.notes)]

    assert told() == ["kueue-namespace-not-in-sight"]
    assert told(namespace("default", team="a")) == []
    assert told(namespace("default", team="b")) == ["kueue-namespace-not-taken"]
