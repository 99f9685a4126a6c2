"""What the embedded cluster makes of a write: defaults, refusals, versions, patches."""

from __future__ import annotations

import copy
from contextlib import aclosing
from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    Change,
    DeleteOptions,
    JsonPatch,
    MergePatch,
    StrategicMergePatch,
)
from closeknit.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    JOBS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from tests.conformance.cluster import DEFINITIONS, WIDGETS
from tests.unit.kube.embedded.objects import config_map, names, pod


async def test_a_new_object_gets_what_the_server_gives(cluster: EmbeddedCluster) -> None:
    made = await cluster.create(CONFIG_MAPS, config_map("a", data={"k": "v"}))

    metadata = made["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert int(metadata["resourceVersion"]) > 0
    assert await cluster.get(CONFIG_MAPS, "a", namespace="default") == made


async def test_what_is_handed_out_belongs_to_the_caller(cluster: EmbeddedCluster) -> None:
    sent = config_map("a", data={"k": "v"})
    made = await cluster.create(CONFIG_MAPS, sent)
    sent["data"]["k"] = made["data"]["k"] = "changed"
    (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"]["k"] = "changed"
    (await cluster.list(CONFIG_MAPS)).items[0]["data"]["k"] = "changed"

    assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"k": "v"}


async def test_who_changes_a_created_object_changes_nobody_elses(cluster: EmbeddedCluster) -> None:
    watch = cluster.watch(PODS, resource_version=(await cluster.list(PODS)).resource_version)
    first = await cluster.create(PODS, pod("first"))
    second = await cluster.create(PODS, pod("second"))
    owned = copy.deepcopy(second["metadata"]["managedFields"][0]["fieldsV1"])
    _ruin(first)
    third = await cluster.create(PODS, pod("third"))
    async with aclosing(watch) as events:
        told = [await anext(events) for _ in range(3)]
    seen = [each.object for each in told if isinstance(each, Change)]

    assert second["metadata"]["managedFields"][0]["fieldsV1"] == owned
    assert third["metadata"]["managedFields"][0]["fieldsV1"] == owned
    assert [one["metadata"]["managedFields"][0]["fieldsV1"] for one in seen] == [owned] * 3
    assert third["spec"] == second["spec"] == seen[0]["spec"]


async def test_who_changes_a_created_definition_does_not_change_its_kind(cluster: EmbeddedCluster) -> None:
    _ruin(await cluster.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITIONS[0]))
    widget = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"size": "small"}}

    assert (await cluster.create(WIDGETS, widget))["spec"] == {"size": "small", "color": "red", "replicas": 1}


