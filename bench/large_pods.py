"""Specifications of pods, each grown in one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]


def container(i: int = 0, variables: int = 0) -> Json:
    """One container, with so many variables."""
    made: Json = {"name": f"c{i}", "image": "busybox", "resources": {"requests": {"cpu": "1m"}}}
    if variables:
        made["env"] = [{"name": f"VARIABLE_{i}", "value": "x" * 40} for i in range(variables)]
    return made


def plain(**fields: Any) -> Json:
    """A pod of one container, with these fields besides."""
    return {"containers": [container()], **fields}


def variables(count: int) -> Json:
    """A pod with so many variables."""
    return {"containers": [container(variables=count)]}


def _containers(count: int) -> Json:
    return {"containers": [container(i) for i in range(count)]}


def _ports(count: int) -> Json:
    return {
        "containers": [{**container(), "ports": [{"containerPort": 1 + i % 60_000} for i in range(count)]}]
    }


def _tolerations(count: int) -> Json:
    return plain(tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(count)])


def _node_terms(count: int) -> Json:
    terms = [{"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(count)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return plain(affinity={"nodeAffinity": required})


def _neighbours(count: int) -> Json:
    terms = [{"topologyKey": "rack", "labelSelector": {"matchLabels": {"a": f"b{i}"}}} for i in range(count)]
    return plain(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def _volumes(count: int) -> Json:
    return plain(
        volumes=[{"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"v{i}"}} for i in range(count)]
    )


PODS: Final[Mapping[str, Callable[[int], Json]]] = {
    "variables": variables,
    "containers": _containers,
    "ports": _ports,
    "tolerations": _tolerations,
    "node terms": _node_terms,
    "anti-affinity terms": _neighbours,
    "volumes": _volumes,
}
"""Ways in which the specification of a pod grows."""
