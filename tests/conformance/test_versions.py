"""Resource versions, generations, and who wins when two write."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.kube.errors import ApiError, ConflictError, InvalidObjectError, NotFoundError
from closeknit.kube.port import MergePatch
from closeknit.kube.resources import CONFIG_MAPS, JOBS, NODES, PODS
from tests.conformance.cluster import WIDGETS, Cluster


async def test_every_write_has_a_later_version(cluster: Cluster) -> None:
    made = await cluster.create_config()
    other = await cluster.create_pod()
    written = await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "new"}})

    versions = [int(each["metadata"]["resourceVersion"]) for each in (made, other, written)]
    assert versions == sorted(set(versions))


async def test_a_replacement_keeps_what_the_server_owns(cluster: Cluster) -> None:
    made = await cluster.create_config()
    body = cluster.config(made["metadata"]["name"], data={"other": "x"})
    written = await cluster.api.replace(CONFIG_MAPS, body)

    assert written["data"] == {"other": "x"}
    for name in ("uid", "creationTimestamp"):
        assert written["metadata"][name] == made["metadata"][name]


async def test_a_replacement_of_an_old_version_is_a_conflict(cluster: Cluster) -> None:
    made = await cluster.create_config()
    await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "first"}})

    with pytest.raises(ConflictError) as raised:
        await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "second"}})

    status = raised.value.status
    assert (status.code, status.reason, status.kind) == (409, "Conflict", "configmaps")
    assert (await cluster.get(CONFIG_MAPS, made))["data"] == {"key": "first"}


async def test_of_many_that_replace_one_version_one_wins(cluster: Cluster) -> None:
    made = await cluster.create_config()
    answers = await asyncio.gather(
        *(cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": str(each)}}) for each in range(10)),
        return_exceptions=True,
    )

    assert sum(isinstance(each, dict) for each in answers) == 1
    assert sum(isinstance(each, ConflictError) for each in answers) == 9


async def test_without_a_version_a_replacement_always_wins(cluster: Cluster) -> None:
    made = await cluster.create_config()
    await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "first"}})
    del made["metadata"]["resourceVersion"]
    written = await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "second"}})

    assert written["data"] == {"key": "second"}


async def test_a_custom_object_is_replaced_only_with_a_version(widgets: Cluster) -> None:
    made = await widgets.create_widget()
    del made["metadata"]["resourceVersion"]

    with pytest.raises(InvalidObjectError) as raised:
        await widgets.api.replace(WIDGETS, made)
    assert raised.value.status.causes[0].field == "metadata.resourceVersion"


async def test_a_replacement_of_nothing_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError):
        await cluster.api.replace(CONFIG_MAPS, cluster.config("nobody"))


async def test_a_replacement_of_another_uid_is_a_conflict(cluster: Cluster) -> None:
    made = await cluster.create_config()
    made["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"

    with pytest.raises(ConflictError):
        await cluster.api.replace(CONFIG_MAPS, made)


async def test_a_replacement_that_changes_nothing_keeps_the_version(cluster: Cluster) -> None:
    made = await cluster.create_config()

    written = await cluster.api.replace(CONFIG_MAPS, made)

    assert written["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_patch_that_changes_nothing_keeps_the_version(cluster: Cluster) -> None:
    made = await cluster.create_config()
    patched = await cluster.api.patch(
        CONFIG_MAPS,
        made["metadata"]["name"],
        MergePatch({"data": {"key": "value"}}),
        namespace=cluster.namespace,
    )

    assert patched["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_patch_of_an_old_version_is_a_conflict(cluster: Cluster) -> None:
    made = await cluster.create_config()
    name = made["metadata"]["name"]
    await cluster.api.patch(
        CONFIG_MAPS, name, MergePatch({"data": {"key": "first"}}), namespace=cluster.namespace
    )

    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"key": "second"}}
    with pytest.raises(ConflictError):
        await cluster.api.patch(CONFIG_MAPS, name, MergePatch(old), namespace=cluster.namespace)


async def test_patches_of_many_at_once_are_all_carried_out(cluster: Cluster) -> None:
    made = await cluster.create_config(data={})
    name = made["metadata"]["name"]
    await asyncio.gather(
        *(
            cluster.api.patch(
                CONFIG_MAPS, name, MergePatch({"data": {f"k{each}": "x"}}), namespace=cluster.namespace
            )
            for each in range(10)
        )
    )

    assert len((await cluster.get(CONFIG_MAPS, made))["data"]) == 10


async def test_a_version_that_is_no_number_is_refused(cluster: Cluster) -> None:
    made = await cluster.create_config()
    made["metadata"]["resourceVersion"] = "latest"

    with pytest.raises(ApiError):
        await cluster.api.replace(CONFIG_MAPS, made)


# -------------------------------------------------------------------------------------------- generation


async def test_the_generation_counts_changes_of_the_spec(widgets: Cluster) -> None:
    made = await widgets.create_widget()
    labelled = await widgets.api.replace(
        WIDGETS, made | {"metadata": made["metadata"] | {"labels": {"a": "b"}}}
    )
    grown = await widgets.api.replace(WIDGETS, labelled | {"spec": {"size": "large"}})

    assert [each["metadata"]["generation"] for each in (made, labelled, grown)] == [1, 1, 2]


async def test_the_generation_does_not_count_changes_of_the_status(widgets: Cluster) -> None:
    made = await widgets.create_widget()
    written = await widgets.api.replace(WIDGETS, made | {"status": {"phase": "Ready"}}, subresource="status")

    assert written["metadata"]["generation"] == 1


async def test_the_generation_of_a_client_is_ignored(widgets: Cluster) -> None:
    made = await widgets.create_widget(generation=7)

    assert made["metadata"]["generation"] == 1


async def test_a_job_counts_generations(cluster: Cluster) -> None:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "example.invalid/m"}]}
    }
    made = await cluster.api.create(
        JOBS,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "namespace": cluster.namespace},
            "spec": {"suspend": True, "template": template},
        },
    )
    patched = await cluster.api.patch(
        JOBS, "j", MergePatch({"spec": {"parallelism": 3}}), namespace=cluster.namespace
    )

    assert (made["metadata"]["generation"], patched["metadata"]["generation"]) == (1, 2)


async def test_a_config_map_has_no_generation(cluster: Cluster) -> None:
    assert "generation" not in (await cluster.create_config())["metadata"]


# ------------------------------------------------------------------------------------------------ status


async def test_the_status_of_a_new_object_is_the_servers(widgets: Cluster) -> None:
    made = await widgets.api.create(WIDGETS, widgets.widget() | {"status": {"phase": "Ready"}})

    assert "status" not in made


async def test_a_replacement_leaves_the_status_alone(widgets: Cluster) -> None:
    made = await widgets.create_widget()
    ready = await widgets.api.replace(WIDGETS, made | {"status": {"phase": "Ready"}}, subresource="status")
    written = await widgets.api.replace(
        WIDGETS, ready | {"spec": {"size": "large"}, "status": {"phase": "No"}}
    )

    assert (written["spec"]["size"], written["status"]) == ("large", {"phase": "Ready"})


async def test_a_write_of_the_status_leaves_the_rest_alone(widgets: Cluster) -> None:
    made = await widgets.create_widget(labels={"a": "b"})
    body = made | {"spec": {"size": "large"}, "status": {"phase": "Ready"}}
    body["metadata"] = made["metadata"] | {"labels": {"a": "c"}}
    written = await widgets.api.replace(WIDGETS, body, subresource="status")

    assert (written["spec"]["size"], written["status"]) == ("small", {"phase": "Ready"})
    assert written["metadata"]["labels"] == {"a": "b"}


async def test_a_pods_status_is_written_apart(cluster: Cluster) -> None:
    made = await cluster.create_pod()
    name = made["metadata"]["name"]
    assert made["status"]["phase"] == "Pending"
    patched = await cluster.api.patch(
        PODS,
        name,
        MergePatch({"status": {"phase": "Running"}}),
        namespace=cluster.namespace,
        subresource="status",
    )
    ignored = await cluster.api.patch(
        PODS, name, MergePatch({"status": {"phase": "Failed"}}), namespace=cluster.namespace
    )

    assert patched["status"]["phase"] == ignored["status"]["phase"] == "Running"


async def test_a_nodes_capacity_is_written_with_its_status(cluster: Cluster) -> None:
    name = cluster.unique("node")
    await cluster.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    patched = await cluster.api.patch(
        NODES, name, MergePatch({"status": {"allocatable": {"cpu": "4"}}}), subresource="status"
    )

    assert patched["status"]["allocatable"] == {"cpu": "4"}


async def test_a_status_is_read_apart(widgets: Cluster) -> None:
    made = await widgets.create_widget()
    name = made["metadata"]["name"]

    read = await widgets.api.get(WIDGETS, name, namespace=widgets.namespace, subresource="status")

    assert read == made


async def test_a_kind_without_a_status_has_none_to_write(cluster: Cluster) -> None:
    made = await cluster.create_config()
    with pytest.raises(NotFoundError):
        await cluster.api.replace(CONFIG_MAPS, made, subresource="status")
