"""PodCliqueSets, topologies and nodes for scenarios of Grove's operator."""

from __future__ import annotations

from typing import Any

from closeknit.controllers.grove.operator import GROVE_OPERATOR
from closeknit.testing.controlling import Controlled

Json = dict[str, Any]
OPERATORS = [GROVE_OPERATOR]
PARTS = ("PodCliqueScalingGroup", "PodClique", "PodGang", "PodGroup", "Pod")


def node(name: str, gpus: int = 8, **labels: str) -> Json:
    offered = {"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    named = {"kubernetes.io/hostname": name, **{f"topology/{key}": value for key, value in labels.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": named},
        "status": {
            "allocatable": offered,
            "capacity": offered,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


NODES = [node(f"n{i}", zone="z", rack=f"r{i}") for i in range(4)]
"""Four racks of one node."""


def clique(name: str, replicas: int = 1, *, image: str = "one", gpus: int = 1, **spec: Any) -> Json:
    container = {"name": "main", "image": image, "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    own = {"roleName": name, "replicas": replicas, "podSpec": {"containers": [container]}, **spec}
    return {"name": name, "spec": own}


def clique_set(
    name: str,
    *cliques: Json,
    replicas: int = 1,
    groups: list[Json] | None = None,
    labels: dict[str, str] | None = None,
    **template: Any,
) -> Json:
    spec = {"cliques": list(cliques), "podCliqueScalingGroups": groups or [], **template}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"replicas": replicas, "template": spec},
    }


def web(*, replicas: int = 1, model: int = 2, image: str = "one", **template: Any) -> Json:
    """A router on its own, and a scaling group of a leader and two workers, of which one replica is needed."""
    return clique_set(
        "web",
        clique("router", image=image),
        clique("leader", image=image),
        clique("worker", 2, image=image),
        replicas=replicas,
        groups=[
            {
                "name": "model",
                "cliqueNames": ["leader", "worker"],
                "replicas": model,
                "minAvailable": 1,
            }
        ],
        **template,
    )


def binding(name: str, *domains: str, bound_to: str = "") -> Json:
    levels = [{"domain": domain, "key": f"topology/{domain}"} for domain in domains]
    spec: Json = {"levels": levels}
    if bound_to:
        spec["schedulerTopologyBindings"] = [
            {"schedulerName": "kai-scheduler", "topologyReference": bound_to}
        ]
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": name},
        "spec": spec,
    }


def packed(name: str, required: str) -> Json:
    return {"topologyName": name, "pack": {"required": required}}


async def phases(cluster: Controlled) -> dict[str, str]:
    """By pod, its phase; ``gated`` for one that its gate holds back."""
    return {
        pod["metadata"]["name"]: "gated" if pod["spec"].get("schedulingGates") else pod["status"]["phase"]
        for pod in await cluster.every("Pod")
    }


async def images(cluster: Controlled) -> dict[str, str]:
    """By pod, the image that it runs."""
    return {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in await cluster.every("Pod")
    }


async def condition(cluster: Controlled, kind: str, name: str, of: str) -> Json:
    """A condition of an object."""
    status = (await cluster.get(kind, name)).get("status") or {}
    return next((each for each in status.get("conditions", ()) if each["type"] == of), {})


async def all_parts(cluster: Controlled) -> dict[str, list[str]]:
    """The names of everything that is made of PodCliqueSets."""
    return {kind: await cluster.names(kind) for kind in PARTS}
