"""The official Python client watches, and an informer follows."""

from __future__ import annotations

from typing import Any

from kubernetes import watch
from kubernetes.informer import SharedInformer

from tests.conformance.python_client import Reached, eventually


def test_a_watch_is_told_every_change_and_goes_on_where_it_ended(reached: Reached) -> None:
    core, namespace = reached.core, reached.namespace
    reached.config("before")
    start = reached.version()
    reached.config("a", k="1")
    core.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
    watching = watch.Watch()
    seen = []
    for event in watching.stream(core.list_namespaced_config_map, namespace, resource_version=start):
        seen.append((event["type"], event["object"].metadata.name, event["object"].data))
        if len(seen) == 2:
            watching.stop()
    core.delete_namespaced_config_map("a", namespace)
    reached.config("b", k="1")
    for event in watching.stream(
        core.list_namespaced_config_map, namespace, resource_version=watching.resource_version
    ):
        seen.append((event["type"], event["object"].metadata.name, event["object"].data))
        if len(seen) == 4:
            watching.stop()

    assert seen == [
        ("ADDED", "a", {"k": "1"}),
        ("MODIFIED", "a", {"k": "2"}),
        ("DELETED", "a", {"k": "2"}),
        ("ADDED", "b", {"k": "1"}),
    ]


def test_a_watch_without_a_version_begins_with_what_is_there_and_ends_in_time(reached: Reached) -> None:
    reached.config("a")
    reached.config("b")
    events = watch.Watch().stream(
        reached.core.list_namespaced_config_map,
        reached.namespace,
        label_selector="app=a",
        timeout_seconds=2,
    )

    assert [(event["type"], event["object"].metadata.name) for event in events] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
    ]


def test_a_watch_may_begin_with_what_is_there_and_a_bookmark_says_when_that_is_all(reached: Reached) -> None:
    reached.config("a")
    latest = reached.config("b").metadata.resource_version
    watching = watch.Watch()
    seen = []
    for event in watching.stream(
        reached.core.list_namespaced_config_map,
        reached.namespace,
        label_selector="app=a",
        send_initial_events=True,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
    ):
        seen.append((event["type"], event["raw_object"]["metadata"].get("name")))
        if event["type"] == "BOOKMARK":
            watching.stop()

    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", None)]
    assert event["raw_object"]["kind"] == "ConfigMap"
    assert event["raw_object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(watching.resource_version) >= int(latest)


def test_an_informer_follows_and_lists_again_what_the_server_forgot(reached: Reached) -> None:
    core, namespace = reached.core, reached.namespace
    reached.config("a", k="1")
    reached.config("b")
    told: list[tuple[str, str]] = []
    informer = SharedInformer(core.list_namespaced_config_map, namespace, label_selector="app=a")
    for word in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(word, lambda obj, word=word: told.append((word, obj.metadata.name)))
    refused: list[Any] = []
    informer.add_event_handler("ERROR", refused.append)

    def cached() -> dict[str, Any]:
        return {each.metadata.name: each.data for each in informer.cache.list()}

    informer.start()
    try:
        eventually(lambda: len(told) == 2)
        core.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
        core.delete_namespaced_config_map("b", namespace)
        eventually(lambda: len(told) == 4)
        assert told == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
        assert cached() == {"a": {"k": "2"}}
    finally:
        informer.stop()
    # While it is not looking, things happen, and the server forgets how they came about.
    core.delete_namespaced_config_map("a", namespace)
    reached.config("c")
    reached.forget()
    told.clear()
    refused.clear()
    informer.start()
    try:
        eventually(lambda: len(told) == 2)
        assert [each.status for each in refused] == [410]
        assert told == [("DELETED", "a"), ("ADDED", "c")]
        reached.config("d")
        eventually(lambda: len(told) == 3)
        assert cached() == {"c": None, "d": None}
    finally:
        informer.stop()
