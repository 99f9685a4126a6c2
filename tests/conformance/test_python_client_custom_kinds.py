"""The official Python client asks for kinds that it does not know, by discovery."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import dynamic, watch
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError

from tests.conformance.manifests import definitions
from tests.conformance.python_client import Reached, eventually


@pytest.fixture
def groups(reached: Reached) -> dynamic.Resource:
    """KAI's PodGroups, defined by the client and found by discovery."""
    dynamically = reached.dynamic()
    defined = dynamically.resources.get(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
    )
    definition = next(each for each in definitions() if each["spec"]["names"]["kind"] == "PodGroup")
    name = definition["metadata"]["name"]
    dynamically.server_side_apply(defined, definition, name=name, field_manager="test", force_conflicts=True)

    def established() -> bool:
        status = defined.get(name=name).to_dict().get("status") or {}
        conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
        return conditions.get("Established") == "True"

    eventually(established)

    def found() -> bool:
        dynamically.resources.invalidate_cache()
        return bool(dynamically.resources.search(kind="PodGroup", group=definition["spec"]["group"]))

    eventually(found)
    version = definition["spec"]["versions"][0]["name"]
    return dynamically.resources.get(api_version=f"{definition['spec']['group']}/{version}", kind="PodGroup")


def group(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": 2, **spec},
    }


def test_kinds_are_discovered(reached: Reached) -> None:
    found = reached.dynamic()

    pods = found.resources.get(api_version="v1", kind="Pod")
    assert (pods.name, pods.namespaced, "po" in pods.short_names) == ("pods", True, True)
    assert {"binding", "eviction", "status"} <= set(pods.subresources)
    assert found.resources.get(kind="Job").group_version == "batch/v1"
    assert found.resources.get(short_names=["cm"]).kind == "ConfigMap"
    assert found.version["kubernetes"]["gitVersion"] == "v1.36.4"
    with pytest.raises(ResourceNotFoundError):
        found.resources.get(api_version="v1", kind="Unicorn")


def test_an_object_of_a_custom_kind_lives_and_dies(reached: Reached, groups: dynamic.Resource) -> None:
    namespace = reached.namespace
    made = groups.create(body=group("a"), namespace=namespace)
    assert (made.metadata.generation, made.spec.minMember) == (1, 2)
    assert groups.get(name="a", namespace=namespace).metadata.uid == made.metadata.uid

    patched = groups.patch(
        name="a",
        namespace=namespace,
        body={"spec": {"minMember": 3}},
        content_type="application/merge-patch+json",
    )
    assert (patched.metadata.generation, patched.spec.minMember) == (2, 3)
    with pytest.raises(dynamic.exceptions.DynamicApiError) as raised:
        groups.patch(name="a", namespace=namespace, body={"spec": {"minMember": 4}})
    assert raised.value.status == 415
    with pytest.raises(ConflictError):
        groups.replace(body=made.to_dict(), namespace=namespace)

    status = groups.status.patch(
        name="a",
        namespace=namespace,
        body={"status": {"phase": "Running"}},
        content_type="application/merge-patch+json",
    )
    assert (status.status.phase, status.metadata.generation) == ("Running", 2)
    listed = groups.get(namespace=namespace)
    assert (listed.kind, [each.metadata.name for each in listed.items]) == ("PodGroupList", ["a"])

    gone = groups.delete(name="a", namespace=namespace)
    assert gone.status == "Success"
    with pytest.raises(NotFoundError):
        groups.get(name="a", namespace=namespace)


def test_an_apply_owns_its_fields(reached: Reached, groups: dynamic.Resource) -> None:
    def apply(manager: str, *, force: bool = False, **spec: Any) -> Any:
        return groups.server_side_apply(
            body=group("a", **spec), namespace=reached.namespace, field_manager=manager, force_conflicts=force
        )

    apply("one", queue="first")
    with pytest.raises(ConflictError) as raised:
        apply("two", queue="second")
    forced = apply("two", queue="second", force=True)

    assert ".spec.queue" in raised.value.body
    assert forced.spec.queue == "second"
    owners = {each.manager: list(each.fieldsV1.to_dict()["f:spec"]) for each in forced.metadata.managedFields}
    assert {manager: sorted(fields) for manager, fields in owners.items()} == {
        "one": ["f:minMember"],
        "two": ["f:minMember", "f:queue"],
    }


def test_a_custom_kind_is_watched(reached: Reached, groups: dynamic.Resource) -> None:
    namespace = reached.namespace
    start = groups.get(namespace=namespace).metadata.resourceVersion
    groups.create(body=group("a"), namespace=namespace)
    groups.create(body=group("b"), namespace=namespace)
    groups.delete(name="a", namespace=namespace)
    watching = watch.Watch()
    seen = []
    for event in groups.watch(
        namespace=namespace, name="a", resource_version=start, timeout=60, watcher=watching
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 2:
            watching.stop()

    assert seen == [("ADDED", "a"), ("DELETED", "a")]
