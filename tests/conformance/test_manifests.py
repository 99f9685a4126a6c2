"""The definitions and examples of this repository, on every server."""

from __future__ import annotations

from closeknit.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.conformance.cluster import Cluster
from tests.conformance.manifests import NOT_SERVED, define, definitions, examples, verdict


async def test_every_definition_is_accepted(cluster: Cluster) -> None:
    await define(cluster.api)

    for definition in definitions():
        found = await cluster.api.get(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        assert conditions["Established"]["status"] == "True"
        assert "NonStructuralSchema" not in conditions, conditions["NonStructuralSchema"]["message"]


async def test_every_example_is_accepted(cluster: Cluster) -> None:
    kinds = await define(cluster.api)
    ours = [each for each in examples() if each.kind in kinds]
    unserved = {each.kind for each in examples()} - set(kinds)
    refused = {}
    for each in ours:
        said = await verdict(cluster.api, kinds[each.kind], each.obj, cluster.namespace)
        if said not in ("accepted", "409 AlreadyExists"):
            refused[each.place] = said

    assert unserved == NOT_SERVED
    assert refused == {}
    assert len(ours) > 100


async def test_what_an_example_says_is_there_when_it_is_read_again(cluster: Cluster) -> None:
    kinds = await define(cluster.api)
    groups = {definition["spec"]["group"] for definition in definitions()}
    name = f"kept-{cluster.namespace}"
    lost = {}
    for each in examples():
        if each.kind[0].partition("/")[0] not in groups or "spec" not in each.obj:
            continue
        resource = kinds[each.kind]
        namespace = cluster.namespace if resource.namespaced else ""
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        await cluster.api.create(resource, {**each.obj, "metadata": metadata})
        found = await cluster.api.get(resource, name, namespace=namespace)
        await cluster.api.delete(resource, name, namespace=namespace)
        if gone := set(each.obj["spec"]) - set(found["spec"]):
            lost[each.place] = gone

    assert lost == {}
