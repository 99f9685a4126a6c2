"""Watches: order, places to go on from, selectors, bookmarks and expiry."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from random import Random

import pytest

from closeknit.apis.core_v1 import Pod
from closeknit.kube.errors import AlreadyExistsError, ApiError, ConflictError, GoneError, NotFoundError
from closeknit.kube.mirror import Mirror
from closeknit.kube.port import Bookmark, Change, ChangeType, MergePatch, Object, Selection
from closeknit.kube.resources import CONFIG_MAPS, PODS
from tests.conformance.cluster import PATIENCE, WIDGETS, Cluster, eventually, first, told


async def version_of(cluster: Cluster) -> str:
    return (await cluster.api.list(CONFIG_MAPS, Selection(namespace=cluster.namespace))).resource_version


async def relabel(cluster: Cluster, name: str, value: str | None) -> Object:
    patch = MergePatch({"metadata": {"labels": {"l": value}}})
    return await cluster.api.patch(CONFIG_MAPS, name, patch, namespace=cluster.namespace)


async def test_changes_come_in_the_order_of_writes(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    start = await version_of(cluster)
    await cluster.create_config("a")
    await cluster.create_config("b")
    await relabel(cluster, "a", "1")
    await cluster.api.delete(CONFIG_MAPS, "b", namespace=cluster.namespace)
    await cluster.create_config("b")

    seen = await cluster.changes(CONFIG_MAPS, 5, here, resource_version=start)

    assert told(seen) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "b"),
        ("ADDED", "b"),
    ]
    versions = [int(change.resource_version) for change in seen]
    assert versions == sorted(set(versions))


async def test_a_change_holds_the_object_as_it_was_written(cluster: Cluster) -> None:
    start = await version_of(cluster)
    made = await cluster.create_config("a")
    patched = await relabel(cluster, "a", "1")
    seen = await cluster.changes(
        CONFIG_MAPS, 2, Selection(namespace=cluster.namespace), resource_version=start
    )

    assert [change.object for change in seen] == [made, patched]
    assert seen[1].resource_version == patched["metadata"]["resourceVersion"]


async def test_a_deleted_object_is_shown_as_it_was_last_with_a_later_version(cluster: Cluster) -> None:
    made = await cluster.create_config("a", data={"last": "words"})
    start = made["metadata"]["resourceVersion"]
    await cluster.api.delete(CONFIG_MAPS, "a", namespace=cluster.namespace)
    (change,) = await cluster.changes(
        CONFIG_MAPS, 1, Selection(namespace=cluster.namespace), resource_version=start
    )

    assert change.type is ChangeType.DELETED
    assert change.object["data"] == {"last": "words"}
    assert int(change.resource_version) > int(start)


@pytest.mark.parametrize("version", ["", "0"], ids=["without a version", "from version 0"])
async def test_what_is_there_comes_first_as_added(cluster: Cluster, version: str) -> None:
    await cluster.create_config("b")
    await cluster.create_config("a")
    seen = await cluster.changes(
        CONFIG_MAPS, 2, Selection(namespace=cluster.namespace), resource_version=version
    )

    assert sorted(told(seen)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_is_live(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    start = await version_of(cluster)
    watching = asyncio.create_task(cluster.changes(CONFIG_MAPS, 3, here, resource_version=start))
    await asyncio.sleep(0.1)
    await cluster.create_config("a")
    await relabel(cluster, "a", "1")
    await cluster.api.delete(CONFIG_MAPS, "a", namespace=cluster.namespace)

    assert told(await watching) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_all_watchers_see_the_same(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    start = await version_of(cluster)
    watchers = [
        asyncio.create_task(cluster.changes(CONFIG_MAPS, 20, here, resource_version=start)) for _ in range(5)
    ]
    for number in range(10):
        await cluster.create_config(f"c{number}")
        await relabel(cluster, f"c{number}", "1")
    seen = [[(change.type, change.object) for change in await each] for each in watchers]

    assert all(each == seen[0] for each in seen)


async def test_a_watch_goes_on_where_another_stopped(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    version = await version_of(cluster)
    seen: list[Change[Object]] = []
    for number in range(12):
        await cluster.create_config(f"c{number:02}")
        if number % 3 == 2:
            seen += await cluster.changes(CONFIG_MAPS, 3, here, resource_version=version)
            version = seen[-1].resource_version

    assert told(seen) == [("ADDED", f"c{number:02}") for number in range(12)]


async def test_a_watch_of_one_namespace_hears_of_no_other(cluster: Cluster) -> None:
    other = await cluster.new_namespace()
    start = await version_of(cluster)
    await cluster.api.create(CONFIG_MAPS, cluster.config("theirs", namespace=other))
    await cluster.create_config("mine")

    seen = await cluster.changes(
        CONFIG_MAPS, 1, Selection(namespace=cluster.namespace), resource_version=start
    )
    assert told(seen) == [("ADDED", "mine")]


async def test_a_watch_of_all_namespaces(cluster: Cluster) -> None:
    other = await cluster.new_namespace()
    start = await version_of(cluster)
    await cluster.create_config("mine")
    await cluster.api.create(CONFIG_MAPS, cluster.config("theirs", namespace=other))

    ours = Selection(fields="metadata.name!=kube-root-ca.crt")
    assert told(await cluster.changes(CONFIG_MAPS, 2, ours, resource_version=start)) == [
        ("ADDED", "mine"),
        ("ADDED", "theirs"),
    ]


async def test_an_object_enters_and_leaves_a_selection(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace, labels="l=1")
    start = await version_of(cluster)
    await cluster.create_config("a")
    for value in ("1", "2", "1", None):
        await relabel(cluster, "a", value)
    await cluster.create_config("b", labels={"l": "1"})
    seen = await cluster.changes(CONFIG_MAPS, 5, here, resource_version=start)

    assert told(seen) == [
        ("ADDED", "a"),
        ("DELETED", "a"),
        ("ADDED", "a"),
        ("DELETED", "a"),
        ("ADDED", "b"),
    ]


async def test_what_leaves_a_selection_is_shown_as_it_was_in_it(cluster: Cluster) -> None:
    start = await version_of(cluster)
    await cluster.create_config("a", labels={"l": "1"})
    after = await relabel(cluster, "a", "2")
    here = Selection(namespace=cluster.namespace, labels="l=1")
    _, left = await cluster.changes(CONFIG_MAPS, 2, here, resource_version=start)

    assert left.object["metadata"]["labels"] == {"l": "1"}
    assert left.resource_version == after["metadata"]["resourceVersion"]


async def test_a_field_selector_follows_a_pod_to_its_node(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    here = Selection(namespace=cluster.namespace, fields="spec.nodeName=n1")
    start = made["metadata"]["resourceVersion"]
    await cluster.api.bind("p", "n1", namespace=cluster.namespace)
    waiting = Selection(namespace=cluster.namespace, fields="spec.nodeName=")

    assert told(await cluster.changes(PODS, 1, here, resource_version=start)) == [("ADDED", "p")]
    assert told(await cluster.changes(PODS, 1, waiting, resource_version=start)) == [("DELETED", "p")]


async def test_one_name_can_be_watched(cluster: Cluster) -> None:
    start = await version_of(cluster)
    await cluster.create_config("a")
    await cluster.create_config("b")
    here = Selection(namespace=cluster.namespace, fields="metadata.name=b")

    assert told(await cluster.changes(CONFIG_MAPS, 1, here, resource_version=start)) == [("ADDED", "b")]


async def test_custom_objects_are_watched_alike(widgets: Cluster) -> None:
    here = Selection(namespace=widgets.namespace)
    made = await widgets.create_widget("w")
    await widgets.api.delete(WIDGETS, "w", namespace=widgets.namespace)
    start = str(int(made["metadata"]["resourceVersion"]))

    assert told(await widgets.changes(WIDGETS, 1, here, resource_version=start)) == [("DELETED", "w")]


async def test_a_watch_decodes_into_a_type(cluster: Cluster) -> None:
    await cluster.create_pod("p", labels={"a": "b"})
    watch = cluster.api.watch(PODS, Selection(namespace=cluster.namespace), timeout=PATIENCE, into=Pod)
    async with aclosing(watch) as events:
        event = await first(events)

    assert isinstance(event, Change)
    assert isinstance(event.object, Pod)
    assert event.object.metadata.labels == {"a": "b"}


async def test_a_watch_ends_when_its_time_is_over(cluster: Cluster) -> None:
    watch = cluster.api.watch(CONFIG_MAPS, Selection(namespace=cluster.namespace), timeout=1)

    assert [event async for event in watch if isinstance(event, Change)] == []


async def test_a_watch_says_when_all_that_is_there_has_come(cluster: Cluster) -> None:
    """So a reader knows that what it has is complete, and where to go on, even where nothing is there."""
    latest = (await cluster.create_config("a"))["metadata"]["resourceVersion"]
    here = Selection(namespace=cluster.namespace, labels="never=1")
    async with aclosing(cluster.api.watch(CONFIG_MAPS, here, timeout=PATIENCE)) as events:
        event = await first(events)

    assert isinstance(event, Bookmark)
    assert int(event.resource_version) >= int(latest)


async def test_bookmarks_move_on_without_changes(cluster: Cluster) -> None:
    """A watch of a selection in which nothing happens learns that time has passed."""
    start = await version_of(cluster)
    here = Selection(namespace=cluster.namespace, labels="never=1")
    for number in range(5):
        await cluster.create_config(f"c{number}")
    latest = (await cluster.create_config("last"))["metadata"]["resourceVersion"]

    # A real server sends one about every minute.
    async with aclosing(cluster.api.watch(CONFIG_MAPS, here, resource_version=start, timeout=180)) as events:
        event = await first(events)

    assert isinstance(event, Bookmark)
    assert int(event.resource_version) >= int(latest)


async def test_a_version_that_is_too_old_is_gone(cluster: Cluster) -> None:
    start = await version_of(cluster)
    await cluster.create_config("a")
    await cluster.forget()
    with pytest.raises(GoneError) as raised:
        await cluster.changes(CONFIG_MAPS, 1, Selection(namespace=cluster.namespace), resource_version=start)

    assert (raised.value.status.code, raised.value.status.reason) == (410, "Expired")


async def test_a_mirror_lists_again_what_the_server_forgot(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    await cluster.create_config("a")
    await cluster.create_config("b")
    mirror: Mirror[Object] = Mirror(cluster.api, CONFIG_MAPS, here, random=Random(1))
    await mirror._list()
    await cluster.api.delete(CONFIG_MAPS, "a", namespace=cluster.namespace)
    await cluster.create_config("c")
    await cluster.forget()
    following = asyncio.create_task(mirror._follow())
    with pytest.raises(GoneError):
        await asyncio.wait_for(following, PATIENCE)
    following = asyncio.create_task(mirror.run())
    try:
        last = await cluster.create_config("last")
        await asyncio.wait_for(mirror.reached(last["metadata"]["resourceVersion"]), PATIENCE)
        assert sorted(each["metadata"]["name"] for each in mirror) == ["b", "c", "last"]
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_version_that_is_none_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ApiError):
        await cluster.changes(
            CONFIG_MAPS, 1, Selection(namespace=cluster.namespace), resource_version="latest"
        )


async def test_a_watcher_that_does_not_read_holds_up_nobody(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    start = await version_of(cluster)
    async with aclosing(cluster.api.watch(CONFIG_MAPS, here, resource_version=start)) as idle:
        await cluster.create_config("first")
        await first(idle)
        for number in range(200):
            await cluster.create_config(f"c{number:03}", data={"x": "y" * 1000})
        seen = await cluster.changes(CONFIG_MAPS, 201, here, resource_version=start)

    assert len(told(seen)) == 201


async def test_a_mirror_follows_writes_of_many(cluster: Cluster) -> None:
    here = Selection(namespace=cluster.namespace)
    mirror: Mirror[Object] = Mirror(cluster.api, CONFIG_MAPS, here, random=Random(1), page_size=7)
    following = asyncio.create_task(mirror.run())
    random = Random(2)

    async def write(writer: int) -> None:
        for step in range(30):
            name = f"c{random.randrange(12)}"
            try:
                match random.randrange(3):
                    case 0:
                        await cluster.create_config(name)
                    case 1:
                        await relabel(cluster, name, f"{writer}-{step}")
                    case _:
                        await cluster.api.delete(CONFIG_MAPS, name, namespace=cluster.namespace)
            except (AlreadyExistsError, ConflictError, NotFoundError):
                continue

    try:
        await asyncio.gather(*(write(writer) for writer in range(4)))
        last = await cluster.create_config("last")
        await asyncio.wait_for(mirror.reached(last["metadata"]["resourceVersion"]), PATIENCE)
        page = await cluster.api.list(CONFIG_MAPS, here)
        assert sorted(mirror, key=lambda each: each["metadata"]["name"]) == page.items
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_a_mirror_of_one_node_sees_pods_come_and_go(cluster: Cluster) -> None:
    node = cluster.unique("node")
    here = Selection(namespace=cluster.namespace, fields=f"spec.nodeName={node}")
    mirror: Mirror[Pod] = Mirror(cluster.api, PODS, here, random=Random(1), into=Pod)
    following = asyncio.create_task(mirror.run())
    try:
        await cluster.create_pod("p")
        await mirror.synced()
        await cluster.api.bind("p", node, namespace=cluster.namespace)

        async def holds(number: int) -> bool:
            return len(mirror) == number

        await eventually(lambda: holds(1))
        pod = mirror.get("p", cluster.namespace)
        assert pod is not None
        await cluster.api.evict("p", namespace=cluster.namespace)
        await eventually(lambda: has_deletion(mirror, cluster.namespace))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def has_deletion(mirror: Mirror[Pod], namespace: str) -> bool:
    pod = mirror.get("p", namespace)
    return pod is None or bool(pod.metadata.deletion_timestamp)
