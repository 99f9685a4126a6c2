"""Merge, JSON and strategic merge patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from closeknit.kube.errors import (
    ApiError,
    BadRequestError,
    InvalidObjectError,
    NotFoundError,
    UnsupportedMediaTypeError,
)
from closeknit.kube.port import JsonPatch, MergePatch, Object, Patch, StrategicMergePatch
from closeknit.kube.resources import CONFIG_MAPS, NODES, PODS
from tests.conformance.cluster import WIDGETS, Cluster

MERGES = [MergePatch, StrategicMergePatch]


async def patched(cluster: Cluster, obj: Object, patch: Patch) -> Object:
    return await cluster.api.patch(CONFIG_MAPS, obj["metadata"]["name"], patch, namespace=cluster.namespace)


@pytest.mark.parametrize("kind", MERGES)
@pytest.mark.parametrize(
    ("before", "body", "after"),
    [
        pytest.param({"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}, id="a key is added"),
        pytest.param({"a": "1", "b": "2"}, {"a": "3"}, {"a": "3", "b": "2"}, id="a value is replaced"),
        pytest.param({"a": "1", "b": "2"}, {"a": None}, {"b": "2"}, id="null removes"),
        pytest.param({"a": "1"}, {"z": None}, {"a": "1"}, id="what is not there can be removed"),
        pytest.param({"a": "1"}, {}, {"a": "1"}, id="nothing changes nothing"),
    ],
)
async def test_a_merge_changes_what_it_names(
    cluster: Cluster,
    kind: type[MergePatch | StrategicMergePatch],
    before: Object,
    body: Object,
    after: Object,
) -> None:
    made = await cluster.create_config(data=before)

    assert (await patched(cluster, made, kind({"data": body})))["data"] == after


@pytest.mark.parametrize("kind", MERGES)
async def test_a_merge_with_null_removes_a_whole_part(
    cluster: Cluster, kind: type[MergePatch | StrategicMergePatch]
) -> None:
    made = await cluster.create_config(labels={"a": "b"})

    after = await patched(cluster, made, kind({"data": None, "metadata": {"labels": None}}))

    assert "data" not in after
    assert "labels" not in after["metadata"]


async def test_a_merge_replaces_a_list(widgets: Cluster) -> None:
    made = await widgets.create_widget(spec={"tags": ["a", "b"]})
    after = await widgets.api.patch(
        WIDGETS, made["metadata"]["name"], MergePatch({"spec": {"tags": ["c"]}}), namespace=widgets.namespace
    )

    assert after["spec"]["tags"] == ["c"]


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(MergePatch({"metadata": {"name": "other"}}), id="its name"),
        pytest.param(MergePatch({"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}), id="its uid"),
        pytest.param(MergePatch({"metadata": {"namespace": "other"}}), id="its namespace"),
    ],
)
async def test_a_patch_cannot_change_what_an_object_is(cluster: Cluster, patch: MergePatch) -> None:
    made = await cluster.create_config()

    with pytest.raises(ApiError):
        await patched(cluster, made, patch)
    assert await cluster.get(CONFIG_MAPS, made) == made


async def test_a_patch_of_nothing_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError):
        await cluster.api.patch(CONFIG_MAPS, "nobody", MergePatch({}), namespace=cluster.namespace)


async def test_a_patch_to_something_invalid_is_refused(cluster: Cluster) -> None:
    made = await cluster.create_config()

    with pytest.raises(InvalidObjectError):
        await patched(cluster, made, MergePatch({"data": {"bad key": "x"}}))
    assert await cluster.get(CONFIG_MAPS, made) == made


# -------------------------------------------------------------------------------------------- JSON patch


@pytest.mark.parametrize(
    ("before", "operations", "after"),
    [
        pytest.param(
            {"a": "1"},
            [{"op": "add", "path": "/data/b", "value": "2"}],
            {"a": "1", "b": "2"},
            id="add puts a value",
        ),
        pytest.param(
            {"a": "1"}, [{"op": "add", "path": "/data/a", "value": "2"}], {"a": "2"}, id="add replaces"
        ),
        pytest.param({"a": "1", "b": "2"}, [{"op": "remove", "path": "/data/a"}], {"b": "2"}, id="remove"),
        pytest.param(
            {"a": "1"}, [{"op": "replace", "path": "/data/a", "value": "2"}], {"a": "2"}, id="replace"
        ),
        pytest.param(
            {"a": "1"}, [{"op": "move", "from": "/data/a", "path": "/data/b"}], {"b": "1"}, id="move"
        ),
        pytest.param(
            {"a": "1"},
            [{"op": "copy", "from": "/data/a", "path": "/data/b"}],
            {"a": "1", "b": "1"},
            id="copy",
        ),
        pytest.param(
            {"a": "1"},
            [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}],
            {},
            id="test that holds",
        ),
        pytest.param(
            {"a": "1"},
            [
                {"op": "add", "path": "/metadata/annotations", "value": {}},
                {"op": "add", "path": "/metadata/annotations/x.dev~1a", "value": "b"},
                {"op": "add", "path": "/data/b", "value": "2"},
            ],
            {"a": "1", "b": "2"},
            id="a slash in a key is written ~1",
        ),
    ],
)
async def test_a_json_patch_does_one_step_after_the_other(
    cluster: Cluster, before: Object, operations: list[Mapping[str, Any]], after: Object
) -> None:
    made = await cluster.create_config(data=before)

    assert (await patched(cluster, made, JsonPatch(operations))).get("data", {}) == after


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param([{"op": "test", "path": "/data/key", "value": "other"}], id="a test that fails"),
        pytest.param([{"op": "remove", "path": "/data/missing"}], id="a value to remove that is not there"),
        pytest.param([{"op": "add", "path": "/no/such/place", "value": "x"}], id="a place that is not there"),
        pytest.param([{"op": "dance", "path": "/data/key"}], id="an operation that is none"),
    ],
)
async def test_a_json_patch_that_fails_changes_nothing(
    cluster: Cluster, operations: list[Mapping[str, Any]]
) -> None:
    made = await cluster.create_config()
    first = {"op": "add", "path": "/data/new", "value": "x"}

    with pytest.raises((InvalidObjectError, BadRequestError)):
        await patched(cluster, made, JsonPatch([first, *operations]))
    assert await cluster.get(CONFIG_MAPS, made) == made


async def test_a_json_patch_reaches_into_lists(widgets: Cluster) -> None:
    made = await widgets.create_widget(spec={"tags": ["a", "c"]})
    after = await widgets.api.patch(
        WIDGETS,
        made["metadata"]["name"],
        JsonPatch(
            [
                {"op": "add", "path": "/spec/tags/1", "value": "b"},
                {"op": "remove", "path": "/spec/tags/0"},
                {"op": "add", "path": "/spec/tags/-", "value": "d"},
            ]
        ),
        namespace=widgets.namespace,
    )

    assert after["spec"]["tags"] == ["b", "c", "d"]


async def test_a_json_patch_of_a_status(widgets: Cluster) -> None:
    made = await widgets.create_widget()
    after = await widgets.api.patch(
        WIDGETS,
        made["metadata"]["name"],
        JsonPatch([{"op": "add", "path": "/status", "value": {"phase": "Ready"}}]),
        namespace=widgets.namespace,
        subresource="status",
    )

    assert after["status"] == {"phase": "Ready"}


# --------------------------------------------------------------------------------------- strategic merge


async def test_a_strategic_merge_finds_containers_by_name(cluster: Cluster) -> None:
    two = [{"name": "a", "image": "example.invalid/a"}, {"name": "b", "image": "example.invalid/b"}]
    made = await cluster.create_pod(spec={"containers": two})
    patch = StrategicMergePatch({"spec": {"containers": [{"name": "b", "image": "example.invalid/new"}]}})
    after = await cluster.api.patch(PODS, made["metadata"]["name"], patch, namespace=cluster.namespace)

    images = {each["name"]: each["image"] for each in after["spec"]["containers"]}
    assert images == {"a": "example.invalid/a", "b": "example.invalid/new"}


async def test_a_strategic_merge_finds_conditions_by_type(cluster: Cluster) -> None:
    name = cluster.unique("node")
    after = await cluster.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    for condition in (
        {"type": "Ready", "status": "True"},
        {"type": "DiskPressure", "status": "False"},
        {"type": "Ready", "status": "False", "reason": "Lost"},
    ):
        patch = StrategicMergePatch({"status": {"conditions": [condition]}})
        after = await cluster.api.patch(NODES, name, patch, subresource="status")

    conditions = {each["type"]: each["status"] for each in after["status"]["conditions"]}
    assert conditions == {"Ready": "False", "DiskPressure": "False"}


async def test_a_strategic_merge_replaces_taints(cluster: Cluster) -> None:
    name = cluster.unique("node")
    body: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    body["spec"] = {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]}
    await cluster.api.create(NODES, body)
    patch = StrategicMergePatch({"spec": {"taints": [{"key": "c", "effect": "NoExecute"}]}})
    after = await cluster.api.patch(NODES, name, patch)

    assert after["spec"]["taints"] == [{"key": "c", "effect": "NoExecute"}]


async def test_a_strategic_merge_adds_finalizers_once(cluster: Cluster) -> None:
    made = await cluster.create_config(finalizers=["x.dev/a"])
    body = {"metadata": {"finalizers": ["x.dev/b", "x.dev/a"]}}
    after = await patched(cluster, made, StrategicMergePatch(body))

    assert sorted(after["metadata"]["finalizers"]) == ["x.dev/a", "x.dev/b"]
    await patched(cluster, made, MergePatch({"metadata": {"finalizers": None}}))


async def test_a_strategic_merge_can_delete_from_a_list(cluster: Cluster) -> None:
    name = cluster.unique("node")
    body: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await cluster.api.create(NODES, body)
    conditions = [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]
    await cluster.api.patch(
        NODES, name, StrategicMergePatch({"status": {"conditions": conditions}}), subresource="status"
    )
    gone = {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}
    after = await cluster.api.patch(NODES, name, StrategicMergePatch(gone), subresource="status")

    assert [each["type"] for each in after["status"]["conditions"]] == ["DiskPressure"]


async def test_a_strategic_merge_can_replace_a_part(cluster: Cluster) -> None:
    made = await cluster.create_config(data={"a": "1", "b": "2"})
    after = await patched(cluster, made, StrategicMergePatch({"data": {"$patch": "replace", "c": "3"}}))

    assert after["data"] == {"c": "3"}


async def test_custom_objects_take_no_strategic_merge(widgets: Cluster) -> None:
    made = await widgets.create_widget()

    with pytest.raises(UnsupportedMediaTypeError):
        await widgets.api.patch(
            WIDGETS, made["metadata"]["name"], StrategicMergePatch({}), namespace=widgets.namespace
        )
