"""The official Python client, typed and dynamic, on the embedded cluster as on a real API server."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError, ResourceNotFoundError
from kubernetes.informer import SharedInformer

from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.embedded.http.server import Server
from closeknit.testing.control_plane import ControlPlane
from tests.conformance.cluster import PATIENCE
from tests.conformance.conftest import OVER_HTTP, REAL
from tests.conformance.manifests import definitions


@dataclass(frozen=True)
class Reached:
    """A server, through the client."""

    client: client.ApiClient
    namespace: str
    forget: Callable[[], None]
    """Makes every version that was handed out so far too old to watch from."""
    folder: Path

    @property
    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.client)

    @property
    def batch(self) -> client.BatchV1Api:
        return client.BatchV1Api(self.client)

    def dynamic(self) -> dynamic.DynamicClient:
        # Without a file of its own, it would share what it discovers with every server of the same address.
        return dynamic.DynamicClient(self.client, cache_file=str(self.folder / "discovered.json"))

    def config(self, name: str, **data: str) -> client.V1ConfigMap:
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "a"}), data=data)
        return self.core.create_namespaced_config_map(self.namespace, body)

    def config_names(self) -> list[str]:
        """Those of the test, without the one that a real cluster puts into every namespace."""
        found = self.core.list_namespaced_config_map(self.namespace).items
        return [each.metadata.name for each in found if each.metadata.name != "kube-root-ca.crt"]

    def version(self) -> str:
        return str(self.core.list_namespaced_config_map(self.namespace).metadata.resource_version)


@contextmanager
def listening(kubeconfig: Path) -> Iterator[Callable[[], None]]:
    """An embedded cluster that listens in a thread of its own; yields what makes it forget its history."""
    begun: Future[tuple[EmbeddedCluster, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        cluster, end = EmbeddedCluster(bookmark_every=0.2), asyncio.Event()
        async with Server(cluster) as server:
            server.write_kubeconfig(kubeconfig)
            begun.set_result((cluster, asyncio.get_running_loop(), end))
            await end.wait()
        await cluster.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    cluster, loop, end = begun.result(PATIENCE)

    async def forget() -> None:
        cluster.forget_history()

    try:
        yield lambda: asyncio.run_coroutine_threadsafe(forget(), loop).result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(PATIENCE)


@pytest.fixture(params=[OVER_HTTP, pytest.param(REAL, marks=pytest.mark.e2e)])
def reached(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reached]:
    """A server, and a namespace of the test's own."""
    if request.param == REAL:
        plane: ControlPlane = request.getfixturevalue("plane")

        def restart() -> None:
            plane.kill_api_server()
            plane.start_api_server()

        yield from _reached(plane.kubeconfig, restart, tmp_path)
        return
    kubeconfig = tmp_path / "kubeconfig"
    with listening(kubeconfig) as forget:
        yield from _reached(kubeconfig, forget, tmp_path)


def _reached(kubeconfig: Path, forget: Callable[[], None], folder: Path) -> Iterator[Reached]:
    with config.new_client_from_config(str(kubeconfig)) as made:
        namespace = f"python-{secrets.token_hex(3)}"
        metadata = client.V1ObjectMeta(name=namespace)
        client.CoreV1Api(made).create_namespace(client.V1Namespace(metadata=metadata))
        yield Reached(made, namespace, forget, folder)
        made.rest_client.pool_manager.clear()


def pod(name: str, **spec: Any) -> client.V1Pod:
    container = client.V1Container(
        name="main",
        image="example.invalid/main:1",
        resources=client.V1ResourceRequirements(limits={"cpu": "500m", "nvidia.com/gpu": "1"}),
    )
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, labels={"app": name}),
        spec=client.V1PodSpec(containers=[container], **spec),
    )


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "It did not become so in time."
        time.sleep(0.02)


# ---------------------------------------------------------------------------------------------- typed


