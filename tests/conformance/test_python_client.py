"""The official Python client, typed and dynamic, on the embedded cluster as on a real API server."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes import client, utils
from kubernetes.client.exceptions import ApiException

from tests.conformance.python_client import Reached, eventually


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
