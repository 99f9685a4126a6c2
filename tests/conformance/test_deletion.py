"""Deleting: finalizers, preconditions, grace periods, and what becomes of dependents."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from closeknit.kube.errors import ApiError, ConflictError, InvalidObjectError, NotFoundError
from closeknit.kube.port import DELETE, DeleteOptions, MergePatch, Object, Propagation, Selection
from closeknit.kube.resources import CONFIG_MAPS, JOBS, PODS
from tests.conformance.cluster import WIDGETS, Cluster, eventually


async def delete(cluster: Cluster, name: str, options: DeleteOptions = DELETE) -> Object:
    return await cluster.api.delete(CONFIG_MAPS, name, namespace=cluster.namespace, options=options)


async def finalize(cluster: Cluster, name: str, *finalizers: str) -> Object:
    patch = MergePatch({"metadata": {"finalizers": list(finalizers)}})
    return await cluster.api.patch(CONFIG_MAPS, name, patch, namespace=cluster.namespace)


async def test_what_is_deleted_is_gone(cluster: Cluster) -> None:
    made = await cluster.create_config("a")
    await delete(cluster, "a")

    assert await cluster.gone(CONFIG_MAPS, made)
    with pytest.raises(NotFoundError):
        await delete(cluster, "a")


async def test_a_name_is_free_after_a_deletion(cluster: Cluster) -> None:
    made = await cluster.create_config("a")
    await delete(cluster, "a")
    again = await cluster.create_config("a")

    assert again["metadata"]["uid"] != made["metadata"]["uid"]


@pytest.mark.parametrize("right", [True, False], ids=["that holds", "that does not"])
@pytest.mark.parametrize("which", ["uid", "resourceVersion"])
async def test_a_precondition(cluster: Cluster, which: str, right: bool) -> None:
    made = await cluster.create_config("a")
    given = made["metadata"][which]
    if not right:
        given = "1" if which == "resourceVersion" else "00000000-0000-0000-0000-000000000000"
    options = DeleteOptions(uid=given) if which == "uid" else DeleteOptions(resource_version=given)
    if right:
        await delete(cluster, "a", options)
        assert await cluster.gone(CONFIG_MAPS, made)
    else:
        with pytest.raises(ConflictError):
            await delete(cluster, "a", options)
        assert await cluster.get(CONFIG_MAPS, made) == made


# -------------------------------------------------------------------------------------------- finalizers


async def test_a_finalizer_holds_an_object(cluster: Cluster) -> None:
    made = await cluster.create_config("a", finalizers=["x.dev/hold"])
    answer = await delete(cluster, "a")
    held = await cluster.get(CONFIG_MAPS, made)

    assert answer["metadata"]["deletionTimestamp"] == held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["uid"] == made["metadata"]["uid"]
    await finalize(cluster, "a")
    assert await cluster.gone(CONFIG_MAPS, made)


async def test_the_last_finalizer_lets_go(cluster: Cluster) -> None:
    made = await cluster.create_config("a", finalizers=["x.dev/one", "x.dev/two"])
    await delete(cluster, "a")
    await finalize(cluster, "a", "x.dev/two")
    assert await cluster.exists(CONFIG_MAPS, made)
    await finalize(cluster, "a")
    assert await cluster.gone(CONFIG_MAPS, made)


async def test_a_second_deletion_changes_nothing(cluster: Cluster) -> None:
    await cluster.create_config("a", finalizers=["x.dev/hold"])
    first = await delete(cluster, "a")
    second = await delete(cluster, "a")

    assert first["metadata"]["deletionTimestamp"] == second["metadata"]["deletionTimestamp"]
    await finalize(cluster, "a")


async def test_what_is_being_deleted_gets_no_new_finalizer(cluster: Cluster) -> None:
    await cluster.create_config("a", finalizers=["x.dev/hold"])
    await delete(cluster, "a")

    with pytest.raises(InvalidObjectError) as raised:
        await finalize(cluster, "a", "x.dev/hold", "x.dev/more")
    assert {cause.field for cause in raised.value.status.causes} == {"metadata.finalizers"}
    await finalize(cluster, "a")


async def test_what_is_being_deleted_can_be_changed(cluster: Cluster) -> None:
    await cluster.create_config("a", finalizers=["x.dev/hold"])
    await delete(cluster, "a")
    patched = await cluster.api.patch(
        CONFIG_MAPS, "a", MergePatch({"data": {"key": "new"}}), namespace=cluster.namespace
    )

    assert patched["data"] == {"key": "new"}
    await finalize(cluster, "a")


async def test_a_deletion_cannot_be_taken_back(cluster: Cluster) -> None:
    await cluster.create_config("a", finalizers=["x.dev/hold"])
    await delete(cluster, "a")
    patch = MergePatch({"metadata": {"deletionTimestamp": None}})
    patched = await cluster.api.patch(CONFIG_MAPS, "a", patch, namespace=cluster.namespace)

    assert patched["metadata"]["deletionTimestamp"]
    await finalize(cluster, "a")


async def test_a_name_is_taken_until_the_finalizers_are_done(cluster: Cluster) -> None:
    await cluster.create_config("a", finalizers=["x.dev/hold"])
    await delete(cluster, "a")

    with pytest.raises(ApiError) as raised:
        await cluster.create_config("a")
    assert raised.value.status.code == 409
    await finalize(cluster, "a")
    await cluster.create_config("a")


async def test_the_end_of_a_held_object_is_watched(cluster: Cluster) -> None:
    made = await cluster.create_config("a", finalizers=["x.dev/hold"])
    await delete(cluster, "a")
    await finalize(cluster, "a")
    seen = await cluster.changes(
        CONFIG_MAPS,
        2,
        Selection(namespace=cluster.namespace),
        resource_version=made["metadata"]["resourceVersion"],
    )

    assert [change.type.value for change in seen] == ["MODIFIED", "DELETED"]
    assert seen[0].object["metadata"]["deletionTimestamp"]


async def test_custom_objects_have_finalizers_too(widgets: Cluster) -> None:
    made = await widgets.create_widget("w", finalizers=["x.dev/hold"])
    await widgets.api.delete(WIDGETS, "w", namespace=widgets.namespace)
    held = await widgets.get(WIDGETS, made)
    assert held["metadata"]["deletionTimestamp"]
    # Counting a deletion as a change of the spec lets controllers notice it.
    assert held["metadata"]["generation"] == 2
    patch = MergePatch({"metadata": {"finalizers": []}})
    await widgets.api.patch(WIDGETS, "w", patch, namespace=widgets.namespace)
    assert await widgets.gone(WIDGETS, made)


# ------------------------------------------------------------------------------------------ grace period


async def test_a_pod_without_a_node_goes_at_once(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace)

    assert await cluster.gone(PODS, made)


async def test_a_pod_on_a_node_waits_for_its_kubelet(cluster: Cluster) -> None:
    made = await cluster.create_pod("p", spec={"nodeName": cluster.unique("node")})
    answer = await cluster.api.delete(PODS, "p", namespace=cluster.namespace)
    held = await cluster.get(PODS, made)

    assert held["metadata"]["deletionGracePeriodSeconds"] == 30
    assert answer["metadata"]["deletionTimestamp"] == held["metadata"]["deletionTimestamp"]
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace, options=DeleteOptions(grace_period=0))
    assert await cluster.gone(PODS, made)


async def test_a_pods_grace_period_is_its_own_or_the_callers(cluster: Cluster) -> None:
    node = cluster.unique("node")
    made = await cluster.create_pod("p", spec={"nodeName": node, "terminationGracePeriodSeconds": 7})
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace)
    assert (await cluster.get(PODS, made))["metadata"]["deletionGracePeriodSeconds"] == 7
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace, options=DeleteOptions(grace_period=3))
    assert (await cluster.get(PODS, made))["metadata"]["deletionGracePeriodSeconds"] == 3
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace, options=DeleteOptions(grace_period=0))


async def test_a_pod_that_has_finished_goes_at_once(cluster: Cluster) -> None:
    made = await cluster.create_pod("p", spec={"nodeName": cluster.unique("node")})
    await cluster.api.patch(
        PODS,
        "p",
        MergePatch({"status": {"phase": "Succeeded"}}),
        namespace=cluster.namespace,
        subresource="status",
    )
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace)

    assert await cluster.gone(PODS, made)


# ------------------------------------------------------------------------------------------- collections


async def test_a_selection_is_deleted_at_once(cluster: Cluster) -> None:
    other = await cluster.new_namespace()
    for name, label in (("a", "1"), ("b", "1"), ("c", "2")):
        await cluster.create_config(name, labels={"l": label})
    await cluster.api.create(CONFIG_MAPS, cluster.config("d", namespace=other, labels={"l": "1"}))
    await cluster.api.delete_collection(CONFIG_MAPS, Selection(namespace=cluster.namespace, labels="l=1"))

    assert await cluster.names(CONFIG_MAPS) == ["c"]
    assert await cluster.names(CONFIG_MAPS, Selection(namespace=other)) == ["d"]


async def test_a_selection_obeys_finalizers(cluster: Cluster) -> None:
    await cluster.create_config("a", finalizers=["x.dev/hold"])
    await cluster.create_config("b")
    await cluster.api.delete_collection(CONFIG_MAPS, Selection(namespace=cluster.namespace))

    assert await cluster.names(CONFIG_MAPS) == ["a"]
    await finalize(cluster, "a")
    assert await cluster.names(CONFIG_MAPS) == []


# -------------------------------------------------------------------------------------------- dependents


def owner(obj: Object, **more: Any) -> Object:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
    } | more


async def family(cluster: Cluster, **more: Any) -> tuple[Object, Object, Object]:
    """An object, one that it owns, and one that that one owns."""
    parent = await cluster.create_config("parent")
    child = await cluster.create_config("child", ownerReferences=[owner(parent, **more)])
    grandchild = await cluster.create_config("grandchild", ownerReferences=[owner(child, **more)])
    return parent, child, grandchild


async def test_in_the_background_dependents_follow(cluster: Cluster) -> None:
    parent, child, grandchild = await family(cluster)
    await delete(cluster, "parent", DeleteOptions(propagation=Propagation.BACKGROUND))

    assert await cluster.gone(CONFIG_MAPS, parent)
    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))
    await eventually(lambda: cluster.gone(CONFIG_MAPS, grandchild))


async def test_a_deletion_is_in_the_background_unless_told_otherwise(cluster: Cluster) -> None:
    parent, child, _ = await family(cluster)
    await delete(cluster, "parent")

    assert await cluster.gone(CONFIG_MAPS, parent)
    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))


async def test_in_the_foreground_dependents_go_first(cluster: Cluster) -> None:
    parent = await cluster.create_config("parent")
    references = [owner(parent, blockOwnerDeletion=True)]
    child = await cluster.create_config("child", ownerReferences=references, finalizers=["x.dev/hold"])
    answer = await delete(cluster, "parent", DeleteOptions(propagation=Propagation.FOREGROUND))
    assert "foregroundDeletion" in answer["metadata"]["finalizers"]

    async def child_is_going() -> bool:
        return "deletionTimestamp" in (await cluster.get(CONFIG_MAPS, child))["metadata"]

    await eventually(child_is_going)
    await asyncio.sleep(0.2)
    assert (await cluster.get(CONFIG_MAPS, parent))["metadata"]["deletionTimestamp"]
    await finalize(cluster, "child")
    await eventually(lambda: cluster.gone(CONFIG_MAPS, parent))
    assert await cluster.gone(CONFIG_MAPS, child)


async def test_in_the_foreground_only_blocking_dependents_are_waited_for(cluster: Cluster) -> None:
    parent = await cluster.create_config("parent")
    child = await cluster.create_config("child", ownerReferences=[owner(parent)], finalizers=["x.dev/hold"])
    await delete(cluster, "parent", DeleteOptions(propagation=Propagation.FOREGROUND))

    await eventually(lambda: cluster.gone(CONFIG_MAPS, parent))
    assert await cluster.exists(CONFIG_MAPS, child)
    await finalize(cluster, "child")


async def test_in_the_foreground_a_whole_family_goes(cluster: Cluster) -> None:
    made = await family(cluster, blockOwnerDeletion=True)
    await delete(cluster, "parent", DeleteOptions(propagation=Propagation.FOREGROUND))

    for each in reversed(made):
        await eventually(partial(cluster.gone, CONFIG_MAPS, each))


async def test_orphans_stay_and_forget_their_owner(cluster: Cluster) -> None:
    parent, child, grandchild = await family(cluster)
    await delete(cluster, "parent", DeleteOptions(propagation=Propagation.ORPHAN))

    await eventually(lambda: cluster.gone(CONFIG_MAPS, parent))
    orphan = await cluster.get(CONFIG_MAPS, child)
    assert "ownerReferences" not in orphan["metadata"]
    assert orphan["metadata"]["uid"] == child["metadata"]["uid"]
    assert (await cluster.get(CONFIG_MAPS, grandchild))["metadata"]["ownerReferences"] == [owner(child)]


async def test_an_object_stays_while_one_owner_is_left(cluster: Cluster) -> None:
    one, two = await cluster.create_config("one"), await cluster.create_config("two")
    child = await cluster.create_config("child", ownerReferences=[owner(one), owner(two)])
    await delete(cluster, "one")

    async def forgot() -> bool:
        references = (await cluster.get(CONFIG_MAPS, child))["metadata"]["ownerReferences"]
        return bool(references == [owner(two)])

    await eventually(forgot)
    await delete(cluster, "two")
    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))


async def test_an_object_whose_owner_never_was_is_collected(cluster: Cluster) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    child = await cluster.create_config("child", ownerReferences=[owner(ghost)])

    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))


async def test_an_owner_of_the_same_name_and_another_uid_is_another(cluster: Cluster) -> None:
    parent = await cluster.create_config("parent")
    wrong = owner(parent) | {"uid": "no-such-uid"}
    child = await cluster.create_config("child", ownerReferences=[wrong])

    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))
    assert await cluster.exists(CONFIG_MAPS, parent)


async def test_an_owner_in_another_namespace_is_no_owner(cluster: Cluster) -> None:
    parent = await cluster.create_config("parent")
    other = await cluster.new_namespace()
    stolen = cluster.config("child", namespace=other, ownerReferences=[owner(parent)])
    child = await cluster.api.create(CONFIG_MAPS, stolen)

    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))
    assert await cluster.exists(CONFIG_MAPS, parent)


async def test_an_owner_of_another_kind_is_no_owner(cluster: Cluster) -> None:
    parent = await cluster.create_config("parent")
    child = await cluster.create_config("child", ownerReferences=[owner(parent) | {"kind": "Secret"}])

    await eventually(lambda: cluster.gone(CONFIG_MAPS, child))
    assert await cluster.exists(CONFIG_MAPS, parent)


async def test_an_object_whose_owner_has_a_kind_that_is_not_served_stays(cluster: Cluster) -> None:
    parent = await cluster.create_config("parent")
    unknown = owner(parent) | {"apiVersion": "unknown.example/v1", "kind": "Thing", "uid": "no-such-uid"}
    child = await cluster.create_config("child", ownerReferences=[unknown])
    await asyncio.sleep(0.2)

    assert await cluster.exists(CONFIG_MAPS, child)


async def test_a_dependent_in_another_namespace_outlives_foreground_deletion_of_its_owner_alone(
    cluster: Cluster,
) -> None:
    parent = await cluster.create_config("parent", finalizers=["x.dev/hold"])
    other = await cluster.new_namespace()
    own = cluster.config("own", namespace=other)
    local = await cluster.api.create(CONFIG_MAPS, own)
    both = [owner(local), owner(parent, blockOwnerDeletion=True)]
    stolen = cluster.config("child", namespace=other, ownerReferences=both)
    child = await cluster.api.create(CONFIG_MAPS, stolen)
    await delete(cluster, "parent", DeleteOptions(propagation=Propagation.FOREGROUND))
    await finalize(cluster, "parent")

    await eventually(lambda: cluster.gone(CONFIG_MAPS, parent))
    assert await cluster.exists(CONFIG_MAPS, child)


async def test_pods_follow_a_custom_object(widgets: Cluster) -> None:
    parent = await widgets.create_widget("w")
    child = await widgets.create_pod("p", ownerReferences=[owner(parent, controller=True)])
    await widgets.api.delete(WIDGETS, "w", namespace=widgets.namespace)

    # A real garbage collector looks for new kinds twice a minute.
    await eventually(lambda: widgets.gone(PODS, child), 180)


async def test_a_job_leaves_what_it_owns_unless_told_otherwise(cluster: Cluster) -> None:
    """Which is why kubectl always says what is to become of dependents.

    What it owns is a Job too. A real garbage collector watches each kind apart: it may see that a
    Job is deleted before it sees a ConfigMap that was created earlier, finds nothing to orphan, and
    then collects the ConfigMap.
    """

    async def create_job(name: str, **metadata: Any) -> Object:
        container = {"name": "m", "image": "example.invalid/m"}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": cluster.namespace, **metadata},
            "spec": {
                "suspend": True,
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }
        return await cluster.api.create(JOBS, job)

    parent = await create_job("parent")
    child = await create_job("child", ownerReferences=[owner(parent)])
    await cluster.api.delete(JOBS, "parent", namespace=cluster.namespace)

    await eventually(lambda: cluster.gone(JOBS, parent))
    assert "ownerReferences" not in (await cluster.get(JOBS, child))["metadata"]


async def test_two_controllers_of_one_object_are_refused(cluster: Cluster) -> None:
    one, two = await cluster.create_config("one"), await cluster.create_config("two")
    both = [owner(one, controller=True), owner(two, controller=True)]

    with pytest.raises(InvalidObjectError) as raised:
        await cluster.create_config("child", ownerReferences=both)
    assert [cause.field for cause in raised.value.status.causes] == ["metadata.ownerReferences"]
