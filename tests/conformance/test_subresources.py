"""Scale, binding and eviction."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.kube.errors import (
    ApiError,
    ConflictError,
    InvalidObjectError,
    NotFoundError,
    TooManyRequestsError,
)
from closeknit.kube.port import DeleteOptions, MergePatch, Object
from closeknit.kube.resources import PODS, Resource
from tests.conformance.cluster import WIDGETS, Cluster, eventually

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", subresources=("status",))


# ------------------------------------------------------------------------------------------------- scale


async def test_a_scale_is_read(widgets: Cluster) -> None:
    made = await widgets.create_widget("w", spec={"replicas": 3})
    status = {"replicas": 2, "selector": "app=web"}
    await widgets.api.replace(WIDGETS, made | {"status": status}, subresource="status")
    scale = await widgets.api.get(WIDGETS, "w", namespace=widgets.namespace, subresource="scale")

    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "app=web"}
    assert scale["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_scale_is_written(widgets: Cluster) -> None:
    made = await widgets.create_widget("w")
    scale = await widgets.api.get(WIDGETS, "w", namespace=widgets.namespace, subresource="scale")
    written = await widgets.api.replace(WIDGETS, scale | {"spec": {"replicas": 5}}, subresource="scale")
    after = await widgets.get(WIDGETS, made)

    assert written["spec"] == {"replicas": 5}
    assert (after["spec"]["replicas"], after["spec"]["size"]) == (5, "small")
    assert after["metadata"]["generation"] == 2


async def test_a_scale_is_patched(widgets: Cluster) -> None:
    made = await widgets.create_widget("w")
    await widgets.api.patch(
        WIDGETS,
        "w",
        MergePatch({"spec": {"replicas": 4}}),
        namespace=widgets.namespace,
        subresource="scale",
    )

    assert (await widgets.get(WIDGETS, made))["spec"]["replicas"] == 4


async def test_a_scale_of_an_old_version_is_a_conflict(widgets: Cluster) -> None:
    await widgets.create_widget("w")
    scale = await widgets.api.get(WIDGETS, "w", namespace=widgets.namespace, subresource="scale")
    await widgets.api.replace(WIDGETS, scale | {"spec": {"replicas": 5}}, subresource="scale")

    with pytest.raises(ConflictError):
        await widgets.api.replace(WIDGETS, scale | {"spec": {"replicas": 6}}, subresource="scale")


@pytest.mark.parametrize("replicas", [-1, 11], ids=["below nothing", "above what the schema allows"])
async def test_a_scale_obeys_the_schema(widgets: Cluster, replicas: int) -> None:
    made = await widgets.create_widget("w")
    with pytest.raises(InvalidObjectError):
        await widgets.api.patch(
            WIDGETS,
            "w",
            MergePatch({"spec": {"replicas": replicas}}),
            namespace=widgets.namespace,
            subresource="scale",
        )
    assert await widgets.get(WIDGETS, made) == made


async def test_a_kind_without_a_scale_has_none(cluster: Cluster) -> None:
    await cluster.create_pod("p")
    with pytest.raises(NotFoundError):
        await cluster.api.get(PODS, "p", namespace=cluster.namespace, subresource="scale")


# ----------------------------------------------------------------------------------------------- binding


async def test_a_binding_puts_a_pod_on_a_node(cluster: Cluster) -> None:
    made = await cluster.create_pod("p", annotations={"a": "b"})
    await cluster.api.bind("p", "n1", namespace=cluster.namespace, annotations={"c": "d"})
    after = await cluster.get(PODS, made)

    assert after["spec"]["nodeName"] == "n1"
    assert after["metadata"]["annotations"] == {"a": "b", "c": "d"}
    conditions = {each["type"]: each["status"] for each in after["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"
    assert after["status"]["phase"] == "Pending"
    assert int(after["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_a_pod_is_bound_once(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    await cluster.api.bind("p", "n1", namespace=cluster.namespace)

    for node in ("n1", "n2"):
        with pytest.raises(ConflictError):
            await cluster.api.bind("p", node, namespace=cluster.namespace)
    assert (await cluster.get(PODS, made))["spec"]["nodeName"] == "n1"


async def test_of_many_that_bind_one_pod_one_wins(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    answers = await asyncio.gather(
        *(cluster.api.bind("p", f"n{number}", namespace=cluster.namespace) for number in range(16)),
        return_exceptions=True,
    )
    won = [number for number, answer in enumerate(answers) if answer is None]

    assert len(won) == 1
    assert sum(isinstance(answer, ConflictError) for answer in answers) == 15
    assert (await cluster.get(PODS, made))["spec"]["nodeName"] == f"n{won[0]}"


async def test_a_binding_of_another_uid_is_a_conflict(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    other = "00000000-0000-0000-0000-000000000000"

    with pytest.raises(ConflictError):
        await cluster.api.bind("p", "n1", namespace=cluster.namespace, uid=other)
    await cluster.api.bind("p", "n1", namespace=cluster.namespace, uid=made["metadata"]["uid"])
    assert (await cluster.get(PODS, made))["spec"]["nodeName"] == "n1"


async def test_a_pod_that_is_not_there_cannot_be_bound(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError):
        await cluster.api.bind("nobody", "n1", namespace=cluster.namespace)


async def test_a_pod_that_goes_cannot_be_bound(cluster: Cluster) -> None:
    await cluster.create_pod("p", finalizers=["x.dev/hold"])
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace)

    with pytest.raises(ConflictError):
        await cluster.api.bind("p", "n1", namespace=cluster.namespace)
    patch = MergePatch({"metadata": {"finalizers": []}})
    await cluster.api.patch(PODS, "p", patch, namespace=cluster.namespace)


async def test_a_pod_that_is_gated_cannot_be_bound(cluster: Cluster) -> None:
    made = await cluster.create_pod("p", spec={"schedulingGates": [{"name": "x.dev/wait"}]})
    with pytest.raises(ApiError):
        await cluster.api.bind("p", "n1", namespace=cluster.namespace)
    assert "nodeName" not in (await cluster.get(PODS, made))["spec"]

    await cluster.api.patch(
        PODS, "p", MergePatch({"spec": {"schedulingGates": None}}), namespace=cluster.namespace
    )
    await cluster.api.bind("p", "n1", namespace=cluster.namespace)
    assert (await cluster.get(PODS, made))["spec"]["nodeName"] == "n1"


async def test_a_gated_pod_says_so(cluster: Cluster) -> None:
    made = await cluster.create_pod("p", spec={"schedulingGates": [{"name": "x.dev/wait"}]})

    (condition,) = [each for each in made["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulingGated")


async def test_a_gate_cannot_be_added_later(cluster: Cluster) -> None:
    await cluster.create_pod("p")
    patch = MergePatch({"spec": {"schedulingGates": [{"name": "x.dev/wait"}]}})
    with pytest.raises(InvalidObjectError):
        await cluster.api.patch(PODS, "p", patch, namespace=cluster.namespace)


async def test_a_gated_pod_can_be_sent_to_fewer_nodes(cluster: Cluster) -> None:
    """Ungaters narrow a pod's choice before they let it go."""
    await cluster.create_pod(
        "p", spec={"schedulingGates": [{"name": "x.dev/wait"}], "nodeSelector": {"zone": "a"}}
    )
    narrowed = MergePatch({"spec": {"nodeSelector": {"rack": "r1"}}})
    after = await cluster.api.patch(PODS, "p", narrowed, namespace=cluster.namespace)
    assert after["spec"]["nodeSelector"] == {"zone": "a", "rack": "r1"}

    with pytest.raises(InvalidObjectError):
        await cluster.api.patch(
            PODS, "p", MergePatch({"spec": {"nodeSelector": {"zone": "b"}}}), namespace=cluster.namespace
        )


