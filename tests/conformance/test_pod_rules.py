"""What a pod may look like, what it gets and what in it may change."""

from __future__ import annotations

import pytest

from closeknit.kube.errors import ForbiddenError, InvalidObjectError
from closeknit.kube.port import MergePatch, Object, StrategicMergePatch
from closeknit.kube.resources import (
    PODS,
    PRIORITY_CLASSES,
)
from tests.conformance.cluster import MAIN, Cluster


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"containers": []}, "spec.containers", id="no containers"),
        pytest.param(
            {"containers": [{"image": "i"}]}, "spec.containers[0].name", id="a container without a name"
        ),
        pytest.param({"containers": [{"name": "c"}]}, "spec.containers[0].image", id="or without an image"),
        pytest.param({"containers": [MAIN, MAIN]}, "spec.containers[1].name", id="two of one name"),
        pytest.param(
            {"restartPolicy": "Sometimes"}, "spec.restartPolicy", id="a restart policy that is none"
        ),
        pytest.param(
            {"containers": [MAIN | {"resources": {"requests": {"cpu": "-1"}}}]},
            "spec.containers[0].resources.requests[cpu]",
            id="less than nothing of a resource",
        ),
        pytest.param(
            {"containers": [MAIN | {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]},
            "spec.containers[0].resources.requests",
            id="more asked for than allowed",
        ),
        pytest.param({"nodeSelector": {"a b": "c"}}, "spec.nodeSelector", id="a node selector that is none"),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Likes"}]},
            "spec.tolerations[0].operator",
            id="a toleration that is none",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
            "spec.schedulingGates[1]",
            id="a gate twice",
        ),
        pytest.param({"nodeName": "Bad Node"}, "spec.nodeName", id="a node's name that is none"),
        pytest.param(
            {"terminationGracePeriodSeconds": -1},
            "spec.terminationGracePeriodSeconds",
            id="a grace period below nothing",
        ),
    ],
)
async def test_a_pod_that_breaks_a_rule_is_refused_with_the_field(
    cluster: Cluster, spec: Object, field: str
) -> None:
    if "terminationGracePeriodSeconds" in spec:
        # A negative time becomes the shortest one.
        made = await cluster.create_pod(spec=spec)
        assert made["spec"]["terminationGracePeriodSeconds"] == 1
        return
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.create_pod(spec=spec)
    assert field in [cause.field for cause in raised.value.status.causes]


async def test_a_pod_gets_what_it_leaves_out(cluster: Cluster) -> None:
    made = await cluster.create_pod()

    spec = made["spec"]
    assert (spec["restartPolicy"], spec["schedulerName"]) == ("Always", "default-scheduler")
    assert spec["terminationGracePeriodSeconds"] == 30
    assert made["status"]["phase"] == "Pending"
    assert made["status"]["qosClass"] == "BestEffort"


async def test_limits_are_requests_where_none_are_given(cluster: Cluster) -> None:
    made = await cluster.create_pod(
        spec={"containers": [MAIN | {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]}
    )

    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}
    assert made["status"]["qosClass"] == "Guaranteed"


async def test_a_pod_has_tolerations_for_nodes_that_fail(cluster: Cluster) -> None:
    made = await cluster.create_pod(spec={"tolerations": [{"key": "a", "operator": "Exists"}]})

    keys = [each["key"] for each in made["spec"]["tolerations"]]
    assert keys == ["a", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"spec": {"nodeName": "n1"}}, id="its node, except by binding"),
        pytest.param({"spec": {"schedulerName": "other"}}, id="its scheduler"),
        pytest.param({"spec": {"restartPolicy": "Never"}}, id="its restart policy"),
        pytest.param({"spec": {"nodeSelector": {"a": "b"}}}, id="where it may go"),
        pytest.param({"spec": {"priority": 7}}, id="its priority"),
    ],
)
async def test_a_pod_cannot_change(cluster: Cluster, patch: Object) -> None:
    made = await cluster.create_pod("p")

    with pytest.raises((InvalidObjectError, ForbiddenError)):
        await cluster.api.patch(PODS, "p", MergePatch(patch), namespace=cluster.namespace)
    assert await cluster.get(PODS, made) == made


async def test_the_deadline_of_a_pod_can_be_set_and_lowered_but_neither_raised_nor_removed(
    cluster: Cluster,
) -> None:
    await cluster.create_pod("p")

    async def with_deadline(seconds: int | None) -> Object:
        patch = MergePatch({"spec": {"activeDeadlineSeconds": seconds}})
        patched: Object = await cluster.api.patch(PODS, "p", patch, namespace=cluster.namespace)
        return patched

    for seconds in (60, 50):
        assert (await with_deadline(seconds))["spec"]["activeDeadlineSeconds"] == seconds
    for refused in (51, None):
        with pytest.raises(InvalidObjectError) as raised:
            await with_deadline(refused)
        assert [each.field for each in raised.value.status.causes] == ["spec.activeDeadlineSeconds"]


async def test_a_pod_can_change_its_image_and_labels(cluster: Cluster) -> None:
    await cluster.create_pod("p")
    patch = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "main", "image": "example.invalid/new"}]},
    }
    after = await cluster.api.patch(PODS, "p", StrategicMergePatch(patch), namespace=cluster.namespace)

    assert after["spec"]["containers"][0]["image"] == "example.invalid/new"
    assert after["metadata"]["labels"] == {"a": "b"}


async def test_a_pod_gets_the_priority_of_its_class(cluster: Cluster) -> None:
    name = cluster.unique("priority")
    await cluster.api.create(
        PRIORITY_CLASSES,
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 7,
        },
    )
    made = await cluster.create_pod(spec={"priorityClassName": name})

    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (7, "PreemptLowerPriority")


async def test_a_pod_of_a_class_that_is_not_there_is_forbidden(cluster: Cluster) -> None:
    with pytest.raises(ForbiddenError):
        await cluster.create_pod(spec={"priorityClassName": "nobody"})
