"""Server-side apply: who owns which field, and what happens when two want it."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.errors import ApiError, BadRequestError, ConflictError, InvalidObjectError
from closeknit.kube.port import ApplyPatch, MergePatch, Object
from closeknit.kube.resources import CONFIG_MAPS, NODES, PODS, Resource
from tests.conformance.cluster import WIDGETS, Cluster


async def applied_to(
    cluster: Cluster,
    resource: Resource,
    name: str,
    body: Object,
    manager: str,
    *,
    force: bool = False,
    subresource: str = "",
    dry_run: bool = False,
) -> Object:
    whole = {"apiVersion": resource.api_version, "kind": resource.kind} | body
    whole["metadata"] = {"name": name} | body.get("metadata", {})
    return await cluster.api.patch(
        resource,
        name,
        ApplyPatch(whole, manager, force),
        namespace=cluster.namespace if resource.namespaced else "",
        subresource=subresource,
        dry_run=dry_run,
    )


async def applied(
    cluster: Cluster, manager: str, *, data: Object, name: str = "c", force: bool = False, **metadata: Any
) -> Object:
    body = {"metadata": metadata, "data": data}
    return await applied_to(cluster, CONFIG_MAPS, name, body, manager, force=force)


def managers(obj: Object) -> list[tuple[str, str, str]]:
    return sorted(
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in obj["metadata"]["managedFields"]
    )


def owned(obj: Object, manager: str, operation: str = "Apply") -> Any:
    (entry,) = [
        entry
        for entry in obj["metadata"]["managedFields"]
        if (entry["manager"], entry["operation"]) == (manager, operation)
    ]
    return entry["fieldsV1"]


async def test_apply_makes_what_is_missing(cluster: Cluster) -> None:
    made = await applied(cluster, "me", data={"a": "1"}, labels={"l": "x"})

    assert made["data"] == {"a": "1"}
    assert managers(made) == [("me", "Apply", "")]
    assert owned(made, "me") == {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:l": {}}}}
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsType"]) == ("v1", "FieldsV1")
    assert entry["time"]


async def test_apply_again_changes_nothing(cluster: Cluster) -> None:
    made = await applied(cluster, "me", data={"a": "1"})
    again = await applied(cluster, "me", data={"a": "1"})

    assert again == made


async def test_what_is_no_longer_named_is_removed(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1", "b": "2"})
    after = await applied(cluster, "me", data={"b": "2"})

    assert after["data"] == {"b": "2"}


async def test_two_managers_share_an_object(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1"})
    after = await applied(cluster, "you", data={"b": "2"})

    assert after["data"] == {"a": "1", "b": "2"}
    assert managers(after) == [("me", "Apply", ""), ("you", "Apply", "")]
    after = await applied(cluster, "me", data={})
    assert after["data"] == {"b": "2"}


async def test_a_field_of_another_is_a_conflict_that_names_both(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1"})

    with pytest.raises(ConflictError) as raised:
        await applied(cluster, "you", data={"a": "2"})

    status = raised.value.status
    assert (status.code, status.reason) == (409, "Conflict")
    (cause,) = status.causes
    assert (cause.reason, cause.field) == ("FieldManagerConflict", ".data.a")
    assert '"me"' in cause.message
    assert (await cluster.api.get(CONFIG_MAPS, "c", namespace=cluster.namespace))["data"] == {"a": "1"}


async def test_every_conflict_is_told(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1", "b": "1"})
    await applied(cluster, "other", data={"c": "1"})

    with pytest.raises(ConflictError) as raised:
        await applied(cluster, "you", data={"a": "2", "b": "2", "c": "2"})
    assert sorted(cause.field for cause in raised.value.status.causes) == [".data.a", ".data.b", ".data.c"]


async def test_force_takes_a_field_over(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1", "b": "1"})
    after = await applied(cluster, "you", data={"a": "2"}, force=True)

    assert after["data"] == {"a": "2", "b": "1"}
    assert owned(after, "me") == {"f:data": {"f:b": {}}}
    assert owned(after, "you") == {"f:data": {"f:a": {}}}


async def test_equal_values_have_two_owners(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1"})
    after = await applied(cluster, "you", data={"a": "1"})
    assert owned(after, "me") == owned(after, "you") == {"f:data": {"f:a": {}}}

    after = await applied(cluster, "me", data={})
    assert after["data"] == {"a": "1"}
    after = await applied(cluster, "you", data={})
    assert "data" not in after or after["data"] == {}


async def test_an_update_takes_fields_without_a_conflict(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1", "b": "1"})
    after = await cluster.api.patch(
        CONFIG_MAPS,
        "c",
        MergePatch({"data": {"a": "2"}}),
        namespace=cluster.namespace,
        field_manager="editor",
    )

    assert managers(after) == [("editor", "Update", ""), ("me", "Apply", "")]
    assert owned(after, "me") == {"f:data": {"f:b": {}}}
    assert owned(after, "editor", "Update") == {"f:data": {"f:a": {}}}


async def test_an_updated_field_is_a_conflict_for_apply(cluster: Cluster) -> None:
    await cluster.api.create(CONFIG_MAPS, cluster.config("c", data={"a": "1"}), field_manager="editor")

    with pytest.raises(ConflictError) as raised:
        await applied(cluster, "me", data={"a": "2"})
    assert '"editor"' in raised.value.status.causes[0].message


async def test_a_created_object_is_owned_by_its_maker(cluster: Cluster) -> None:
    made = await cluster.api.create(
        CONFIG_MAPS, cluster.config("c", data={"a": "1"}, labels={"l": "x"}), field_manager="maker"
    )

    assert managers(made) == [("maker", "Update", "")]
    assert owned(made, "maker", "Update") == {
        "f:data": {".": {}, "f:a": {}},
        "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
    }


async def test_a_quantity_in_another_spelling_is_another_value(cluster: Cluster) -> None:
    def container(memory: str) -> Object:
        resources = {"requests": {"memory": memory}}
        return {"name": "main", "image": "example.invalid/main", "resources": resources}

    made = await cluster.create_pod("p", spec={"containers": [container("1024Mi")]})
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"memory": "1Gi"}
    await applied_to(cluster, PODS, "p", {"spec": {"containers": [container("1Gi")]}}, "me")
    with pytest.raises(ConflictError) as raised:
        await applied_to(cluster, PODS, "p", {"spec": {"containers": [container("1024Mi")]}}, "you")

    assert {cause.field for cause in raised.value.status.causes} == {
        '.spec.containers[name="main"].resources.requests.memory'
    }


async def test_an_owner_of_nothing_is_forgotten(cluster: Cluster) -> None:
    await applied(cluster, "me", data={"a": "1"})
    await applied(cluster, "you", data={"b": "1"})
    after = await applied(cluster, "me", data={})

    assert ("you", "Apply", "") in managers(after)
    assert all(entry[0] != "me" or owned(after, "me") == {"f:data": {}} for entry in managers(after))


async def test_a_status_has_owners_of_its_own(widgets: Cluster) -> None:
    await applied_to(widgets, WIDGETS, "w", {"spec": {"size": "small"}}, "me")
    status = {"status": {"phase": "Ready"}}
    after = await applied_to(widgets, WIDGETS, "w", status, "me", subresource="status")

    assert (after["spec"]["size"], after["status"]) == ("small", {"phase": "Ready"})
    assert managers(after) == [("me", "Apply", ""), ("me", "Apply", "status")]


async def test_items_of_a_keyed_list_have_owners_of_their_own(widgets: Cluster) -> None:
    async def parts(manager: str, *listed: Object) -> Object:
        body = {"spec": {"size": "small", "parts": list(listed)}}
        return await applied_to(widgets, WIDGETS, "w", body, manager)

    await parts("me", {"name": "a", "weight": 1}, {"name": "b", "weight": 1})
    after = await parts("you", {"name": "c", "weight": 2})
    assert {each["name"]: each["weight"] for each in after["spec"]["parts"]} == {"a": 1, "b": 1, "c": 2}

    with pytest.raises(ConflictError) as raised:
        await parts("you", {"name": "a", "weight": 9})
    assert [cause.field for cause in raised.value.status.causes] == ['.spec.parts[name="a"].weight']

    after = await parts("me", {"name": "b", "weight": 1})
    assert sorted(each["name"] for each in after["spec"]["parts"]) == ["b", "c"]


async def test_items_of_a_set_are_merged(widgets: Cluster) -> None:
    async def marks(manager: str, *listed: str) -> Object:
        body = {"spec": {"size": "small", "marks": list(listed)}}
        return await applied_to(widgets, WIDGETS, "w", body, manager)

    await marks("me", "a", "b")
    after = await marks("you", "b", "c")
    assert sorted(after["spec"]["marks"]) == ["a", "b", "c"]
    after = await marks("me")
    assert sorted(after["spec"]["marks"]) == ["b", "c"]


async def test_a_plain_list_has_one_owner(widgets: Cluster) -> None:
    async def tags(manager: str, *listed: str) -> Object:
        body = {"spec": {"size": "small", "tags": list(listed)}}
        return await applied_to(widgets, WIDGETS, "w", body, manager)

    await tags("me", "a")
    with pytest.raises(ConflictError) as raised:
        await tags("you", "b")
    assert [cause.field for cause in raised.value.status.causes] == [".spec.tags"]


async def test_containers_are_owned_by_name(cluster: Cluster) -> None:
    spec = {"containers": [{"name": "m", "image": "example.invalid/m"}]}
    made = await applied_to(cluster, PODS, "p", {"spec": spec}, "me")

    fields = owned(made, "me")["f:spec"]["f:containers"]['k:{"name":"m"}']
    assert {".", "f:name", "f:image"} <= set(fields)


async def test_objects_without_a_namespace_are_shared_too(cluster: Cluster) -> None:
    name = cluster.unique("node")

    async def labels(manager: str, **listed: str) -> Object:
        return await applied_to(cluster, NODES, name, {"metadata": {"labels": listed}}, manager)

    await labels("me", a="1")
    after = await labels("you", b="2")
    assert after["metadata"]["labels"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("body", "manager", "error"),
    [
        pytest.param({}, "", ApiError, id="no manager"),
        pytest.param({"apiVersion": ""}, "me", BadRequestError, id="no version"),
        pytest.param({"kind": "Secret"}, "me", BadRequestError, id="another kind"),
        pytest.param({"metadata": {"name": "other"}}, "me", ApiError, id="another name"),
        pytest.param(
            {"metadata": {"managedFields": [{"manager": "x"}]}}, "me", BadRequestError, id="managed fields"
        ),
        pytest.param({"data": {"bad key": "x"}}, "me", InvalidObjectError, id="an invalid object"),
        pytest.param({"nonsense": 1}, "me", ApiError, id="a field that there is not"),
    ],
)
async def test_what_cannot_be_applied_is_refused(
    cluster: Cluster, body: Object, manager: str, error: type[ApiError]
) -> None:
    with pytest.raises(error):
        await applied_to(cluster, CONFIG_MAPS, "c", body, manager)
    assert "c" not in await cluster.names(CONFIG_MAPS)


async def test_an_old_version_cannot_be_applied(cluster: Cluster) -> None:
    made = await applied(cluster, "me", data={"a": "1"})
    version = made["metadata"]["resourceVersion"]
    await applied(cluster, "you", data={"b": "1"})

    with pytest.raises(ConflictError):
        await applied(cluster, "me", data={"a": "2"}, resourceVersion=version)


async def test_a_dry_run_of_apply_owns_nothing(cluster: Cluster) -> None:
    made = await applied_to(cluster, CONFIG_MAPS, "c", {"data": {"a": "1"}}, "me", dry_run=True)
    assert made["data"] == {"a": "1"}
    assert await cluster.gone(CONFIG_MAPS, made)