# ---------------------------------------------------------------------------------------------- eviction


async def test_an_eviction_deletes_a_pod(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    await cluster.api.evict("p", namespace=cluster.namespace)

    assert await cluster.gone(PODS, made)


async def test_an_eviction_gives_a_pod_its_time(cluster: Cluster) -> None:
    made = await cluster.create_pod("p", spec={"nodeName": cluster.unique("node")})
    await cluster.api.evict("p", namespace=cluster.namespace, options=DeleteOptions(grace_period=9))
    held = await cluster.get(PODS, made)

    assert held["metadata"]["deletionGracePeriodSeconds"] == 9
    await cluster.api.delete(PODS, "p", namespace=cluster.namespace, options=DeleteOptions(grace_period=0))


async def test_a_pod_that_is_not_there_cannot_be_evicted(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError):
        await cluster.api.evict("nobody", namespace=cluster.namespace)


async def test_an_eviction_of_another_uid_is_a_conflict(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    options = DeleteOptions(uid="00000000-0000-0000-0000-000000000000")

    with pytest.raises(ConflictError):
        await cluster.api.evict("p", namespace=cluster.namespace, options=options)
    assert await cluster.exists(PODS, made)


async def test_a_dry_run_evicts_nobody(cluster: Cluster) -> None:
    made = await cluster.create_pod("p")
    await cluster.api.evict("p", namespace=cluster.namespace, options=DeleteOptions(dry_run=True))

    assert await cluster.exists(PODS, made)


def budget(cluster: Cluster, minimum: int) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": cluster.namespace},
        "spec": {"minAvailable": minimum, "selector": {"matchLabels": {"app": "web"}}},
    }


async def ready(cluster: Cluster, name: str) -> Object:
    made = await cluster.create_pod(name, labels={"app": "web"}, spec={"nodeName": cluster.unique("node")})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await cluster.api.patch(
        PODS, name, MergePatch({"status": status}), namespace=cluster.namespace, subresource="status"
    )
    return made


async def test_a_budget_forbids_an_eviction(cluster: Cluster) -> None:
    made = await ready(cluster, "p")
    await cluster.api.create(BUDGETS, budget(cluster, 1))

    async def counted() -> bool:
        status = (await cluster.api.get(BUDGETS, "b", namespace=cluster.namespace)).get("status") or {}
        return bool(status.get("currentHealthy") == 1)

    await eventually(counted)
    with pytest.raises(TooManyRequestsError) as raised:
        await cluster.api.evict("p", namespace=cluster.namespace)

    assert [cause.reason for cause in raised.value.status.causes] == ["DisruptionBudget"]
    assert "deletionTimestamp" not in (await cluster.get(PODS, made))["metadata"]


async def test_a_budget_allows_what_it_can_spare(cluster: Cluster) -> None:
    first, _ = await ready(cluster, "p"), await ready(cluster, "q")
    await cluster.api.create(BUDGETS, budget(cluster, 1))

    async def counted() -> bool:
        status = (await cluster.api.get(BUDGETS, "b", namespace=cluster.namespace)).get("status") or {}
        return bool(status.get("disruptionsAllowed") == 1)

    await eventually(counted)
    await cluster.api.evict("p", namespace=cluster.namespace)
    assert "deletionTimestamp" in (await cluster.get(PODS, first))["metadata"]
