"""What a tenant forges in its own namespace changes nothing of another tenant."""

from __future__ import annotations

from typing import Any

from tests.scenario.osmo_objects import API, in_cluster, pods, told, workflow

FORGER = "forger"


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def forged_pod(name: str, node: str, owner: dict[str, Any]) -> dict[str, Any]:
    """A pod that runs to its end at once, and names a controller of another namespace.

    Its finalizer keeps the garbage collector from removing it.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": FORGER,
            "finalizers": ["forger.example/stay"],
            "annotations": {"closeknit.dev/run-seconds": "0"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }


async def test_a_pod_of_another_namespace_with_the_uid_of_a_workflow_is_not_one_of_its_pods() -> None:
    async with in_cluster(workflow({"g": {"a": {}}}), namespace(FORGER)) as cluster:
        await cluster.quiet()
        assert await told(cluster) == "RUNNING g[RUNNING a=RUNNING]"
        victim = await cluster.get("Workflow", "w")
        name = (await pods(cluster))["a"]["metadata"]["name"]
        owner = {
            "apiVersion": API,
            "kind": "Workflow",
            "name": "w",
            "uid": victim["metadata"]["uid"],
            "controller": True,
        }
        await cluster.create(forged_pod(name, "a-0", owner))
        await cluster.settle(5)

        assert await told(cluster) == "RUNNING g[RUNNING a=RUNNING]"
