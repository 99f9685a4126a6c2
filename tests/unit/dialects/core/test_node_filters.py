"""Which nodes a pod accepts: selectors, affinity and tolerations."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.nodes import (
    NAME_FIELD,
    Effect,
    NodeFilter,
    Operator,
    Preference,
    Requirement,
    Term,
    Toleration,
)
from closeknit.hub.problems import Range
from closeknit.hub.sentences import core
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.core.read_pods import PREFERRED, REQUIRED, affinity, read
from tests.unit.dialects.expected import unknown_choice


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_filters() -> None:
    spec = affinity(
        {"matchExpressions": [expression("a", "In", "x", "y"), expression("b", "Gt", "3")]},
        {"matchFields": [expression(NAME_FIELD, "NotIn", "n1")]},
        {},
        preferred=[
            {"weight": 7, "preference": {"matchExpressions": [expression("c", "Exists")]}},
            {"weight": 1, "preference": {}},
        ],
    )
    spec["nodeSelector"] = {"z": "1", "a": "2"}
    spec["tolerations"] = [
        {"operator": "Exists"},
        {"key": "k", "value": "v", "effect": "NoSchedule", "tolerationSeconds": 5},
        {"key": "k"},
    ]

    found = read(spec)

    assert found.problems == ()
    assert found.shape.filter == NodeFilter(
        selector=(("a", "2"), ("z", "1")),
        affinity=(
            Term((Requirement("a", Operator.IN, ("x", "y")), Requirement("b", Operator.GT, ("3",)))),
            Term((Requirement(NAME_FIELD, Operator.NOT_IN, ("n1",)),)),
            Term(()),
        ),
        preferences=(Preference(7, Term((Requirement("c", Operator.EXISTS),))),),
        tolerations=(
            Toleration(),
            Toleration("k", "v", Effect.NO_SCHEDULE),
            Toleration("k", ""),
        ),
    )


def test_an_empty_list_of_terms_is_a_problem_and_no_affinity_is_none() -> None:
    spec: dict[str, Any] = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}}

    assert findings(read(spec).problems) == [
        finding(core.NO_TERMS, f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms")
    ]
    assert read({}).shape.filter == NodeFilter()


TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"


@pytest.mark.parametrize(
    ("term", "want"),
    [
        pytest.param(
            {"matchExpressions": [expression("a", "in", "x")]},
            unknown_choice(
                f"{TERM}.matchExpressions[0].operator",
                "in",
                ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"),
            ),
            id="operators are written exactly",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "In")]},
            finding(core.VALUES_MISSING, f"{TERM}.matchExpressions[0].values", operator="In"),
            id="In needs values",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Exists", "x")]},
            finding(core.VALUES_GIVEN, f"{TERM}.matchExpressions[0].values", operator="Exists"),
            id="Exists takes none",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Lt", "ten")]},
            finding(core.ONE_NUMBER_NEEDED, f"{TERM}.matchExpressions[0].values", operator="Lt"),
            id="Lt compares numbers",
        ),
        pytest.param(
            {"matchExpressions": [expression("", "Exists")]},
            finding(core.REQUIREMENT_WITHOUT_KEY, f"{TERM}.matchExpressions[0].key"),
            id="a key cannot be empty",
        ),
        pytest.param(
            {"matchFields": [expression("metadata.uid", "In", "x")]},
            finding(
                core.UNKNOWN_MATCH_FIELD,
                f"{TERM}.matchFields[0].key",
                key="metadata.uid",
                allowed="metadata.name",
            ),
            id="only the name is a field",
        ),
        pytest.param(
            {"matchFields": [expression(NAME_FIELD, "Exists")]},
            finding(core.MATCH_FIELD_OPERATOR, f"{TERM}.matchFields[0].operator"),
            id="a field is matched with In or NotIn",
        ),
    ],
)
def test_terms(term: dict[str, Any], want: Finding) -> None:
    assert findings(read(affinity(term)).problems) == [want]


def test_a_weight_is_between_one_and_a_hundred() -> None:
    preferred = {"weight": 0, "preference": {"matchExpressions": [expression("c", "Exists")]}}

    assert findings(read(affinity(preferred=[preferred])).problems) == [
        finding(
            core.OUT_OF_RANGE,
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight",
            value=0,
            allowed=Range(1, 100),
        )
    ]
