"""Making, reading and replacing objects."""

from __future__ import annotations

import asyncio
import re

import pytest

from closeknit.apis.core_v1 import Node, Pod
from closeknit.kube.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    InvalidObjectError,
    NotFoundError,
)
from closeknit.kube.port import DeleteOptions, MergePatch, Object, Written
from closeknit.kube.resources import CONFIG_MAPS, NODES, PODS, Resource
from tests.conformance.cluster import WIDGETS, Cluster


async def test_the_server_says_its_version(cluster: Cluster) -> None:
    assert re.fullmatch(r"v1\.\d+\.\d+.*", await cluster.api.version())


async def test_discovery_lists_kinds_with_their_scope_and_subresources(widgets: Cluster) -> None:
    found = {(each.group, each.version, each.plural): each for each in await widgets.api.resources()}

    pods = found["", "v1", "pods"]
    assert (pods.kind, pods.namespaced) == ("Pod", True)
    assert {"binding", "eviction", "status"} <= set(pods.subresources)
    assert not found["", "v1", "nodes"].namespaced
    assert found["batch", "v1", "jobs"].kind == "Job"
    made = found[WIDGETS.group, "v1", "widgets"]
    assert (made.kind, made.namespaced, set(made.subresources)) == ("Widget", True, {"scale", "status"})


async def test_a_new_object_has_a_uid_a_version_and_a_date(cluster: Cluster) -> None:
    made = (await cluster.create_config())["metadata"]

    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", made["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["creationTimestamp"])
    assert int(made["resourceVersion"]) > 0


async def test_what_was_made_can_be_read(cluster: Cluster) -> None:
    made = await cluster.create_config(labels={"a": "b"}, annotations={"c": "d"})

    assert await cluster.get(CONFIG_MAPS, made) == made


async def test_an_empty_list_or_map_of_a_built_in_kind_is_not_kept(cluster: Cluster) -> None:
    empty = {
        "imagePullSecrets": [],
        "nodeSelector": {},
        "securityContext": {},
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    }
    made = await cluster.create_pod(spec=empty, labels={}, annotations={}, finalizers=[])
    config = await cluster.create_config(data={})

    assert not {"labels", "annotations", "finalizers"} & set(made["metadata"])
    assert not {"imagePullSecrets", "nodeSelector"} & set(made["spec"])
    assert {word: made["spec"][word] for word in ("securityContext", "affinity", "volumes")} == {
        "securityContext": {},
        "affinity": {"nodeAffinity": {}},
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    assert "data" not in config


async def test_an_object_is_read_into_a_type(cluster: Cluster) -> None:
    made = await cluster.create_pod(labels={"a": "b"})
    name = made["metadata"]["name"]

    pod = await cluster.api.get(PODS, name, namespace=cluster.namespace, into=Pod)

    assert isinstance(pod, Pod)
    assert (pod.metadata.name, pod.metadata.labels, pod.kind) == (name, {"a": "b"}, "Pod")


async def test_of_the_answer_to_a_write_as_much_is_read_as_a_type_holds(cluster: Cluster) -> None:
    made = await cluster.api.create(CONFIG_MAPS, cluster.config("a"), into=Written)
    found = await cluster.api.get(CONFIG_MAPS, "a", namespace=cluster.namespace)
    assert made.resource_version == found["metadata"]["resourceVersion"]

    patch = MergePatch({"data": {"key": "new"}})
    written = await cluster.api.patch(CONFIG_MAPS, "a", patch, namespace=cluster.namespace, into=Written)
    found = await cluster.api.get(CONFIG_MAPS, "a", namespace=cluster.namespace)

    assert written.resource_version == found["metadata"]["resourceVersion"]
    assert found["data"]["key"] == "new"


async def test_a_list_is_read_into_a_type(cluster: Cluster) -> None:
    name = cluster.unique("node")
    await cluster.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})

    nodes = (await cluster.api.list(NODES, into=Node)).items

    assert name in [node.metadata.name for node in nodes]
    assert {(node.api_version, node.kind) for node in nodes} == {("v1", "Node")}


async def test_uids_of_the_client_are_ignored(cluster: Cluster) -> None:
    made = await cluster.create_config(uid="mine", creationTimestamp="2001-01-01T00:00:00Z")

    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] > "2026"


