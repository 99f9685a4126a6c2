"""Affinity, anti-affinity and spreading as Kubernetes writes them, and what they become."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.apis import core_v1
from closeknit.dialects.core.neighbours import NeighbourReader
from closeknit.dialects.core.pod_specs import pod_labels, pod_spec
from closeknit.hub.neighbours import Apart, NamespaceSelector, Near, PodRule, PodSelector, Spread
from closeknit.hub.nodes import Operator, Requirement
from closeknit.hub.request import PodSet

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
LABELS = {"app": "x", "pod-template-hash": "7f", "job-name": "j"}
OWN = frozenset(["team"])
APP = Requirement("app", Operator.IN, ("x",))
TEAM = Requirement("team", Operator.IN, ("a",))


def reader(spec: dict[str, Any]) -> NeighbourReader:
    """Reads a pod of namespace ``team`` with some labels."""
    given = msgspec.convert({"containers": [], **spec}, core_v1.PodSpec)
    return NeighbourReader(given, "team", LABELS)


def anti(*terms: dict[str, Any]) -> dict[str, Any]:
    """Required anti-affinity."""
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


def near(*terms: dict[str, Any]) -> dict[str, Any]:
    """Required affinity."""
    return {"affinity": {"podAffinity": {REQUIRED: list(terms)}}}


def term(key: str = HOST, app: str = "x", **more: Any) -> dict[str, Any]:
    """A term about an app."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        pytest.param(anti(term()), [Apart(HOST, PodSelector(OWN, (APP,)))], id="its own namespace"),
        pytest.param(
            anti(term(namespaces=["a", "b"])),
            [Apart(HOST, PodSelector(frozenset("ab"), (APP,)))],
            id="namespaces that are listed",
        ),
        pytest.param(
            anti(term(namespaceSelector={})), [Apart(HOST, PodSelector(None, (APP,)))], id="all namespaces"
        ),
        pytest.param(
            anti(
                term(
                    namespaces=["c"], namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "d"}}
                )
            ),
            [Apart(HOST, PodSelector(frozenset("cd"), (APP,)))],
            id="namespaces by name and by the label that is their name",
        ),
        pytest.param(
            anti(term(namespaces=["c"], namespaceSelector={"matchLabels": {"team": "a"}})),
            [Apart(HOST, PodSelector(None, (APP,), (NamespaceSelector(frozenset("c"), (TEAM,)),)))],
            id="namespaces by name and by labels of their own",
        ),
        pytest.param(
            anti({"topologyKey": HOST}), [Apart(HOST, PodSelector(frozenset()))], id="no selector, nobody"
        ),
        pytest.param(
            anti({"topologyKey": HOST, "labelSelector": {}}),
            [Apart(HOST, PodSelector(OWN))],
            id="an empty selector, everybody",
        ),
        pytest.param(
            anti(term(matchLabelKeys=["pod-template-hash", "gone"], mismatchLabelKeys=["job-name"])),
            [
                Apart(
                    HOST,
                    PodSelector(
                        OWN,
                        (
                            APP,
                            Requirement("pod-template-hash", Operator.IN, ("7f",)),
                            Requirement("job-name", Operator.NOT_IN, ("j",)),
                        ),
                    ),
                )
            ],
            id="the pod's own values",
        ),
        pytest.param(
            near(term("zone"), term("rack", "y", namespaces=["team", "b"])),
            [
                Near(
                    ("rack", "zone"),
                    PodSelector(OWN, (APP, Requirement("app", Operator.IN, ("y",)))),
                )
            ],
            id="terms of affinity mean pods that all of them mean",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {PREFERRED: [{"weight": 3, "podAffinityTerm": term("zone")}]},
                    "podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": term()}]},
                }
            },
            [Near(("zone",), PodSelector(OWN, (APP,)), 3), Apart(HOST, PodSelector(OWN, (APP,)), 5)],
            id="preferred terms",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {
                        "topologyKey": "zone",
                        "maxSkew": 2,
                        "minDomains": 3,
                        "whenUnsatisfiable": "DoNotSchedule",
                        "nodeAffinityPolicy": "Ignore",
                        "nodeTaintsPolicy": "Honor",
                        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                    },
                    {**term("rack"), "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
                ]
            },
            [
                Spread(
                    "zone",
                    PodSelector(OWN, (Requirement("app", Operator.EXISTS),)),
                    2,
                    3,
                    heeds_filter=False,
                    heeds_taints=True,
                ),
                Spread("rack", PodSelector(OWN, (APP,)), required=False),
            ],
            id="spreading",
        ),
    ],
)
def test_rules_are_read_and_what_is_written_is_read_alike(spec: dict[str, Any], rules: list[PodRule]) -> None:
    first = reader(spec)
    found = first.read()
    written = pod_spec(PodSet("p", 1, neighbour=found))

    assert list(found.rules) == rules
    assert first.problems == []
    assert reader({key: value for key, value in written.items() if key != "containers"}).read() == found
    assert pod_labels(PodSet("p", 1, neighbour=found)) == dict(found.labels)


def test_labels_that_tell_equal_pods_apart_count_where_a_rule_speaks_of_them() -> None:
    assert dict(reader({}).read().labels) == {"app": "x", "pod-template-hash": "7f"}
    assert dict(reader(anti(term(matchLabelKeys=["job-name"]))).read().labels) == LABELS


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param(anti({"labelSelector": {}}), "topologyKey", id="no topology key"),
        pytest.param(
            anti(
                {"topologyKey": "k", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}
            ),
            "operator",
            id="an operator of nodes",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {"topologyKey": "k", "maxSkew": 0, "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            "maxSkew",
            id="no skew",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"topologyKey": "k", "whenUnsatisfiable": "Never"}]},
            "whenUnsatisfiable",
            id="an unknown word",
        ),
        pytest.param(
            {"affinity": {"podAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": term()}]}}},
            "weight",
            id="too large a weight",
        ),
    ],
)
def test_what_is_wrong_is_told(spec: dict[str, Any], where: str) -> None:
    found = reader(spec)
    found.read()
    assert [problem.path[-1] for problem in found.problems] == [where]
