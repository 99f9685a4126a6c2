"""What each kind allows: rules of built-in kinds, and schemas of custom ones."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.kube.errors import BadRequestError, ForbiddenError, InvalidObjectError
from closeknit.kube.port import MergePatch, Object, StrategicMergePatch
from closeknit.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    JOBS,
    LEASES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
)
from tests.conformance.cluster import DEFINITIONS, PLAIN_WIDGETS, WIDGETS, Cluster, eventually

MAIN = {"name": "main", "image": "example.invalid/main"}


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


async def test_a_pod_can_change_its_image_and_labels(cluster: Cluster) -> None:
    await cluster.create_pod("p")
    patch = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "main", "image": "example.invalid/new"}]},
    }
    after = await cluster.api.patch(PODS, "p", StrategicMergePatch(patch), namespace=cluster.namespace)

    assert after["spec"]["containers"][0]["image"] == "example.invalid/new"
    assert after["metadata"]["labels"] == {"a": "b"}


# ------------------------------------------------------------------------------------------- small kinds


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


# --------------------------------------------------------------------------------------- custom resources


async def test_a_schema_fills_in_defaults(widgets: Cluster) -> None:
    made = await widgets.create_widget()

    assert made["spec"] == {"size": "small", "color": "red", "replicas": 1}


async def test_unknown_fields_are_pruned(widgets: Cluster) -> None:
    body = widgets.widget(spec={"unknown": 1, "parts": [{"name": "a", "unknown": 2}]}) | {"extra": 3}
    made = await widgets.api.create(WIDGETS, body)

    assert "extra" not in made
    assert "unknown" not in made["spec"]
    assert made["spec"]["parts"] == [{"name": "a"}]


async def test_unknown_fields_are_kept_where_the_schema_says_so(widgets: Cluster) -> None:
    free = {"any": {"thing": [1, "two", None]}}
    made = await widgets.create_widget(spec={"free": free})
    assert made["spec"]["free"] == free

    plain: Object = {"apiVersion": PLAIN_WIDGETS.api_version, "kind": "PlainWidget"}
    plain["metadata"] = {"name": widgets.unique("plain")}
    assert (await widgets.api.create(PLAIN_WIDGETS, plain | {"any": 1}))["any"] == 1


@pytest.mark.parametrize(
    ("spec", "field", "reason"),
    [
        pytest.param({"size": None}, "spec.size", "FieldValueRequired", id="a required field"),
        pytest.param({"size": "medium"}, "spec.size", "FieldValueNotSupported", id="an enum"),
        pytest.param({"size": 3}, "spec.size", "FieldValueTypeInvalid", id="a type"),
        pytest.param({"color": "RED"}, "spec.color", "FieldValueInvalid", id="a pattern"),
        pytest.param({"color": "a" * 11}, "spec.color", "FieldValueTooLong", id="a length"),
        pytest.param({"replicas": 11}, "spec.replicas", "FieldValueInvalid", id="a maximum"),
        pytest.param({"replicas": -1}, "spec.replicas", "FieldValueInvalid", id="a minimum"),
        pytest.param({"replicas": 1.5}, "spec.replicas", "FieldValueTypeInvalid", id="a whole number"),
        pytest.param({"tags": list("abcd")}, "spec.tags", "FieldValueTooMany", id="a number of items"),
        pytest.param({"tags": [1]}, "spec.tags[0]", "FieldValueTypeInvalid", id="a type in a list"),
        pytest.param(
            {"limits": {"a": "b"}}, "spec.limits.a", "FieldValueTypeInvalid", id="a type in a mapping"
        ),
        pytest.param(
            {"parts": [{"name": "a"}, {"name": "a"}]},
            "spec.parts[1]",
            "FieldValueDuplicate",
            id="a key of a list twice",
        ),
        pytest.param(
            {"marks": ["a", "a"]}, "spec.marks[1]", "FieldValueDuplicate", id="an item of a set twice"
        ),
        pytest.param(
            {"parts": [{"weight": 1}]}, "spec.parts[0].name", "FieldValueRequired", id="a key of a list"
        ),
    ],
)
async def test_a_schema_holds(widgets: Cluster, spec: Object, field: str, reason: str) -> None:
    body = widgets.widget(spec=spec)
    if spec.get("size", "") is None:
        del body["spec"]["size"]
    with pytest.raises(InvalidObjectError) as raised:
        await widgets.api.create(WIDGETS, body)

    assert (field, reason) in [(cause.field, cause.reason) for cause in raised.value.status.causes]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"amount": 3}, id="a number or a text: a number"),
        pytest.param({"amount": "3Gi"}, id="a number or a text: a text"),
        pytest.param({"note": None}, id="null where it is allowed"),
        pytest.param({"limits": {"a": 1}}, id="a mapping"),
        pytest.param({"replicas": 10}, id="the maximum itself"),
    ],
)
async def test_a_schema_allows(widgets: Cluster, spec: Object) -> None:
    made = await widgets.create_widget(spec=spec)

    assert {key: made["spec"].get(key) for key in spec} == spec


async def test_null_is_nothing_where_it_is_not_allowed(widgets: Cluster) -> None:
    made = await widgets.create_widget(spec={"color": None})

    assert made["spec"]["color"] == "red"


async def test_a_schema_holds_for_patches(widgets: Cluster) -> None:
    made = await widgets.create_widget("w")
    with pytest.raises(InvalidObjectError):
        await widgets.api.patch(
            WIDGETS, "w", MergePatch({"spec": {"size": "medium"}}), namespace=widgets.namespace
        )
    assert await widgets.get(WIDGETS, made) == made


async def test_a_schema_holds_for_the_status(widgets: Cluster) -> None:
    made = await widgets.create_widget("w")
    with pytest.raises(InvalidObjectError) as raised:
        await widgets.api.replace(WIDGETS, made | {"status": {"replicas": "many"}}, subresource="status")
    assert "status.replicas" in [cause.field for cause in raised.value.status.causes]


async def test_a_definition_says_that_it_is_established(widgets: Cluster) -> None:
    definition = await widgets.api.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified)

    conditions = {each["type"]: each["status"] for each in definition["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert definition["status"]["acceptedNames"]["kind"] == "Widget"
    assert definition["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"metadata": {"name": "other.conformance.closeknit.dev"}}, id="a name that does not fit"
        ),
        pytest.param({"spec": {"versions": []}}, id="no versions"),
        pytest.param({"spec": {"scope": "Galaxy"}}, id="a scope that is none"),
        pytest.param({"spec": {"group": "Bad Group"}}, id="a group that is none"),
    ],
)
async def test_a_definition_that_breaks_a_rule(cluster: Cluster, change: Object) -> None:
    definition = DEFINITIONS[0]
    body = definition | {
        "metadata": {"name": f"things.{cluster.run}.dev"} | change.get("metadata", {}),
        "spec": definition["spec"] | {"group": f"{cluster.run}.dev"} | change.get("spec", {}),
    }
    body["spec"]["names"] = {
        "plural": "things",
        "singular": "thing",
        "kind": "Thing",
        "listKind": "ThingList",
    }
    with pytest.raises((InvalidObjectError, BadRequestError)):
        await cluster.api.create(CUSTOM_RESOURCE_DEFINITIONS, body)


async def test_what_a_definition_defined_goes_with_it(cluster: Cluster) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    group = f"g{cluster.run}.closeknit.dev"
    definition = DEFINITIONS[1]
    body = definition | {
        "metadata": {"name": f"things.{group}"},
        "spec": definition["spec"] | {"group": group, "names": names},
    }
    await cluster.api.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    things = type(WIDGETS)(group, "v1", "things", "Thing", namespaced=False)

    await eventually(lambda: cluster.answers(things))
    await cluster.api.create(
        things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    )
    await cluster.api.delete(CUSTOM_RESOURCE_DEFINITIONS, f"things.{group}")

    async def unserved() -> bool:
        return not await cluster.answers(things)

    await eventually(unserved)