async def test_a_new_object_may_not_have_a_version(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match="resourceVersion should not be set on objects to be created"):
        await cluster.create_config(resourceVersion="1")


async def test_a_name_that_is_taken_is_refused(cluster: Cluster) -> None:
    made = await cluster.create_config()

    with pytest.raises(AlreadyExistsError) as raised:
        await cluster.create_config(made["metadata"]["name"])

    status = raised.value.status
    assert (status.code, status.reason, status.kind) == (409, "AlreadyExists", "configmaps")
    assert status.name == made["metadata"]["name"]


async def test_one_name_can_be_in_two_namespaces(cluster: Cluster) -> None:
    other = await cluster.new_namespace()
    made = await cluster.create_config("same")
    twin = await cluster.api.create(CONFIG_MAPS, cluster.config("same", namespace=other))

    assert made["metadata"]["uid"] != twin["metadata"]["uid"]


async def test_what_is_not_there_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError) as raised:
        await cluster.api.get(PODS, "nobody", namespace=cluster.namespace)

    status = raised.value.status
    assert (status.code, status.kind, status.name) == (404, "pods", "nobody")
    assert status.message == 'pods "nobody" not found'


async def test_a_custom_object_that_is_not_there_is_named_with_its_group(widgets: Cluster) -> None:
    with pytest.raises(NotFoundError) as raised:
        await widgets.api.get(WIDGETS, "nobody", namespace=widgets.namespace)

    assert str(raised.value) == 'widgets.conformance.closeknit.dev "nobody" not found'
    assert raised.value.status.group == WIDGETS.group


async def test_a_kind_that_is_not_served_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError):
        await cluster.api.list(Resource("nobody.dev", "v1", "things", "Thing"))


async def test_an_object_needs_a_namespace_that_exists(cluster: Cluster) -> None:
    with pytest.raises(NotFoundError) as raised:
        await cluster.api.create(CONFIG_MAPS, cluster.config(namespace="nowhere"))

    assert (raised.value.status.kind, raised.value.status.name) == ("namespaces", "nowhere")


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"kind": "Secret"}, id="another kind"),
        pytest.param({"apiVersion": "apps/v1"}, id="another group"),
        pytest.param({"data": "text"}, id="a field of another type"),
        pytest.param({"data": []}, id="an empty list in place of a map"),
        pytest.param({"data": ""}, id="an empty text in place of a map"),
    ],
)
async def test_a_body_that_is_no_object_of_the_kind_is_a_bad_request(cluster: Cluster, wrong: Object) -> None:
    with pytest.raises(BadRequestError):
        await cluster.api.create(CONFIG_MAPS, cluster.config() | wrong)


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        pytest.param({"name": "Capital"}, "metadata.name", id="a capital letter in a name"),
        pytest.param({"name": "a" * 254}, "metadata.name", id="a name of 254 letters"),
        pytest.param({"labels": {"a b": "c"}}, "metadata.labels", id="a space in a label's key"),
        pytest.param({"labels": {"a": "b" * 64}}, "metadata.labels", id="a label of 64 letters"),
        pytest.param({"annotations": {"/a": "b"}}, "metadata.annotations", id="an annotation without prefix"),
        pytest.param(
            {"finalizers": ["no prefix!"]}, "metadata.finalizers", id="a finalizer of other letters"
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
            "metadata.ownerReferences.uid",
            id="an owner without a uid",
        ),
    ],
)
async def test_metadata_that_breaks_a_rule_is_refused_with_its_field(
    cluster: Cluster, metadata: Object, field: str
) -> None:
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.create_config(**metadata)

    assert raised.value.status.code == 422
    assert {cause.field.split("[")[0] for cause in raised.value.status.causes} == {field}


async def test_an_object_without_a_name_is_refused(cluster: Cluster) -> None:
    body = cluster.config()
    del body["metadata"]["name"]
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.api.create(CONFIG_MAPS, body)

    assert raised.value.status.causes[0].field == "metadata.name"


async def test_every_problem_is_told_at_once(cluster: Cluster) -> None:
    with pytest.raises(InvalidObjectError) as raised:
        await cluster.create_config("Bad Name", labels={"a b": "c"}, data={"bad key": "x"})

    assert {"metadata.name", "metadata.labels", "data[bad key]"} <= {
        cause.field for cause in raised.value.status.causes
    }