def _ruin(value: Any) -> None:
    """Empty every mapping and list of a value, from within."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _ruin(item)
    if isinstance(value, dict | list):
        value.clear()


async def test_a_generated_name_begins_as_asked_and_is_one_of_its_own(cluster: EmbeddedCluster) -> None:
    made = [
        await cluster.create(CONFIG_MAPS, {"metadata": {"generateName": "job-", "namespace": "default"}})
        for _ in range(20)
    ]

    found = {one["metadata"]["name"] for one in made}
    assert len(found) == 20
    assert all(len(name) == 9 and name.startswith("job-") for name in found)


@pytest.mark.parametrize(
    ("resource", "obj", "error", "message"),
    [
        pytest.param(
            CONFIG_MAPS,
            config_map("here"),
            errors.AlreadyExistsError,
            'configmaps "here" already exists',
            id="a second one of a name",
        ),
        pytest.param(
            CONFIG_MAPS,
            {"metadata": {"name": "a", "namespace": "nowhere"}},
            errors.NotFoundError,
            'namespaces "nowhere" not found',
            id="an object in a namespace that is not there",
        ),
        pytest.param(
            CONFIG_MAPS,
            {"metadata": {}},
            errors.InvalidObjectError,
            "metadata.name: Required value",
            id="no name",
        ),
        pytest.param(
            CONFIG_MAPS,
            config_map("Upper"),
            errors.InvalidObjectError,
            'metadata.name: Invalid value: "Upper"',
            id="a name with capitals",
        ),
        pytest.param(
            CONFIG_MAPS,
            config_map("a", metadata={"labels": {"k": "not a value"}}),
            errors.InvalidObjectError,
            'metadata.labels: Invalid value: "not a value"',
            id="a label value with blanks",
        ),
        pytest.param(
            CONFIG_MAPS,
            config_map("a", metadata={"resourceVersion": "7"}),
            errors.BadRequestError,
            "resourceVersion should not be set",
            id="a resource version on a new object",
        ),
        pytest.param(
            CONFIG_MAPS,
            {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}},
            errors.BadRequestError,
            "does not match the expected API version (v1)",
            id="another version than the resource's",
        ),
        pytest.param(
            CONFIG_MAPS,
            config_map("a", data={"k": 1}),
            errors.BadRequestError,
            "data.k",
            id="a number where text belongs",
        ),
        pytest.param(
            PODS,
            pod("a", spec={"containers": []}),
            errors.InvalidObjectError,
            "spec.containers: Required value",
            id="a pod without containers",
        ),
        pytest.param(
            PODS,
            pod("a", spec={"restartPolicy": "Sometimes"}),
            errors.InvalidObjectError,
            'spec.restartPolicy: Unsupported value: "Sometimes"',
            id="a restart policy that is none",
        ),
        pytest.param(
            PODS,
            pod("a", spec={"containers": 3}),
            errors.BadRequestError,
            "spec.containers",
            id="containers that are no list",
        ),
        pytest.param(
            PODS,
            pod("a", spec={"priorityClassName": "nope"}),
            errors.ForbiddenError,
            "no PriorityClass with name nope was found",
            id="a priority class that is not there",
        ),
        pytest.param(
            JOBS,
            {
                "metadata": {"name": "j"},
                "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
            },
            errors.InvalidObjectError,
            "spec.template.spec.restartPolicy: Required value",
            id="a Job whose pods never end",
        ),
    ],
)
async def test_a_bad_object_is_refused(
    cluster: EmbeddedCluster,
    resource: Resource,
    obj: dict[str, Any],
    error: type[errors.ApiError],
    message: str,
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("here"))

    with pytest.raises(error) as caught:
        await cluster.create(resource, obj)

    assert message in str(caught.value)


async def test_all_problems_are_named_at_once(cluster: EmbeddedCluster) -> None:
    bad = pod("Bad", spec={"containers": [{"name": "a"}, {"name": "a", "image": "x"}], "restartPolicy": "x"})

    with pytest.raises(errors.InvalidObjectError) as caught:
        await cluster.create(PODS, bad)

    assert {problem.where for problem in caught.value.problems} >= {
        "metadata.name",
        "spec.containers[0].image",
        "spec.containers[1].name",
        "spec.restartPolicy",
    }


async def test_a_pod_gets_its_defaults(cluster: EmbeddedCluster) -> None:
    await cluster.create(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000})
    made = await cluster.create(PODS, pod("a", spec={"priorityClassName": "high"}))

    spec = made["spec"]
    assert spec["priority"] == 1000
    assert spec["restartPolicy"] == "Always"
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert [one["key"] for one in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_quantities_are_kept_in_one_spelling(cluster: EmbeddedCluster) -> None:
    node = {
        "metadata": {"name": "n"},
        "status": {"capacity": {"cpu": "4000m", "memory": "2048Mi", "pods": 110}},
    }

    made = await cluster.create(NODES, node)

    assert made["status"]["capacity"] == {"cpu": "4", "memory": "2Gi", "pods": "110"}
    assert made["status"]["allocatable"] == made["status"]["capacity"]


async def test_an_old_version_is_a_conflict_and_changes_nothing(cluster: EmbeddedCluster) -> None:
    first = await cluster.create(CONFIG_MAPS, config_map("a", data={"k": "1"}))
    second = await cluster.replace(CONFIG_MAPS, {**first, "data": {"k": "2"}})

    with pytest.raises(errors.ConflictError, match="the object has been modified"):
        await cluster.replace(CONFIG_MAPS, {**first, "data": {"k": "3"}})

    assert await cluster.get(CONFIG_MAPS, "a", namespace="default") == second


async def test_a_write_that_changes_nothing_makes_no_version(cluster: EmbeddedCluster) -> None:
    made = await cluster.create(CONFIG_MAPS, config_map("a", data={"k": "1"}))

    same = await cluster.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "1"}}), namespace="default")

    assert same == made


async def test_generation_counts_changes_of_the_spec_only(cluster: EmbeddedCluster) -> None:
    made = await cluster.create(
        JOBS,
        {
            "metadata": {"name": "j"},
            "spec": {
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
            },
        },
    )
    labelled = await cluster.patch(
        JOBS, "j", MergePatch({"metadata": {"labels": {"a": "b"}}}), namespace="default"
    )
    counted = await cluster.patch(
        JOBS, "j", MergePatch({"status": {"active": 1}}), namespace="default", subresource="status"
    )
    paused = await cluster.patch(JOBS, "j", MergePatch({"spec": {"suspend": True}}), namespace="default")

    generations = [one["metadata"]["generation"] for one in (made, labelled, counted, paused)]
    assert generations == [1, 1, 1, 2]


async def test_the_status_is_written_by_its_subresource_only(cluster: EmbeddedCluster) -> None:
    await cluster.create(PODS, pod("a"))
    patch = MergePatch({"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Running"}})

    by_main = await cluster.patch(PODS, "a", patch, namespace="default")
    by_status = await cluster.patch(
        PODS,
        "a",
        MergePatch({"status": {"phase": "Running"}, "spec": {"hostname": "no"}}),
        namespace="default",
        subresource="status",
    )

    assert by_main["status"]["phase"] == "Pending"
    assert by_main["metadata"]["labels"] == {"x": "y"}
    assert by_status["status"]["phase"] == "Running"
    assert "hostname" not in by_status["spec"]


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        pytest.param(
            MergePatch({"data": {"a": "2", "b": None, "c": "3"}}),
            {"a": "2", "c": "3"},
            id="a merge patch: null removes",
        ),
        pytest.param(
            JsonPatch(
                [
                    {"op": "test", "path": "/data/a", "value": "1"},
                    {"op": "remove", "path": "/data/b"},
                    {"op": "add", "path": "/data/x~1y", "value": "z"},
                ]
            ),
            None,
            id="a JSON patch whose result is invalid",
        ),
        pytest.param(
            JsonPatch([{"op": "move", "from": "/data/a", "path": "/data/c"}]),
            {"b": "1", "c": "1"},
            id="a JSON patch: move",
        ),
        pytest.param(StrategicMergePatch({"data": {"b": None}}), {"a": "1"}, id="a strategic merge patch"),
    ],
)
async def test_a_patch_changes_a_part(
    cluster: EmbeddedCluster, patch: Any, want: dict[str, str] | None
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("a", data={"a": "1", "b": "1"}))
    if want is None:
        with pytest.raises(errors.InvalidObjectError):
            await cluster.patch(CONFIG_MAPS, "a", patch, namespace="default")
        want = {"a": "1", "b": "1"}
    else:
        await cluster.patch(CONFIG_MAPS, "a", patch, namespace="default")

    assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == want


async def test_a_strategic_merge_finds_list_items_by_their_key(cluster: EmbeddedCluster) -> None:
    await cluster.create(
        NODES,
        {
            "metadata": {"name": "n"},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "Disk", "status": "True"}]
            },
        },
    )

    changed = await cluster.patch(
        NODES,
        "n",
        StrategicMergePatch({"status": {"conditions": [{"type": "Disk", "status": "False"}]}}),
        subresource="status",
    )

    assert changed["status"]["conditions"] == [
        {"type": "Ready", "status": "True"},
        {"type": "Disk", "status": "False"},
    ]


async def test_dry_run_writes_nothing(cluster: EmbeddedCluster) -> None:
    made = await cluster.create(CONFIG_MAPS, config_map("a"), dry_run=True)
    await cluster.create(CONFIG_MAPS, config_map("b", data={"k": "1"}))
    changed = await cluster.patch(
        CONFIG_MAPS, "b", MergePatch({"data": {"k": "2"}}), namespace="default", dry_run=True
    )
    await cluster.delete(CONFIG_MAPS, "b", namespace="default", options=DeleteOptions(dry_run=True))

    assert made["metadata"]["uid"]
    assert changed["data"] == {"k": "2"}
    assert await names(cluster, CONFIG_MAPS) == ["b"]
    assert (await cluster.get(CONFIG_MAPS, "b", namespace="default"))["data"] == {"k": "1"}
