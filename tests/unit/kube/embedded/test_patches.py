from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.patches import json_patch, merge_patch, strategic_merge
from closeknit.kube.embedded.shapes import kind_schema


@pytest.mark.parametrize(
    ("target", "patch", "want"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="a value is replaced"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="a value is added"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="null removes"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="a list is replaced"),
        pytest.param(
            {"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="objects are merged"
        ),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="lists are not merged"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="a null that is there stays"),
        pytest.param(
            {}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="nulls within something new vanish"
        ),
    ],
)
def test_a_merge_patch_as_in_its_standard(target: Any, patch: Any, want: Any) -> None:
    assert merge_patch(target, patch) == want


@pytest.mark.parametrize(
    ("operations", "want"),
    [
        pytest.param(
            [{"op": "add", "path": "/list/1", "value": 9}],
            {"list": [1, 9, 2], "map": {"k": "v"}},
            id="add into a list",
        ),
        pytest.param(
            [{"op": "add", "path": "/list/-", "value": 9}],
            {"list": [1, 2, 9], "map": {"k": "v"}},
            id="add to the end",
        ),
        pytest.param(
            [{"op": "remove", "path": "/list/0"}], {"list": [2], "map": {"k": "v"}}, id="remove from a list"
        ),
        pytest.param(
            [{"op": "replace", "path": "/map/k", "value": None}],
            {"list": [1, 2], "map": {"k": None}},
            id="replace by null",
        ),
        pytest.param(
            [{"op": "copy", "from": "/map", "path": "/list/0"}],
            {"list": [{"k": "v"}, 1, 2], "map": {"k": "v"}},
            id="copy",
        ),
        pytest.param(
            [{"op": "move", "from": "/list/0", "path": "/map/k"}], {"list": [2], "map": {"k": 1}}, id="move"
        ),
        pytest.param(
            [{"op": "add", "path": "/map/a~1b~0", "value": 1}],
            {"list": [1, 2], "map": {"k": "v", "a/b~": 1}},
            id="escapes",
        ),
        pytest.param(
            [{"op": "test", "path": "/list", "value": [1, 2]}],
            {"list": [1, 2], "map": {"k": "v"}},
            id="a test that holds",
        ),
    ],
)
def test_a_json_patch(operations: Any, want: Any) -> None:
    target = {"list": [1, 2], "map": {"k": "v"}}

    assert json_patch(target, operations) == want
    assert target == {"list": [1, 2], "map": {"k": "v"}}


@pytest.mark.parametrize(
    ("operations", "error"),
    [
        pytest.param(
            [{"op": "test", "path": "/a", "value": 2}], errors.InvalidObjectError, id="a test that fails"
        ),
        pytest.param(
            [{"op": "remove", "path": "/b"}], errors.InvalidObjectError, id="removing what is not there"
        ),
        pytest.param(
            [{"op": "replace", "path": "/b", "value": 1}],
            errors.InvalidObjectError,
            id="replacing what is not there",
        ),
        pytest.param(
            [{"op": "add", "path": "/a/b", "value": 1}], errors.InvalidObjectError, id="adding to a number"
        ),
        pytest.param(
            [{"op": "add", "path": "/list/9", "value": 1}], errors.InvalidObjectError, id="past the end"
        ),
        pytest.param(
            [{"op": "add", "path": "a", "value": 1}], errors.BadRequestError, id="a path without a slash"
        ),
        pytest.param([{"op": "add", "path": "/a"}], errors.BadRequestError, id="no value"),
        pytest.param([{"op": "wish", "path": "/a"}], errors.BadRequestError, id="no such operation"),
        pytest.param(["add"], errors.BadRequestError, id="an operation that is text"),
        pytest.param({"op": "add"}, errors.BadRequestError, id="no list"),
        pytest.param(
            [{"op": "test", "path": "", "value": 1}] * 10_001,
            errors.RequestTooLargeError,
            id="too many operations",
        ),
    ],
)
def test_a_json_patch_that_cannot_be(operations: Any, error: type[errors.ApiError]) -> None:
    with pytest.raises(error):
        json_patch({"a": 1, "list": []}, operations)


def containers(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, "image": image} for name, image in pairs]}}


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        pytest.param(
            containers(("a", "9")), containers(("a", "9"), ("b", "2")), id="an item is found by its key"
        ),
        pytest.param(
            containers(("c", "3")),
            containers(("a", "1"), ("b", "2"), ("c", "3")),
            id="a new item is appended",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
            containers(("b", "2")),
            id="an item is deleted by a directive",
        ),
        pytest.param(
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "z", "image": "0"}]}},
            containers(("z", "0")),
            id="a list is replaced by a directive",
        ),
        pytest.param(
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                    "containers": [{"name": "a", "image": "9"}],
                }
            },
            containers(("b", "2"), ("a", "9")),
            id="the order is set",
        ),
        pytest.param(
            {"spec": {"$retainKeys": ["containers"]}},
            containers(("a", "1"), ("b", "2")),
            id="keys that are not retained go",
        ),
    ],
)
def test_a_strategic_merge(patch: Any, want: Any) -> None:
    target = containers(("a", "1"), ("b", "2"))

    assert strategic_merge(kind_schema("Pod"), target, patch) == want


def test_a_strategic_merge_of_sets_and_plain_lists() -> None:
    target = {"metadata": {"finalizers": ["a"]}, "spec": {"tolerations": [{"key": "a"}]}}
    patch = {
        "metadata": {"finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a"]},
        "spec": {"tolerations": [{"key": "b"}]},
    }

    assert strategic_merge(kind_schema("Pod"), target, patch) == {
        "metadata": {"finalizers": ["b"]},
        "spec": {"tolerations": [{"key": "b"}]},
    }


def test_a_strategic_merge_without_the_key_is_refused() -> None:
    with pytest.raises(errors.BadRequestError, match="does not contain declared merge key: name"):
        strategic_merge(
            kind_schema("Pod"), containers(("a", "1")), {"spec": {"containers": [{"image": "x"}]}}
        )