# ------------------------------------------------------------------------------------------ generateName


async def test_a_generated_name_begins_as_asked(cluster: Cluster) -> None:
    body = cluster.config(generateName="made-")
    del body["metadata"]["name"]
    made = [await cluster.api.create(CONFIG_MAPS, body) for _ in range(5)]

    names = [each["metadata"]["name"] for each in made]
    assert all(re.fullmatch(r"made-[a-z0-9]{5}", name) for name in names)
    assert len(set(names)) == 5
    assert made[0]["metadata"]["generateName"] == "made-"


async def test_a_name_wins_over_a_generated_one(cluster: Cluster) -> None:
    made = await cluster.create_config("given", generateName="made-")

    assert made["metadata"]["name"] == "given"


async def test_a_generated_name_is_cut_to_fit(cluster: Cluster) -> None:
    body = cluster.config(generateName="a" * 300)
    del body["metadata"]["name"]
    with pytest.raises(InvalidObjectError):
        await cluster.api.create(CONFIG_MAPS, body)
    body["metadata"]["generateName"] = "b" * 253
    made = await cluster.api.create(CONFIG_MAPS, body)

    # Names of servers that cut differ in how much they keep.
    assert len(made["metadata"]["name"]) <= 253
    assert made["metadata"]["name"].startswith("b" * 58)


async def test_of_many_that_make_one_name_at_once_one_wins(cluster: Cluster) -> None:
    made = await asyncio.gather(*(cluster.create_config("same") for _ in range(10)), return_exceptions=True)

    assert sum(isinstance(each, dict) for each in made) == 1
    assert sum(isinstance(each, AlreadyExistsError) for each in made) == 9


# ----------------------------------------------------------------------------------------------- dry run


async def test_a_dry_run_makes_nothing(cluster: Cluster) -> None:
    made = await cluster.api.create(CONFIG_MAPS, cluster.config("dry"), dry_run=True)

    assert made["metadata"]["uid"]
    assert await cluster.gone(CONFIG_MAPS, made)


async def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    made = await cluster.create_config()
    name = made["metadata"]["name"]
    replaced = await cluster.api.replace(CONFIG_MAPS, made | {"data": {"key": "new"}}, dry_run=True)
    patched = await cluster.api.patch(
        CONFIG_MAPS, name, MergePatch({"data": {"key": "new"}}), namespace=cluster.namespace, dry_run=True
    )

    assert replaced["data"] == patched["data"] == {"key": "new"}
    assert await cluster.get(CONFIG_MAPS, made) == made


async def test_a_dry_run_deletes_nothing(cluster: Cluster) -> None:
    made = await cluster.create_config()
    await cluster.api.delete(
        CONFIG_MAPS,
        made["metadata"]["name"],
        namespace=cluster.namespace,
        options=DeleteOptions(dry_run=True),
    )

    assert await cluster.get(CONFIG_MAPS, made) == made


async def test_a_dry_run_checks_like_any_other(cluster: Cluster) -> None:
    with pytest.raises(InvalidObjectError):
        await cluster.api.create(CONFIG_MAPS, cluster.config("Bad"), dry_run=True)
    made = await cluster.create_config()
    with pytest.raises(AlreadyExistsError):
        await cluster.api.create(CONFIG_MAPS, cluster.config(made["metadata"]["name"]), dry_run=True)


# ------------------------------------------------------------------------------------- what a call needs


@pytest.mark.parametrize("call", ["get", "delete", "patch"])
async def test_a_call_without_a_name_or_namespace_is_refused(cluster: Cluster, call: str) -> None:
    api = cluster.api
    calls = {
        "get": lambda name, namespace: api.get(CONFIG_MAPS, name, namespace=namespace),
        "delete": lambda name, namespace: api.delete(CONFIG_MAPS, name, namespace=namespace),
        "patch": lambda name, namespace: api.patch(CONFIG_MAPS, name, MergePatch({}), namespace=namespace),
    }
    made = await cluster.create_config()
    for name, namespace in (("", cluster.namespace), (made["metadata"]["name"], "")):
        with pytest.raises(ApiError):
            await calls[call](name, namespace)

    assert await cluster.exists(CONFIG_MAPS, made)
