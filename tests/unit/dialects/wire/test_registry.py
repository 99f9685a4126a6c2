"""Documents are known by their kind, lists are taken apart, and objects are told apart by their keys."""

from __future__ import annotations

import json

import pytest

from closeknit.dialects import Source, read
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import wire
from closeknit.hub.workload import ObjectName
from tests.kit.common_problems import described, not_found
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.kit import node, pod, pod_group, reading, reported

NO_API_VERSION = finding(wire.UNTYPED_OBJECT, "1:apiVersion", field="apiVersion", example="v1")


def object_twice(where: str, kind: str, name: str, origin: str) -> Finding:
    return finding(wire.OBJECT_TWICE, where, kind=kind, name=name, origin=origin)


def unknown_version(kind: str, version: str, written: str, known: str) -> Finding:
    remedy = OneOf.among(written, [known])
    return finding(wire.UNKNOWN_VERSION, "1:apiVersion", kind=kind, version=version, remedy=remedy)


def test_two_nodes_of_one_name_are_a_problem_that_names_both_places() -> None:
    sources = [
        Source("a.yaml", node("n").encode()),
        Source("b.yaml", f"# x\n---\n{node('m')}\n---\n{node('n')}".encode()),
    ]

    problems = read(sources).problems

    assert [problem.source for problem in problems] == ["b.yaml"]
    assert findings(problems) == [object_twice("2:metadata.name", "Node", "n", "a.yaml, document 1")]


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    assert reported(pod_group({}), pod_group({}, namespace="x")) == []
    assert reported(pod_group({}), pod_group({}, namespace="default")) == [
        object_twice("2:metadata.name", "PodGroup", "g", "f, document 1")
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("[1, 2]", finding(wire.NO_OBJECT, "1:-", found=described([])), id="a list"),
        pytest.param(
            "hello",
            finding(wire.NO_OBJECT, "1:-", found=described("hello")),
            id="a word",
        ),
        pytest.param(
            "a: 1",
            NO_API_VERSION,
            id="no apiVersion",
        ),
        pytest.param(
            "apiVersion: 1",
            NO_API_VERSION,
            id="a number",
        ),
        pytest.param(
            "apiVersion: v1",
            finding(wire.UNTYPED_OBJECT, "1:kind", field="kind", example="Node"),
            id="no kind",
        ),
        pytest.param(
            "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGrop}",
            finding(
                wire.UNKNOWN_KIND,
                "1:kind",
                kind="PodGrop",
                remedy=OneOf.among("PodGrop", ["BindRequest", "PodGroup", "Queue"]),
            ),
            id="a misspelt kind",
        ),
        pytest.param(
            "{apiVersion: schedulng.run.ai/v2alpha2, kind: PodGroup}",
            finding(wire.UNKNOWN_GROUP, "1:apiVersion", group="schedulng.run.ai", near="scheduling.run.ai"),
            id="a misspelt group",
        ),
        pytest.param(
            "{apiVersion: scheduling.run.ai/v2, kind: PodGroup}",
            unknown_version("PodGroup", "v2", "scheduling.run.ai/v2", "scheduling.run.ai/v2alpha2"),
            id="another version",
        ),
        pytest.param(
            "{apiVersion: v2, kind: Pod}",
            unknown_version("Pod", "v2", "v2", "v1"),
            id="another version of the core",
        ),
    ],
)
def test_what_has_no_known_kind_is_a_problem(text: str, want: Finding) -> None:
    assert reported(text) == [want]


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
    assert findings(found.problems) == [
        finding(wire.UNTYPED_OBJECT, "1:items[1].items[1].apiVersion", field="apiVersion", example="v1"),
        finding(wire.NO_OBJECT, "1:items[2]", found=described(5)),
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
    assert reported('{"apiVersion": "v1", "kind": "List", "itmes": []}') != []


def test_a_second_file_of_a_kind_without_names_is_told_at_the_key_that_it_is_known_by() -> None:
    assert reported("operator: {}", "operator: {}") == [
        object_twice("2:operator", "OperatorConfiguration", "dynamo-operator", "f, document 1")
    ]


def test_objects_without_a_name_are_never_offered_as_one_that_was_meant() -> None:
    nameless = '{"apiVersion": "v1", "kind": "Node", "metadata": {}}'

    problems = reported(nameless, pod("p", nodeName="nope"))

    assert [problem for problem in problems if problem.where == "2:spec.nodeName"] == [
        not_found("2:spec.nodeName", "node", "nope")
    ]


def test_an_item_of_a_list_is_named_by_its_path() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(node("a"))] * 2})

    assert reported(listed) == [
        object_twice("1:items[1].metadata.name", "Node", "a", "f, document 1, items[0]")
    ]
