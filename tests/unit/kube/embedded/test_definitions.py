"""Custom resources: their definitions, and schemas that are enforced."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import ApplyPatch, MergePatch, Selection, StrategicMergePatch
from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
OLD_WIDGETS = Resource("example.com", "v1alpha1", "widgets", "Widget")
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "port": {"x-kubernetes-int-or-string": True},
        "tags": {
            "type": "array",
            "maxItems": 2,
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "count": {"type": "integer", "default": 1},
                },
            },
        },
        "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "replicas": {"type": "integer", "format": "int32"},
        "note": {"type": "string", "nullable": True},
    },
}


def definition(**spec: Any) -> dict[str, Any]:
    schema = {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {
                "spec": SPEC,
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": schema,
            "subresources": {"status": {}, "scale": scale},
        }
        for name in ("v1", "v1alpha1")
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": versions,
            **spec,
        },
    }


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return EmbeddedCluster([definition()])


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"size": 1}, {"size": 1, "color": "red"}, id="a default is filled in"),
        pytest.param(
            {"size": 1, "extra": 2, "color": "green"},
            {"size": 1, "color": "green"},
            id="an unknown field is pruned",
        ),
        pytest.param(
            {"size": 1, "color": None}, {"size": 1, "color": "red"}, id="null is replaced by the default"
        ),
        pytest.param(
            {"size": 1, "note": None}, {"size": 1, "note": None, "color": "red"}, id="null stays where it may"
        ),
        pytest.param(
            {"size": 1, "anything": {"a": {"b": 1}}},
            {"size": 1, "anything": {"a": {"b": 1}}, "color": "red"},
            id="open fields keep everything",
        ),
        pytest.param(
            {"size": 1, "parts": [{"name": "a"}]},
            {"size": 1, "parts": [{"name": "a", "count": 1}], "color": "red"},
            id="defaults within lists",
        ),
        pytest.param({"size": 2.0}, {"size": 2.0, "color": "red"}, id="2.0 is a whole number"),
    ],
)
async def test_what_is_stored(cluster: EmbeddedCluster, spec: dict[str, Any], want: dict[str, Any]) -> None:
    for number in range(2):
        # The second one finds what the first one worked out.
        made = await cluster.create(WIDGETS, widget(f"w{number}", **spec))
        assert made["spec"] == want


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({}, "spec.size", id="a field that must be given"),
        pytest.param({"size": 0}, "spec.size", id="too small"),
        pytest.param({"size": 11}, "spec.size", id="too large"),
        pytest.param({"size": "1"}, "spec.size", id="text for a number"),
        pytest.param({"size": 1.5}, "spec.size", id="a fraction for a whole number"),
        pytest.param({"size": True}, "spec.size", id="yes for a number"),
        pytest.param({"size": 1, "color": "blue"}, "spec.color", id="none of the allowed words"),
        pytest.param({"size": 1, "label": "A"}, "spec.label", id="against the pattern"),
        pytest.param({"size": 1, "label": "abcdef"}, "spec.label", id="too long"),
        pytest.param({"size": 1, "port": 1.5}, "spec.port", id="neither a whole number nor text"),
        pytest.param({"size": 1, "tags": ["a", "a"]}, "spec.tags[1]", id="twice in a set"),
        pytest.param({"size": 1, "tags": ["a", "b", "c"]}, "spec.tags", id="too many"),
        pytest.param(
            {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", id="one key twice"
        ),
        pytest.param({"size": 1, "parts": [{}]}, "spec.parts[0].name", id="a key that is missing"),
        pytest.param({"size": 1, "parts": [None]}, "spec.parts[0]", id="null in a list"),
        pytest.param({"size": 1, "parts": {}}, "spec.parts", id="an object for a list"),
        pytest.param({"size": 1, "replicas": 2**31}, "spec.replicas", id="more than 32 bits hold"),
    ],
)
async def test_what_is_refused(cluster: EmbeddedCluster, spec: dict[str, Any], path: str) -> None:
    await cluster.create(WIDGETS, widget("fine", size=1))
    for _ in range(2):
        with pytest.raises(errors.InvalidObjectError) as caught:
            await cluster.create(WIDGETS, widget(**spec))
        assert path in {problem.where for problem in caught.value.problems}


async def test_an_object_is_one_in_all_versions(cluster: EmbeddedCluster) -> None:
    await cluster.create(WIDGETS, widget(size=3))
    old = await cluster.get(OLD_WIDGETS, "w", namespace="default")
    await cluster.patch(OLD_WIDGETS, "w", MergePatch({"spec": {"size": 4}}), namespace="default")
    new = await cluster.get(WIDGETS, "w", namespace="default")

    assert (old["apiVersion"], new["apiVersion"], new["spec"]["size"]) == (
        "example.com/v1alpha1",
        "example.com/v1",
        4,
    )


async def test_scale_is_a_view_of_the_replicas(cluster: EmbeddedCluster) -> None:
    await cluster.create(WIDGETS, widget(size=1, replicas=2))
    await cluster.patch(
        WIDGETS, "w", MergePatch({"status": {"replicas": 1}}), namespace="default", subresource="status"
    )
    scale = await cluster.get(WIDGETS, "w", namespace="default", subresource="scale")
    await cluster.patch(
        WIDGETS, "w", MergePatch({"spec": {"replicas": 5}}), namespace="default", subresource="scale"
    )

    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 2}, {"replicas": 1})
    assert (await cluster.get(WIDGETS, "w", namespace="default"))["spec"]["replicas"] == 5
    with pytest.raises(errors.InvalidObjectError, match="non-negative"):
        await cluster.patch(
            WIDGETS, "w", MergePatch({"spec": {"replicas": -1}}), namespace="default", subresource="scale"
        )


async def test_a_strategic_merge_is_not_for_custom_resources(cluster: EmbeddedCluster) -> None:
    await cluster.create(WIDGETS, widget(size=1))

    with pytest.raises(errors.UnsupportedMediaTypeError):
        await cluster.patch(WIDGETS, "w", StrategicMergePatch({"spec": {"size": 2}}), namespace="default")


async def test_an_apply_owns_items_of_a_keyed_list(cluster: EmbeddedCluster) -> None:
    for manager, part in (("one", "a"), ("two", "b")):
        body = widget(size=1, parts=[{"name": part}])
        await cluster.patch(WIDGETS, "w", ApplyPatch(body, manager), namespace="default")
    left = await cluster.patch(WIDGETS, "w", ApplyPatch(widget(size=1), "one"), namespace="default")

    assert [part["name"] for part in left["spec"]["parts"]] == ["b"]


async def test_a_deleted_definition_takes_its_objects_and_its_kind_along(cluster: EmbeddedCluster) -> None:
    await cluster.create(WIDGETS, widget(size=1))
    await cluster.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")

    assert (await cluster.list(CUSTOM_RESOURCE_DEFINITIONS)).items == []
    with pytest.raises(errors.NotFoundError):
        await cluster.list(WIDGETS, Selection())
    await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
    assert (await cluster.list(WIDGETS)).items == []


async def test_a_watch_ends_with_its_kind(cluster: EmbeddedCluster) -> None:
    await cluster.create(WIDGETS, widget(size=1))
    version = (await cluster.list(WIDGETS)).resource_version
    await cluster.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
    watching = cluster.watch(WIDGETS, resource_version=str(int(version) + 100))
    waiting = asyncio.ensure_future(anext(watching, None))
    await asyncio.sleep(0)
    await cluster.delete(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")

    assert await asyncio.wait_for(waiting, 60) is None


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        pytest.param({"group": "nodots"}, "spec.group", id="a group without a dot"),
        pytest.param(
            {"names": {"plural": "gadgets", "kind": "Gadget"}},
            "metadata.name",
            id="a name that is not the plural and the group",
        ),
        pytest.param({"versions": []}, "spec.versions", id="no version"),
        pytest.param({"scope": "Galaxy"}, "spec.scope", id="a scope that is none"),
        pytest.param(
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            "spec.versions[0].schema.openAPIV3Schema",
            id="no schema",
        ),
        pytest.param(
            {
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}},
                    }
                ]
            },
            "spec.versions[0].schema.openAPIV3Schema.properties[a].type",
            id="a schema that does not say what a field is",
        ),
    ],
)
async def test_a_definition_that_is_wrong(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(errors.InvalidObjectError) as caught:
        await EmbeddedCluster().create(CUSTOM_RESOURCE_DEFINITIONS, definition(**spec))

    assert path in {problem.where for problem in caught.value.problems}


async def test_admission_hooks_change_and_refuse(cluster: EmbeddedCluster) -> None:
    def paint(request: Any) -> None:
        if request.obj is not None and request.kind == "Widget":
            request.obj["spec"]["color"] = "green"

    async def guard(request: Any) -> None:
        if request.operation == "DELETE" or (request.obj and request.obj["spec"].get("size") == 9):
            raise errors.ForbiddenError("admission said no")

    cluster.admit(paint, mutating=True)
    cluster.admit(guard)
    made = await cluster.create(WIDGETS, widget(size=1))

    assert made["spec"]["color"] == "green"
    with pytest.raises(errors.ForbiddenError, match="admission said no"):
        await cluster.patch(WIDGETS, "w", MergePatch({"spec": {"size": 9}}), namespace="default")
    with pytest.raises(errors.ForbiddenError, match="admission said no"):
        await cluster.delete(WIDGETS, "w", namespace="default")


async def test_a_hook_that_breaks_an_object_is_told_so(cluster: EmbeddedCluster) -> None:
    def damage(request: Any) -> None:
        request.obj["spec"]["size"] = "large"

    cluster.admit(damage, mutating=True)

    with pytest.raises(errors.InvalidObjectError, match=r"spec\.size"):
        await cluster.create(WIDGETS, widget(size=1))


async def test_a_hook_that_changes_parts_of_a_refused_write_changes_nothing_that_is_stored(
    cluster: EmbeddedCluster,
) -> None:
    await cluster.create(WIDGETS, widget(size=1))
    status = MergePatch({"status": {"replicas": 1}})
    before = await cluster.patch(WIDGETS, "w", status, namespace="default", subresource="status")

    def damage(request: Any) -> None:
        request.obj["spec"]["size"] = 2
        request.obj["status"]["replicas"] = 2
        raise errors.ForbiddenError("admission said no")

    cluster.admit(damage, mutating=True)
    for patch, subresource in (
        (MergePatch({"metadata": {"labels": {"a": "b"}}}), ""),
        (MergePatch({"status": {"ready": True}}), "status"),
    ):
        with pytest.raises(errors.ForbiddenError, match="admission said no"):
            await cluster.patch(WIDGETS, "w", patch, namespace="default", subresource=subresource)

    [stored] = (await cluster.list(WIDGETS)).items
    assert stored == before
    # What others share with the store is the same, too.
    assert cluster.core.find(cluster.core.kinds.of(WIDGETS)[0], ("default", "w")).obj == before


async def _with_new_schema(cluster: EmbeddedCluster) -> None:
    """Let the spec of widgets lose its label and get a shape that is round by default."""
    properties = {name: part for name, part in SPEC["properties"].items() if name != "label"}
    spec = {**SPEC, "properties": {**properties, "shape": {"type": "string", "default": "round"}}}
    found = await cluster.get(CUSTOM_RESOURCE_DEFINITIONS, "widgets.example.com")
    for version in found["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec
    await cluster.replace(CUSTOM_RESOURCE_DEFINITIONS, found)


@pytest.mark.parametrize(
    ("patch", "subresource"),
    [
        pytest.param(MergePatch({"metadata": {"labels": {"a": "b"}}}), "", id="a write of the metadata"),
        pytest.param(MergePatch({"spec": {"size": 2}}), "", id="a write of the spec"),
        pytest.param(MergePatch({"status": {"ready": True}}), "status", id="a write of the status"),
        pytest.param(MergePatch({"spec": {"replicas": 2}}), "scale", id="a write of the scale"),
    ],
)
@pytest.mark.parametrize("resource", [WIDGETS, OLD_WIDGETS], ids=["in the stored version", "in another"])
async def test_a_write_after_a_change_of_the_schema_prunes_and_defaults_what_was_stored_before(
    cluster: EmbeddedCluster, resource: Resource, patch: MergePatch, subresource: str
) -> None:
    await cluster.create(WIDGETS, widget(size=1, label="old"))
    await _with_new_schema(cluster)

    await cluster.patch(resource, "w", patch, namespace="default", subresource=subresource)

    spec = (await cluster.get(WIDGETS, "w", namespace="default"))["spec"]
    assert "label" not in spec
    assert spec["shape"] == "round"


async def test_an_object_marked_for_deletion_after_a_change_of_the_schema_is_pruned_by_the_next_write(
    cluster: EmbeddedCluster,
) -> None:
    held = widget(size=1, label="old")
    held["metadata"]["finalizers"] = ["example.com/held"]
    await cluster.create(WIDGETS, held)
    await _with_new_schema(cluster)
    await cluster.delete(WIDGETS, "w", namespace="default")

    patch = MergePatch({"metadata": {"labels": {"a": "b"}}})
    changed = await cluster.patch(WIDGETS, "w", patch, namespace="default")

    assert changed["spec"] == {"size": 1, "color": "red", "shape": "round"}


async def test_true_is_no_number_also_where_the_number_was_1(cluster: EmbeddedCluster) -> None:
    await cluster.create(WIDGETS, widget(size=1))
    patch = MergePatch({"spec": {"size": True}, "metadata": {"labels": {"a": "b"}}})

    with pytest.raises(errors.InvalidObjectError, match=r"spec\.size"):
        await cluster.patch(WIDGETS, "w", patch, namespace="default")
