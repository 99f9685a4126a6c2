"""The life of objects in the embedded cluster, as a client sees it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from closeknit.kube import errors
from closeknit.kube.embedded.cluster import EmbeddedCluster
from closeknit.kube.port import (
    ApplyPatch,
    Bookmark,
    Change,
    DeleteOptions,
    JsonPatch,
    MergePatch,
    Propagation,
    Selection,
    StrategicMergePatch,
    pages,
)
from closeknit.kube.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    Resource,
)
from closeknit.testing.clock import HandClock

DEFAULT = Selection(namespace="default")


def config_map(name: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def pod(name: str, *, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"containers": [{"name": "main", "image": "busybox"}], **(spec or {})},
    }


def owned_by(owner: dict[str, Any], *, block: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
    ]


async def names(cluster: EmbeddedCluster, resource: Resource, **selection: str) -> list[str]:
    page = await cluster.list(resource, Selection(**{"namespace": "default", **selection}))
    return [item["metadata"]["name"] for item in page.items]


@pytest.fixture
def cluster() -> EmbeddedCluster:
    return EmbeddedCluster()


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


class TestApply:
    async def test_what_is_no_longer_applied_goes_away(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1", "b": "1"})
        await self.apply(cluster, {"a": "1"})

        assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"a": "1"}

    async def test_fields_of_others_stay(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1"})
        await self.apply(cluster, {"b": "1"}, manager="other")
        await self.apply(cluster, {})

        assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"b": "1"}

    async def test_a_field_of_another_manager_is_a_conflict_that_names_it(
        self, cluster: EmbeddedCluster
    ) -> None:
        await self.apply(cluster, {"a": "1"})

        with pytest.raises(errors.ConflictError) as caught:
            await self.apply(cluster, {"a": "2"}, manager="other")

        assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "mine": .data.a'
        assert [(cause.field, cause.reason) for cause in caught.value.status.causes] == [
            (".data.a", "FieldManagerConflict")
        ]

    async def test_force_takes_the_field_over(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1"})
        changed = await self.apply(cluster, {"a": "2"}, manager="other", force=True)

        owners = {one["manager"]: one["fieldsV1"] for one in changed["metadata"]["managedFields"]}
        assert changed["data"] == {"a": "2"}
        assert owners == {"other": {"f:data": {"f:a": {}}}}

    async def test_the_same_value_is_shared(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1"})
        await self.apply(cluster, {"a": "1"}, manager="other")
        await self.apply(cluster, {})

        assert (await cluster.get(CONFIG_MAPS, "a", namespace="default"))["data"] == {"a": "1"}

    async def test_applying_the_same_again_makes_no_version(self, cluster: EmbeddedCluster) -> None:
        first = await self.apply(cluster, {"a": "1"})

        assert await self.apply(cluster, {"a": "1"}) == first

    async def test_an_update_takes_what_it_changes(self, cluster: EmbeddedCluster) -> None:
        await self.apply(cluster, {"a": "1", "b": "1"})
        changed = await cluster.patch(
            CONFIG_MAPS, "a", MergePatch({"data": {"a": "2"}}), namespace="default", field_manager="kubectl"
        )

        owners = {one["manager"]: one["fieldsV1"] for one in changed["metadata"]["managedFields"]}
        assert owners == {"mine": {"f:data": {"f:b": {}}}, "kubectl": {"f:data": {"f:a": {}}}}

    async def test_items_of_a_keyed_list_are_owned_one_by_one(self, cluster: EmbeddedCluster) -> None:
        body = pod("p")
        await cluster.patch(PODS, "p", ApplyPatch(body, "mine"), namespace="default")
        both = {**body, "spec": {"containers": [{"name": "main", "image": "other"}]}}

        with pytest.raises(errors.ConflictError, match=r'\.spec\.containers\[name="main"\]\.image'):
            await cluster.patch(PODS, "p", ApplyPatch(both, "other"), namespace="default")

    @staticmethod
    async def apply(
        cluster: EmbeddedCluster, data: dict[str, str], *, manager: str = "mine", force: bool = False
    ) -> dict[str, Any]:
        body = config_map("a", data=data) if data else config_map("a")
        return await cluster.patch(
            CONFIG_MAPS, "a", ApplyPatch(body, manager, force=force), namespace="default"
        )


class TestDeletion:
    async def test_an_object_is_gone(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a"))
        answer = await cluster.delete(CONFIG_MAPS, "a", namespace="default")

        assert (answer["kind"], answer["status"], answer["details"]["name"]) == ("Status", "Success", "a")
        with pytest.raises(errors.NotFoundError, match='configmaps "a" not found'):
            await cluster.delete(CONFIG_MAPS, "a", namespace="default")

    async def test_a_finalizer_holds_it_until_it_is_taken_away(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a", metadata={"finalizers": ["x.y/z"]}))
        left = await cluster.delete(CONFIG_MAPS, "a", namespace="default")

        assert "deletionTimestamp" in left["metadata"]
        with pytest.raises(errors.InvalidObjectError, match="no new finalizers"):
            await cluster.patch(
                CONFIG_MAPS,
                "a",
                MergePatch({"metadata": {"finalizers": ["x.y/z", "n.e/w"]}}),
                namespace="default",
            )
        await cluster.patch(
            CONFIG_MAPS, "a", MergePatch({"metadata": {"finalizers": None}}), namespace="default"
        )
        assert await names(cluster, CONFIG_MAPS) == []

    async def test_a_running_pod_has_its_grace_period(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(PODS, pod("a"))
        await cluster.bind("a", "n", namespace="default")
        left = await cluster.delete(PODS, "a", namespace="default")

        assert left["metadata"]["deletionGracePeriodSeconds"] == 30
        await cluster.delete(PODS, "a", namespace="default", options=DeleteOptions(grace_period=0))
        assert await names(cluster, PODS) == []

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param(DeleteOptions(uid="another"), id="another uid"),
            pytest.param(DeleteOptions(resource_version="1"), id="another version"),
        ],
    )
    async def test_a_precondition_that_fails_is_a_conflict(
        self, cluster: EmbeddedCluster, options: DeleteOptions
    ) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a"))

        with pytest.raises(errors.ConflictError, match="Precondition failed"):
            await cluster.delete(CONFIG_MAPS, "a", namespace="default", options=options)

    @pytest.mark.parametrize(
        ("propagation", "left"),
        [
            pytest.param(Propagation.BACKGROUND, [], id="in the background they go after it"),
            pytest.param(Propagation.FOREGROUND, [], id="in the foreground they go before it"),
            pytest.param(Propagation.ORPHAN, ["child", "grandchild"], id="orphans stay"),
        ],
    )
    async def test_dependents(
        self, cluster: EmbeddedCluster, propagation: Propagation, left: list[str]
    ) -> None:
        owner = await cluster.create(CONFIG_MAPS, config_map("owner"))
        child = await cluster.create(
            CONFIG_MAPS, config_map("child", metadata={"ownerReferences": owned_by(owner)})
        )
        await cluster.create(
            CONFIG_MAPS, config_map("grandchild", metadata={"ownerReferences": owned_by(child)})
        )

        await cluster.delete(
            CONFIG_MAPS, "owner", namespace="default", options=DeleteOptions(propagation=propagation)
        )

        assert await names(cluster, CONFIG_MAPS) == left
        if left:
            assert (
                "ownerReferences"
                not in (await cluster.get(CONFIG_MAPS, "child", namespace="default"))["metadata"]
            )

    async def test_in_the_foreground_an_owner_waits_for_those_who_block(
        self, cluster: EmbeddedCluster
    ) -> None:
        owner = await cluster.create(CONFIG_MAPS, config_map("owner"))
        held = config_map("child", metadata={"ownerReferences": owned_by(owner), "finalizers": ["x.y/z"]})
        await cluster.create(CONFIG_MAPS, held)

        await cluster.delete(
            CONFIG_MAPS,
            "owner",
            namespace="default",
            options=DeleteOptions(propagation=Propagation.FOREGROUND),
        )
        waiting = await cluster.get(CONFIG_MAPS, "owner", namespace="default")
        await cluster.patch(
            CONFIG_MAPS, "child", MergePatch({"metadata": {"finalizers": None}}), namespace="default"
        )

        assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert await names(cluster, CONFIG_MAPS) == []

    async def test_an_object_whose_owner_never_was_goes(self, cluster: EmbeddedCluster) -> None:
        ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ghost", "uid": "no-such-uid"}}
        await cluster.create(CONFIG_MAPS, config_map("a", metadata={"ownerReferences": owned_by(ghost)}))

        assert await names(cluster, CONFIG_MAPS) == []

    async def test_one_of_two_owners_is_enough(self, cluster: EmbeddedCluster) -> None:
        one = await cluster.create(CONFIG_MAPS, config_map("one"))
        two = await cluster.create(CONFIG_MAPS, config_map("two"))
        await cluster.create(
            CONFIG_MAPS, config_map("child", metadata={"ownerReferences": [*owned_by(one), *owned_by(two)]})
        )

        await cluster.delete(CONFIG_MAPS, "one", namespace="default")

        child = await cluster.get(CONFIG_MAPS, "child", namespace="default")
        assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["two"]

    async def test_a_namespace_takes_its_contents_along(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(NAMESPACES, {"metadata": {"name": "team"}})
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "team"}})
        await cluster.create(
            CONFIG_MAPS, {"metadata": {"name": "b", "namespace": "team", "finalizers": ["x.y/z"]}}
        )

        await cluster.delete(NAMESPACES, "team")
        going = await cluster.get(NAMESPACES, "team")
        with pytest.raises(errors.ForbiddenError, match="because it is being terminated"):
            await cluster.create(CONFIG_MAPS, {"metadata": {"name": "c", "namespace": "team"}})
        await cluster.patch(
            CONFIG_MAPS, "b", MergePatch({"metadata": {"finalizers": None}}), namespace="team"
        )

        assert going["status"]["phase"] == "Terminating"
        with pytest.raises(errors.NotFoundError):
            await cluster.get(NAMESPACES, "team")

    async def test_a_selection_is_deleted(self, cluster: EmbeddedCluster) -> None:
        for name in ("a", "b", "c"):
            await cluster.create(
                CONFIG_MAPS, config_map(name, metadata={"labels": {"keep": str(name == "b").lower()}})
            )

        await cluster.delete_collection(CONFIG_MAPS, Selection(namespace="default", labels="keep=false"))

        assert await names(cluster, CONFIG_MAPS) == ["b"]


class TestBinding:
    async def test_a_bound_pod_has_its_node(self, cluster: EmbeddedCluster) -> None:
        made = await cluster.create(PODS, pod("a"))
        await cluster.bind(
            "a", "n1", namespace="default", uid=made["metadata"]["uid"], annotations={"k": "v"}
        )

        bound = await cluster.get(PODS, "a", namespace="default")
        assert bound["spec"]["nodeName"] == "n1"
        assert bound["metadata"]["annotations"] == {"k": "v"}
        assert [(one["type"], one["status"]) for one in bound["status"]["conditions"]] == [
            ("PodScheduled", "True")
        ]

    async def test_of_two_who_bind_one_pod_one_wins(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(PODS, pod("a"))
        answers = await asyncio.gather(
            *(cluster.bind("a", node, namespace="default") for node in ("n1", "n2")), return_exceptions=True
        )

        assert [type(answer) for answer in answers] == [type(None), errors.ConflictError]
        assert (await cluster.get(PODS, "a", namespace="default"))["spec"]["nodeName"] == "n1"

    async def test_a_gated_pod_cannot_be_bound(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(PODS, pod("a", spec={"schedulingGates": [{"name": "x.y/wait"}]}))

        with pytest.raises(errors.ConflictError, match="schedulingGates"):
            await cluster.bind("a", "n1", namespace="default")

    async def test_an_eviction_respects_the_budget(self, cluster: EmbeddedCluster) -> None:
        budgets = next(one for one in await cluster.resources() if one.plural == "poddisruptionbudgets")
        await cluster.create(
            budgets,
            {
                "metadata": {"name": "b", "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
            },
        )
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for name in ("a", "b"):
            await cluster.create(PODS, pod(name, labels={"app": "x"}))
            await cluster.patch(
                PODS, name, MergePatch({"status": running}), namespace="default", subresource="status"
            )

        await cluster.evict("a", namespace="default")
        with pytest.raises(errors.TooManyRequestsError):
            await cluster.evict("b", namespace="default")

        assert await names(cluster, PODS) == ["b"]


class TestSelection:
    @pytest.mark.parametrize(
        ("labels", "want"),
        [
            pytest.param("app=web", ["a", "b"], id="equal"),
            pytest.param("app!=web", ["c", "d"], id="unequal, or absent"),
            pytest.param("app in (web, db),tier", ["a", "c"], id="one of several, and present"),
            pytest.param("!app", ["d"], id="absent"),
            pytest.param("n>1", ["b"], id="greater"),
        ],
    )
    async def test_by_labels(self, cluster: EmbeddedCluster, labels: str, want: list[str]) -> None:
        for name, its in {
            "a": {"app": "web", "tier": "1"},
            "b": {"app": "web", "n": "2"},
            "c": {"app": "db", "tier": "2", "n": "1"},
            "d": {},
        }.items():
            await cluster.create(CONFIG_MAPS, config_map(name, metadata={"labels": its}))

        assert await names(cluster, CONFIG_MAPS, labels=labels) == want

    async def test_by_fields(self, cluster: EmbeddedCluster) -> None:
        for name in ("a", "b"):
            await cluster.create(PODS, pod(name))
        await cluster.bind("a", "n1", namespace="default")

        assert await names(cluster, PODS, fields="spec.nodeName=n1") == ["a"]
        assert await names(cluster, PODS, fields="spec.nodeName=,status.phase!=Failed") == ["b"]
        with pytest.raises(errors.BadRequestError, match=r"field label not supported: spec\.nope"):
            await names(cluster, PODS, fields="spec.nope=1")

    @pytest.mark.parametrize("labels", ["a b", "a in b", "=", "a=b,", "a in (b", "a=b=c", "(a)", "-a"])
    async def test_a_selector_that_cannot_be_read_is_refused(
        self, cluster: EmbeddedCluster, labels: str
    ) -> None:
        with pytest.raises(errors.BadRequestError):
            await names(cluster, CONFIG_MAPS, labels=labels)

    async def test_all_pages_show_one_moment(self, cluster: EmbeddedCluster) -> None:
        for number in range(7):
            await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
        seen: list[str] = []
        async for page in pages(cluster, CONFIG_MAPS, DEFAULT, limit=3):
            seen += [item["metadata"]["name"] for item in page.items]
            await cluster.delete_collection(CONFIG_MAPS, DEFAULT)

        assert seen == [f"c{number}" for number in range(7)]

    async def test_a_token_that_is_forgotten_is_gone(self, cluster: EmbeddedCluster) -> None:
        for number in range(3):
            await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
        token = (await cluster.list(CONFIG_MAPS, limit=1)).token
        for _ in range(100):
            await cluster.list(CONFIG_MAPS, limit=1)

        with pytest.raises(errors.GoneError):
            await cluster.list(CONFIG_MAPS, limit=1, token=token)
        with pytest.raises(errors.BadRequestError):
            await cluster.list(CONFIG_MAPS, limit=1, token="garbage")


class TestWatch:
    async def test_changes_come_in_order_and_through_the_selection(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("early", metadata={"labels": {"see": "me"}}))
        version = (await cluster.list(CONFIG_MAPS)).resource_version
        seen = Selection(namespace="default", labels="see=me")
        await cluster.create(CONFIG_MAPS, config_map("a", metadata={"labels": {"see": "me"}}))
        await cluster.create(CONFIG_MAPS, config_map("b"))
        await cluster.patch(
            CONFIG_MAPS, "b", MergePatch({"metadata": {"labels": {"see": "me"}}}), namespace="default"
        )
        await cluster.patch(CONFIG_MAPS, "a", MergePatch({"data": {"k": "v"}}), namespace="default")
        await cluster.patch(CONFIG_MAPS, "a", MergePatch({"metadata": {"labels": None}}), namespace="default")
        await cluster.delete(CONFIG_MAPS, "b", namespace="default")

        assert await self.changes(cluster, 5, selection=seen, resource_version=version) == [
            ("ADDED", "a"),
            ("ADDED", "b"),
            ("MODIFIED", "a"),
            ("DELETED", "a"),
            ("DELETED", "b"),
        ]

    async def test_without_a_version_present_objects_come_first(self, cluster: EmbeddedCluster) -> None:
        await cluster.create(CONFIG_MAPS, config_map("a"))

        assert await self.changes(cluster, 1, selection=DEFAULT) == [("ADDED", "a")]

    async def test_a_watch_wakes_up(self, cluster: EmbeddedCluster) -> None:
        watching = asyncio.create_task(self.changes(cluster, 1, selection=DEFAULT))
        await asyncio.sleep(0)
        await cluster.create(CONFIG_MAPS, config_map("a"))

        assert await watching == [("ADDED", "a")]

    async def test_a_version_that_is_forgotten_is_gone(self, cluster: EmbeddedCluster) -> None:
        made = await cluster.create(CONFIG_MAPS, config_map("a"))
        await cluster.create(CONFIG_MAPS, config_map("b"))
        cluster.forget_history()

        with pytest.raises(errors.GoneError, match="too old resource version"):
            await self.changes(cluster, 1, resource_version=made["metadata"]["resourceVersion"])

    async def test_a_watcher_that_falls_behind_is_told(self) -> None:
        cluster = EmbeddedCluster(history=10)
        async with aclosing(cluster.watch(CONFIG_MAPS, DEFAULT)) as events:
            await cluster.create(CONFIG_MAPS, config_map("first"))
            await anext(events)
            for number in range(20):
                await cluster.create(CONFIG_MAPS, config_map(f"c{number}"))
            with pytest.raises(errors.GoneError):
                async for _ in events:
                    pass

    async def test_a_quiet_watch_gets_bookmarks_and_ends_in_time(self) -> None:
        cluster = EmbeddedCluster(bookmark_every=0.01)
        await cluster.create(NODES, {"metadata": {"name": "elsewhere"}})
        version = (await cluster.list(CONFIG_MAPS)).resource_version

        events = [event async for event in cluster.watch(CONFIG_MAPS, resource_version=version, timeout=0.05)]

        assert events
        assert all(event == Bookmark(version) for event in events)

    @staticmethod
    async def changes(
        cluster: EmbeddedCluster, count: int, *, selection: Selection = DEFAULT, resource_version: str = ""
    ) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        async with aclosing(
            cluster.watch(CONFIG_MAPS, selection, resource_version=resource_version, timeout=5)
        ) as events:
            async for event in events:
                if isinstance(event, Change):
                    found.append((event.type.value, event.object["metadata"]["name"]))
                if len(found) == count:
                    break
        return found


async def test_events_go_after_an_hour_unless_they_come_again() -> None:
    clock = HandClock()
    cluster = EmbeddedCluster(clock=clock)
    for name in ("once", "again"):
        about = {"kind": "Pod", "name": "p", "namespace": "default"}
        await cluster.create(
            CORE_EVENTS, {"metadata": {"name": name, "namespace": "default"}, "involvedObject": about}
        )
    await clock.advance(3000)
    await cluster.patch(CORE_EVENTS, "again", MergePatch({"count": 2}), namespace="default")
    await clock.advance(1000)
    await cluster.create(CONFIG_MAPS, config_map("anything"))
    after_an_hour = await names(cluster, CORE_EVENTS)
    await clock.advance(3000)
    await cluster.create(CONFIG_MAPS, config_map("something"))

    assert after_an_hour == ["again"]
    assert await names(cluster, CORE_EVENTS) == []
