"""Namespaces and what becomes of their contents."""

from __future__ import annotations

from contextlib import suppress

import pytest

from closeknit.kube.errors import AlreadyExistsError, ApiError, ConflictError, ForbiddenError
from closeknit.kube.port import MergePatch, Selection
from closeknit.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from tests.conformance.cluster import WIDGETS, Cluster, eventually


async def phase(cluster: Cluster, name: str) -> str:
    return str((await cluster.api.get(NAMESPACES, name))["status"]["phase"])


async def gone(cluster: Cluster, name: str) -> bool:
    return await cluster.gone(NAMESPACES, {"metadata": {"name": name}})


async def test_a_new_namespace_is_active_and_bears_its_name(cluster: Cluster) -> None:
    namespace = await cluster.api.get(NAMESPACES, cluster.namespace)

    assert namespace["status"]["phase"] == "Active"
    assert namespace["spec"]["finalizers"] == ["kubernetes"]
    assert namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] == cluster.namespace


async def test_the_namespaces_of_every_cluster_are_there(cluster: Cluster) -> None:
    found = await cluster.names(NAMESPACES, Selection())

    assert {"default", "kube-node-lease", "kube-public", "kube-system"} <= set(found)


async def test_a_namespace_that_is_there_cannot_be_made_again(cluster: Cluster) -> None:
    with pytest.raises(AlreadyExistsError):
        await cluster.api.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster.namespace}}
        )


async def test_what_a_namespace_holds_goes_with_it(widgets: Cluster) -> None:
    config = await widgets.create_config()
    pod = await widgets.create_pod()
    widget = await widgets.create_widget()
    await widgets.api.delete(NAMESPACES, widgets.namespace)

    await eventually(lambda: gone(widgets, widgets.namespace))
    for resource, each in ((CONFIG_MAPS, config), (PODS, pod), (WIDGETS, widget)):
        assert await widgets.gone(resource, each)


async def test_a_namespace_waits_for_what_it_holds(cluster: Cluster) -> None:
    config = await cluster.create_config(finalizers=["x.dev/hold"])
    answer = await cluster.api.delete(NAMESPACES, cluster.namespace)
    assert answer["status"]["phase"] == "Terminating"

    async def config_is_going() -> bool:
        return "deletionTimestamp" in (await cluster.get(CONFIG_MAPS, config))["metadata"]

    await eventually(config_is_going)
    assert await phase(cluster, cluster.namespace) == "Terminating"
    patch = MergePatch({"metadata": {"finalizers": []}})
    await cluster.api.patch(CONFIG_MAPS, config["metadata"]["name"], patch, namespace=cluster.namespace)
    await eventually(lambda: gone(cluster, cluster.namespace))


async def test_nothing_new_is_made_in_a_namespace_that_goes(cluster: Cluster) -> None:
    config = await cluster.create_config(finalizers=["x.dev/hold"])
    await cluster.api.delete(NAMESPACES, cluster.namespace)

    with pytest.raises(ForbiddenError) as raised:
        await cluster.create_config("late")
    assert "being terminated" in str(raised.value)
    assert [cause.reason for cause in raised.value.status.causes] == ["NamespaceTerminating"]
    patch = MergePatch({"metadata": {"finalizers": []}})
    await cluster.api.patch(CONFIG_MAPS, config["metadata"]["name"], patch, namespace=cluster.namespace)


async def test_what_is_there_can_still_be_changed(cluster: Cluster) -> None:
    config = await cluster.create_config(finalizers=["x.dev/hold"])
    await cluster.api.delete(NAMESPACES, cluster.namespace)
    patch = MergePatch({"data": {"key": "new"}, "metadata": {"finalizers": []}})
    patched = await cluster.api.patch(
        CONFIG_MAPS, config["metadata"]["name"], patch, namespace=cluster.namespace
    )

    assert patched["data"] == {"key": "new"}


async def test_a_namespace_can_be_made_again_when_it_is_gone(cluster: Cluster) -> None:
    await cluster.create_config("old")
    await cluster.api.delete(NAMESPACES, cluster.namespace)
    await eventually(lambda: gone(cluster, cluster.namespace))
    await cluster.api.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster.namespace}}
    )

    assert "old" not in await cluster.names(CONFIG_MAPS)


async def test_a_second_deletion_of_a_namespace_is_harmless(cluster: Cluster) -> None:
    config = await cluster.create_config(finalizers=["x.dev/hold"])
    await cluster.api.delete(NAMESPACES, cluster.namespace)
    with suppress(ConflictError):
        await cluster.api.delete(NAMESPACES, cluster.namespace)
    assert await phase(cluster, cluster.namespace) == "Terminating"
    patch = MergePatch({"metadata": {"finalizers": []}})
    await cluster.api.patch(CONFIG_MAPS, config["metadata"]["name"], patch, namespace=cluster.namespace)


async def test_the_default_namespace_stays(cluster: Cluster) -> None:
    with pytest.raises(ForbiddenError):
        await cluster.api.delete(NAMESPACES, "default")


@pytest.mark.parametrize("name", ["Capital", "a.b", "a" * 64, "-a"])
async def test_a_namespace_needs_a_name_of_a_host(cluster: Cluster, name: str) -> None:
    with pytest.raises(ApiError) as raised:
        await cluster.api.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
    assert raised.value.status.code == 422
