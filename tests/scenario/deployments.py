"""Short ways to write Dynamo's deployments, and to ask what became of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from closeknit.dialects import Source, operator_settings
from closeknit.testing.controlling import Controlled

CONDITION = "TopologyConstraintsEnforced"
MAPPING = {"rack": "t/rack", "host": "kubernetes.io/hostname"}


def graph(
    version: str = "v1alpha1", domain: str = "zone", close: str = "rack", replicas: int = 2, **spec: Any
) -> dict[str, Any]:
    """A deployment of a frontend and a worker on two nodes, constrained unless the domains are empty."""
    pod = {"containers": [{"name": "main", "image": "i"}]}
    inner = {"topologyConstraint": {"packDomain": close}} if close else {}
    if version == "v1alpha1":
        parts: dict[str, Any] = {
            "services": {
                "Frontend": {"replicas": 1, "extraPodSpec": {"mainContainer": {"image": "i"}}},
                "Worker": {
                    "replicas": replicas,
                    "multinode": {"nodeCount": 2},
                    "extraPodSpec": {"mainContainer": {"image": "i"}},
                    **inner,
                },
            }
        }
        outer: dict[str, Any] = {"packDomain": domain} if domain else {}
        name = "topologyProfile"
    else:
        parts = {
            "components": [
                {"name": "Frontend", "replicas": 1, "podTemplate": {"spec": pod}},
                {
                    "name": "Worker",
                    "replicas": replicas,
                    "multinode": {"nodeCount": 2},
                    "podTemplate": {"spec": pod},
                    **inner,
                },
            ]
        }
        outer = {"packDomain": domain} if domain else {}
        name = "clusterTopologyName"
    constrained = {"topologyConstraint": {name: "tree", **outer}} if domain or close else {}
    return {
        "apiVersion": f"nvidia.com/{version}",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "graph", "namespace": "default"},
        "spec": {**parts, **constrained, **spec},
    }


async def says(cluster: Controlled, status: str, reason: str, message: str = "m") -> None:
    """Let Grove say this of the set."""
    condition = {
        "type": "TopologyLevelsUnavailable",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = {"status": {"conditions": [condition], "availableReplicas": 1}}
    await cluster.patch("PodCliqueSet", "graph", body, subresource="status")
    await cluster.quiet()


async def conditions(cluster: Controlled) -> dict[str, str]:
    """Status and reason of the deployment's conditions, by type."""
    listed = (await cluster.get("DynamoGraphDeployment", "graph"))["status"]["conditions"]
    return {condition["type"]: f"{condition['status']} {condition['reason']}" for condition in listed}


async def message_of(cluster: Controlled, kind: str) -> str:
    """The message of the deployment's condition of this type."""
    listed = (await cluster.get("DynamoGraphDeployment", "graph"))["status"]["conditions"]
    (message,) = (condition["message"] for condition in listed if condition["type"] == kind)
    return str(message)


async def events(cluster: Controlled) -> list[str]:
    await cluster.quiet()
    return sorted(
        f"{each['type']} {each['reason']}"
        for each in await cluster.every("Event")
        if each["involvedObject"]["kind"] == "DynamoGraphDeployment"
    )


def constraints_of(made: Mapping[str, Any]) -> dict[str, Any]:
    """The constraints of a PodCliqueSet, by where they stand."""
    template = made["spec"]["template"]
    parts = (*template["cliques"], *template.get("podCliqueScalingGroups", ()))
    found = {
        "": template.get("topologyConstraint"),
        **{each["name"]: each.get("topologyConstraint") for each in parts},
    }
    return {name: given for name, given in found.items() if given}


def mapping(**labels: str) -> Any:
    text = json.dumps({"operator": {"topologyAwareScheduling": {"domainToLabelMapping": labels or MAPPING}}})
    found = operator_settings([Source("config", text.encode())])
    assert not found.problems
    return found.entries


def for_kueue(replicas: int = 2) -> dict[str, Any]:
    made = graph(domain="", close="rack", replicas=replicas)
    del made["spec"]["topologyConstraint"]
    return made