def test_a_pod_is_made_read_listed_patched_bound_and_deleted(reached: Reached) -> None:
    core, namespace = reached.core, reached.namespace
    made = core.create_namespaced_pod(namespace, pod("a"), field_manager="me")
    core.create_namespaced_pod(namespace, pod("b"))
    node = f"node-{namespace}"
    core.create_node(client.V1Node(metadata=client.V1ObjectMeta(name=node)))

    assert made.status.phase == "Pending"
    assert made.status.qos_class == "Burstable"
    assert made.spec.containers[0].resources.requests == {"cpu": "500m", "nvidia.com/gpu": "1"}
    assert made.spec.containers[0].image_pull_policy == "IfNotPresent"
    assert [each.manager for each in made.metadata.managed_fields] == ["me"]
    assert made.metadata.creation_timestamp.tzinfo is not None
    assert core.read_namespaced_pod("a", namespace).to_dict() == made.to_dict()
    found = core.list_namespaced_pod(namespace, label_selector="app in (a, c)")
    assert [each.metadata.name for each in found.items] == ["a"]
    page = core.list_namespaced_pod(namespace, limit=1)
    rest = core.list_namespaced_pod(namespace, limit=1, _continue=page.metadata._continue)
    assert [each.metadata.name for each in (*page.items, *rest.items)] == ["a", "b"]

    labelled = core.patch_namespaced_pod("a", namespace, {"metadata": {"labels": {"tier": "gold"}}})
    assert labelled.metadata.labels == {"app": "a", "tier": "gold"}
    operations = [{"op": "remove", "path": "/metadata/labels/tier"}]
    assert core.patch_namespaced_pod("a", namespace, operations).metadata.labels == {"app": "a"}

    binding = client.V1Binding(
        metadata=client.V1ObjectMeta(name="a"), target=client.V1ObjectReference(kind="Node", name=node)
    )
    # The answer is a Status, which the client would take for a Binding.
    core.create_namespaced_binding(namespace, binding, _preload_content=False)
    bound = core.list_namespaced_pod(namespace, field_selector=f"spec.nodeName={node}").items
    assert [each.metadata.name for each in bound] == ["a"]

    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}}
    running = core.patch_namespaced_pod_status("a", namespace, ready)
    assert {each.type for each in running.status.conditions} == {"Ready", "PodScheduled"}

    core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
    with pytest.raises(ApiException) as raised:
        core.read_namespaced_pod("a", namespace)
    assert (raised.value.status, raised.value.reason) == (404, "Not Found")


def test_who_replaces_an_old_version_is_told_of_the_conflict(reached: Reached) -> None:
    core, namespace = reached.core, reached.namespace
    old = reached.config("a", k="1")
    core.patch_namespaced_config_map("a", namespace, {"data": {"k": "2"}})
    old.data = {"k": "3"}
    with pytest.raises(ApiException) as raised:
        core.replace_namespaced_config_map("a", namespace, old)

    assert raised.value.status == 409
    assert '"reason":"Conflict"' in raised.value.body
    fresh = core.read_namespaced_config_map("a", namespace)
    fresh.data = {"k": "3"}
    assert core.replace_namespaced_config_map("a", namespace, fresh).data == {"k": "3"}


def test_a_pod_that_is_wrong_is_refused_with_its_fields(reached: Reached) -> None:
    wrong = pod("a", priority_class_name="nobody")
    with pytest.raises(ApiException) as raised:
        reached.core.create_namespaced_pod(reached.namespace, wrong)
    assert raised.value.status == 403
    wrong = pod("A_", tolerations=[client.V1Toleration(operator="Equal")])
    with pytest.raises(ApiException) as raised:
        reached.core.create_namespaced_pod(reached.namespace, wrong)
    assert raised.value.status == 422
    assert '"field":"metadata.name"' in raised.value.body
    assert '"field":"spec.tolerations[0].operator"' in raised.value.body


def test_a_pod_is_evicted(reached: Reached) -> None:
    core, namespace = reached.core, reached.namespace
    core.create_namespaced_pod(namespace, pod("a"))
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="a", namespace=namespace))
    core.create_namespaced_pod_eviction("a", namespace, eviction, _preload_content=False)

    assert core.list_namespaced_pod(namespace).items == []


def test_a_job_is_made_changed_and_deleted_with_what_it_owns(reached: Reached) -> None:
    batch, namespace = reached.batch, reached.namespace
    template = client.V1PodTemplateSpec(spec=pod("a", restart_policy="Never").spec)
    job = client.V1Job(
        metadata=client.V1ObjectMeta(name="a"),
        # Suspended, so that whoever runs Jobs on this server leaves it alone.
        spec=client.V1JobSpec(
            template=template, parallelism=2, completions=2, completion_mode="Indexed", suspend=True
        ),
    )
    made = batch.create_namespaced_job(namespace, job)
    assert made.spec.template.spec.scheduler_name == "default-scheduler"
    assert made.spec.backoff_limit == 6
    owner = client.V1OwnerReference(api_version="batch/v1", kind="Job", name="a", uid=made.metadata.uid)
    owned = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="owned", owner_references=[owner]))
    reached.core.create_namespaced_config_map(namespace, owned)
    assert batch.patch_namespaced_job("a", namespace, {"spec": {"parallelism": 1}}).spec.parallelism == 1
    assert [each.metadata.name for each in batch.list_namespaced_job(namespace).items] == ["a"]
    batch.delete_namespaced_job("a", namespace, propagation_policy="Background")

    eventually(lambda: batch.list_namespaced_job(namespace).items == [])
    eventually(lambda: reached.config_names() == [])


def test_objects_of_a_manifest_are_made_and_a_collection_is_deleted(reached: Reached) -> None:
    core, namespace = reached.core, reached.namespace
    for name in ("a", "b"):
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": name}}
        utils.create_from_dict(reached.client, manifest, namespace=namespace)
    core.delete_collection_namespaced_config_map(namespace, field_selector="metadata.name=a")

    assert reached.config_names() == ["b"]


# -------------------------------------------------------------------------------------------- watches


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


# -------------------------------------------------------------------------------------------- dynamic


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
