"""Documents are known by their kind, lists are taken apart, and objects are told apart by their keys."""

from __future__ import annotations

import json

import pytest

from closeknit.dialects import Source, read
from closeknit.hub.workload import ObjectName
from tests.unit.dialects.kit import node, pod, pod_group, problems, reading


def test_two_nodes_of_one_name_are_a_problem_that_names_both_places() -> None:
    sources = [
        Source("a.yaml", node("n").encode()),
        Source("b.yaml", f"# x\n---\n{node('m')}\n---\n{node('n')}".encode()),
    ]

    assert [str(problem) for problem in read(sources).problems] == [
        'b.yaml:2:metadata.name: There is already a Node "n" in a.yaml, document 1. Remove one, or rename it.'
    ]


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    assert problems(pod_group({}), pod_group({}, namespace="x")) == []
    assert problems(pod_group({}), pod_group({}, namespace="default")) == [
        '2:metadata.name: There is already a PodGroup "g" in f, document 1. Remove one, or rename it.'
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "[1, 2]", "1:-: Found a list where an object with apiVersion and kind is expected.", id="a list"
        ),
        pytest.param(
            "hello",
            '1:-: Found "hello", a string, where an object with apiVersion and kind is expected.',
            id="a word",
        ),
        pytest.param(
            "a: 1", '1:apiVersion: An object needs apiVersion, a string such as "v1".', id="no apiVersion"
        ),
        pytest.param(
            "apiVersion: 1", '1:apiVersion: An object needs apiVersion, a string such as "v1".', id="a number"
        ),
        pytest.param(
            "apiVersion: v1", '1:kind: An object needs kind, a string such as "Node".', id="no kind"
        ),
        pytest.param(
            "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGrop}",
            '1:kind: There is no kind "PodGrop" in this API group. Did you mean "PodGroup"?'
            ' Allowed: "BindRequest", "PodGroup", "Queue".',
            id="a misspelt kind",
        ),
        pytest.param(
            "{apiVersion: schedulng.run.ai/v2alpha2, kind: PodGroup}",
            '1:apiVersion: There is no API group "schedulng.run.ai". Did you mean "scheduling.run.ai"?',
            id="a misspelt group",
        ),
        pytest.param(
            "{apiVersion: scheduling.run.ai/v2, kind: PodGroup}",
            '1:apiVersion: PodGroup is not read in version "v2". Did you mean "scheduling.run.ai/v2alpha2"?'
            ' Allowed: "scheduling.run.ai/v2alpha2".',
            id="another version",
        ),
        pytest.param(
            "{apiVersion: v2, kind: Pod}",
            '1:apiVersion: Pod is not read in version "v2". Allowed: "v1".',
            id="another version of the core",
        ),
    ],
)
def test_what_has_no_known_kind_is_a_problem(text: str, want: str) -> None:
    assert problems(text) == [want]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
        ("scheduling.run.ai/v1alpha2", "BindRequest"),
    ],
)
def test_kinds_of_others_are_passed_over(api_version: str, kind: str) -> None:
    found = reading(f"{{apiVersion: {api_version}, kind: {kind}, anything: [1]}}")

    assert found.problems == ()
    assert [(skipped.document, skipped.api_version, skipped.kind) for skipped in found.skipped] == [
        (1, api_version, kind)
    ]


def test_lists_are_flattened_and_paths_go_through_them() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [json.loads(node("b")), {"kind": "Node"}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [json.loads(node("a")), inner, 5]}
    found = reading(json.dumps(outer))

    assert [one.name for one in found.cluster.nodes] == ["a", "b"]
    assert [str(problem) for problem in found.problems] == [
        'f:1:items[1].items[1].apiVersion: An object needs apiVersion, a string such as "v1".',
        "f:1:items[2]: Found 5, a number, where an object with apiVersion and kind is expected.",
    ]


def test_items_of_a_typed_list_need_not_say_what_they_are() -> None:
    items = [{"metadata": {"name": "a"}, "spec": {"nope": 1}}, {"metadata": {"name": "b"}}]
    found = reading(json.dumps({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": items}))

    assert [one.name for one in found.cluster.nodes] == ["a", "b"]
    assert [(problem.problem.where, problem.object) for problem in found.problems] == [
        ("items[0].spec.nope", ObjectName("v1", "Node", "", "a"))
    ]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param('"kind": "List", "items": null', id="items that are null"),
        pytest.param('"kind": "List"', id="no items at all"),
        pytest.param('"kind": "NodeList", "metadata": {"resourceVersion": "1"}', id="a typed list"),
    ],
)
def test_a_list_without_items_is_empty(fields: str) -> None:
    found = reading(f'{{"apiVersion": "v1", {fields}}}')

    assert (found.problems, found.skipped) == ((), ())


def test_a_list_whose_items_are_misspelt_is_not_taken_for_an_empty_one() -> None:
    assert problems('{"apiVersion": "v1", "kind": "List", "itmes": []}') != []


def test_a_second_file_of_a_kind_without_names_is_told_at_the_key_that_it_is_known_by() -> None:
    assert problems("operator: {}", "operator: {}") == [
        '2:operator: There is already a OperatorConfiguration "dynamo-operator" in f, document 1.'
        " Remove one, or rename it."
    ]


def test_objects_without_a_name_are_never_offered_as_one_that_was_meant() -> None:
    nameless = '{"apiVersion": "v1", "kind": "Node", "metadata": {}}'

    (found,) = (each for each in problems(nameless, pod("p", nodeName="nope")) if "nodeName" in each)

    assert found == '2:spec.nodeName: There is no node "nope". None is given; add it, or name none.'


def test_an_item_of_a_list_is_named_by_its_path() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(node("a"))] * 2})

    assert problems(listed) == [
        '1:items[1].metadata.name: There is already a Node "a" in f, document 1, items[0].'
        " Remove one, or rename it."
    ]
