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
from tests.unit.dialects.core.read_pods import PREFERRED, REQUIRED, affinity, read


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

    assert [str(problem) for problem in read(spec).problems] == [
        f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: This list is empty."
        " Give at least one term, or leave the requirement out."
    ]
    assert read({}).shape.filter == NodeFilter()


@pytest.mark.parametrize(
    ("term", "want"),
    [
        pytest.param(
            {"matchExpressions": [expression("a", "in", "x")]},
            'matchExpressions[0].operator: "in" is not known. Did you mean "In"?',
            id="operators are written exactly",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "In")]},
            "matchExpressions[0].values: In needs at least one value.",
            id="In needs values",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Exists", "x")]},
            "matchExpressions[0].values: Exists takes no values. Leave them out.",
            id="Exists takes none",
        ),
        pytest.param(
            {"matchExpressions": [expression("a", "Lt", "ten")]},
            "matchExpressions[0].values: Lt needs exactly one value, a whole number in quotes.",
            id="Lt compares numbers",
        ),
        pytest.param(
            {"matchExpressions": [expression("", "Exists")]},
            "matchExpressions[0].key: A requirement needs the key of a label.",
            id="a key cannot be empty",
        ),
        pytest.param(
            {"matchFields": [expression("metadata.uid", "In", "x")]},
            'matchFields[0].key: "metadata.uid" is not a field to match. Allowed: metadata.name.',
            id="only the name is a field",
        ),
        pytest.param(
            {"matchFields": [expression(NAME_FIELD, "Exists")]},
            "matchFields[0].operator: A field is matched with In or NotIn.",
            id="a field is matched with In or NotIn",
        ),
    ],
)
def test_terms(term: dict[str, Any], want: str) -> None:
    (problem,) = read(affinity(term)).problems

    assert str(problem).startswith(f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].{want}")


def test_a_weight_is_between_one_and_a_hundred() -> None:
    preferred = {"weight": 0, "preference": {"matchExpressions": [expression("c", "Exists")]}}
    (problem,) = read(affinity(preferred=[preferred])).problems

    assert (
        str(problem)
        == f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: 0 is out of range. Allowed are 1 to 100."
    )
