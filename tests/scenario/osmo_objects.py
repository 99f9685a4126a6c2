"""Pools, workflows and nodes of OSMO, and what a cluster says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from closeknit.controllers.osmo import OPERATOR
from closeknit.kube.port import KubernetesApi
from closeknit.testing.controlling import Controlled, controlling

API = "osmo.closeknit.dev/v1alpha1"


def pool(*keys: str, name: str = "p", **fields: Any) -> dict[str, Any]:
    written = [{"key": key, "label": f"t/{key}"} for key in keys]
    spec = {"topology_keys": written, **fields}
    return {"apiVersion": API, "kind": "Pool", "metadata": {"name": name}, "spec": spec}


def node(name: str, **labels: str) -> dict[str, Any]:
    """A node with two GPUs."""
    amounts = {"cpu": "8", "memory": "64Gi", "pods": "32", "nvidia.com/gpu": "2"}
    metadata = {"name": name, "labels": {f"t/{key}": value for key, value in labels.items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def workflow(
    groups: Mapping[str, Mapping[str, Any]], seconds: int | None = None, name: str = "w"
) -> dict[str, Any]:
    """A workflow of groups of tasks; ``resource`` of a task is a rack's group, in which each has a GPU."""
    written = [
        {
            "name": group,
            "tasks": [
                {"name": task, "image": "i", "command": ["run"], **fields} for task, fields in tasks.items()
            ],
        }
        for group, tasks in groups.items()
    ]
    resources: dict[str, Any] = {"default": {"gpu": 1}}
    for named in ("one", "two"):
        resources[named] = {"gpu": 1, "topology": [{"key": "rack", "group": named}]}
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if seconds is not None:
        metadata["annotations"] = {"closeknit.dev/run-seconds": str(seconds)}
    spec = {"workflow": {"name": name, "pool": "p", "groups": written, "resources": resources}}
    return {"apiVersion": API, "kind": "Workflow", "metadata": metadata, "spec": spec}


RACKS = [node(f"{rack}-{i}", zone="z", rack=rack) for rack in ("a", "b", "c") for i in range(2)]
TWO_RACKS: dict[str, dict[str, Any]] = {
    "g": {
        "a1": {"resource": "one"},
        "a2": {"resource": "one"},
        "b1": {"resource": "two"},
        "b2": {"resource": "two"},
    }
}
CHAIN: dict[str, dict[str, Any]] = {"first": {"a": {}}, "second": {"b": {"inputs": [{"task": "a"}]}}}


async def told(cluster: Controlled, name: str = "w") -> str:
    """The status of a workflow in a line."""
    status = (await cluster.get("Workflow", name)).get("status") or {}
    groups = (
        f"{group['name']}[{group['phase']} "
        + " ".join(
            f"{task['name']}={task['phase']}" + (f"+{task['retries']}" if task["retries"] else "")
            for task in group["tasks"]
        )
        + "]"
        for group in status.get("groups", ())
    )
    return " ".join([status.get("phase", "-"), *groups])


async def pods(cluster: Controlled) -> dict[str, dict[str, Any]]:
    """Pods by task and number of retries, such as ``a`` and ``a+1``."""
    found = {}
    for pod in await cluster.every("Pod"):
        labels = pod["metadata"]["labels"]
        retries = labels["osmo.retry_id"]
        found[labels["osmo.task_name"] + (f"+{retries}" if retries != "0" else "")] = pod
    return found


async def conditions(cluster: Controlled, kind: str, name: str) -> dict[str, str]:
    found = (await cluster.get(kind, name))["status"]["conditions"]
    return {each["type"]: f"{each['status']} {each['reason']}" for each in found}


def in_cluster(*objects: Mapping[str, Any], real: KubernetesApi | None = None, **more: Any) -> Any:
    pools = () if any(each["kind"] == "Pool" for each in objects) else (pool("zone", "rack"),)
    return controlling([OPERATOR], *RACKS, *pools, *objects, real=real, scheduler=True, standins=True, **more)


async def fail(cluster: Controlled, pod: dict[str, Any], code: int) -> None:
    """Let a pod end now with an exit code."""
    annotations = {"closeknit.dev/run-seconds": "0", "closeknit.dev/exit-code": str(code)}
    await cluster.patch("Pod", pod["metadata"]["name"], {"metadata": {"annotations": annotations}})
