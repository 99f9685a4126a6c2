"""What the smaller built-in kinds allow: Jobs, nodes, leases, priority classes and the like."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.errors import BadRequestError, InvalidObjectError
from closeknit.kube.port import MergePatch, Object
from closeknit.kube.resources import (
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    LEASES,
    NODES,
    PRIORITY_CLASSES,
    SECRETS,
)
from tests.conformance.cluster import MAIN, Cluster


def named(cluster: Cluster, kind: str, api_version: str, **body: Any) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": cluster.unique(kind.lower()), "namespace": cluster.namespace},
    } | body


@pytest.mark.parametrize(
    "data",
    [{"bad key": "x"}, {"..": "x"}, {"": "x"}],
    ids=["a space in a key", "two dots as a key", "an empty key"],
)
async def test_a_config_map_that_breaks_a_rule(cluster: Cluster, data: Object) -> None:
    with pytest.raises(InvalidObjectError):
        await cluster.create_config(data=data)


async def test_a_config_map_can_be_sealed(cluster: Cluster) -> None:
    made = await cluster.api.create(CONFIG_MAPS, cluster.config("c") | {"immutable": True})

    with pytest.raises(InvalidObjectError) as raised:
        await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "new"}})
    assert raised.value.status.causes[0].field == "data"


async def test_a_secret_takes_text_and_keeps_bytes(cluster: Cluster) -> None:
    made = await cluster.api.create(
        SECRETS, named(cluster, "Secret", "v1", stringData={"a": "text"}, data={"b": "Ynl0ZXM="})
    )

    assert made["data"] == {"a": "dGV4dA==", "b": "Ynl0ZXM="}
    assert made["type"] == "Opaque"
    assert "stringData" not in made


async def test_a_secret_that_is_not_base64_is_a_bad_request(cluster: Cluster) -> None:
    with pytest.raises(BadRequestError):
        await cluster.api.create(SECRETS, named(cluster, "Secret", "v1", data={"b": "not base64!"}))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"taints": [{"key": "a"}]}, "effect", id="a taint without an effect"),
        pytest.param({"taints": [{"key": "a", "effect": "Maybe"}]}, "effect", id="an effect that is none"),
        pytest.param(
            {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]},
            "taints",
            id="a taint twice",
        ),
    ],
)
async def test_a_node_that_breaks_a_rule(cluster: Cluster, spec: Object, field: str) -> None:
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.api.create(
            NODES,
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": cluster.unique("node")}, "spec": spec},
        )
    assert any(field in cause.field for cause in raised.value.status.causes)


async def test_a_lease_that_breaks_a_rule(cluster: Cluster) -> None:
    lease = named(cluster, "Lease", "coordination.k8s.io/v1", spec={"leaseDurationSeconds": 0})
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.api.create(LEASES, lease)
    assert "spec.leaseDurationSeconds" in [cause.field for cause in raised.value.status.causes]


async def test_a_lease_keeps_microseconds(cluster: Cluster) -> None:
    spec = {"holderIdentity": "me", "renewTime": "2026-01-01T00:00:00.123456Z", "leaseDurationSeconds": 15}
    made = await cluster.api.create(LEASES, named(cluster, "Lease", "coordination.k8s.io/v1", spec=spec))

    assert made["spec"] == spec


async def test_a_priority_class_keeps_its_value(cluster: Cluster) -> None:
    name = cluster.unique("priority")
    made = await cluster.api.create(
        PRIORITY_CLASSES,
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 7,
        },
    )
    assert made["preemptionPolicy"] == "PreemptLowerPriority"
    with pytest.raises(InvalidObjectError):
        await cluster.api.patch(PRIORITY_CLASSES, name, MergePatch({"value": 8}))


def job(cluster: Cluster, **spec: Any) -> Object:
    template = {"spec": {"restartPolicy": "Never", "containers": [MAIN]}}
    return named(cluster, "Job", "batch/v1", spec={"template": template, "suspend": True} | spec)


async def test_a_job_gets_what_it_leaves_out(cluster: Cluster) -> None:
    made = await cluster.api.create(JOBS, job(cluster))

    spec = made["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
    assert spec["completionMode"] == "NonIndexed"
    uid = made["metadata"]["uid"]
    assert spec["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    assert spec["template"]["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == uid


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"parallelism": -1}, "spec.parallelism", id="less than no pods"),
        pytest.param(
            {"template": {"spec": {"containers": [MAIN]}}},
            "spec.template.spec.restartPolicy",
            id="pods that never end",
        ),
        pytest.param(
            {"completionMode": "Indexed", "parallelism": 2},
            "spec.completions",
            id="an indexed job without a number",
        ),
        pytest.param({"selector": {"matchLabels": {"a": "b"}}}, "spec.selector", id="a selector of its own"),
    ],
)
async def test_a_job_that_breaks_a_rule(cluster: Cluster, spec: Object, field: str) -> None:
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.api.create(JOBS, job(cluster, **spec))
    assert any(cause.field.startswith(field) for cause in raised.value.status.causes)


@pytest.mark.parametrize(
    "patch", [{"completions": 5}, {"completionMode": "Indexed"}], ids=["completions", "mode"]
)
async def test_a_job_cannot_change(cluster: Cluster, patch: Object) -> None:
    made = await cluster.api.create(JOBS, job(cluster, completions=3))
    with pytest.raises(InvalidObjectError):
        await cluster.api.patch(
            JOBS, made["metadata"]["name"], MergePatch({"spec": patch}), namespace=cluster.namespace
        )


async def test_an_event_is_kept(cluster: Cluster) -> None:
    event = named(
        cluster,
        "Event",
        "events.k8s.io/v1",
        eventTime="2026-01-01T00:00:00.000000Z",
        reportingController="closeknit.dev/test",
        reportingInstance="t",
        action="Binding",
        reason="Placed",
        type="Normal",
        note="x",
        regarding={"kind": "Pod", "name": "p", "namespace": cluster.namespace},
    )
    made = await cluster.api.create(EVENTS, event)
    series = {"count": 3, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}
    after = await cluster.api.patch(
        EVENTS, made["metadata"]["name"], MergePatch({"series": series}), namespace=cluster.namespace
    )

    assert after["series"] == series
