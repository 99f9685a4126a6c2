"""Short ways to write Grove's objects in tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from closeknit.apis.grove_io_v1alpha1 import PodCliqueSet
from closeknit.dialects import Source, translate
from closeknit.dialects.grove.blueprint import Blueprint, blueprint
from closeknit.dialects.grove.topologies import Known
from closeknit.hub.topology import Level, Topology

LEVELS = {
    "zone": "topology/zone",
    "block": "topology/block",
    "rack": "topology/rack",
    "host": "kubernetes.io/hostname",
}
ZONE, BLOCK, RACK = LEVELS["zone"], LEVELS["block"], LEVELS["rack"]


def levels(given: Mapping[str, str] = LEVELS) -> list[dict[str, str]]:
    return [{"domain": domain, "key": key} for domain, key in given.items()]


def topology(
    given: Mapping[str, str] | Sequence[Mapping[str, str]] = LEVELS,
    name: str = "grove-topology",
    kind: str = "ClusterTopology",
    **spec: Any,
) -> str:
    listed = levels(given) if isinstance(given, Mapping) else list(given)
    return json.dumps(
        {
            "apiVersion": "grove.io/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": {"levels": listed, **spec},
        }
    )


def configuration(given: Any = LEVELS, *, enabled: bool = True) -> str:
    switch: dict[str, Any] = {"enabled": enabled}
    if given is not None:
        switch["levels"] = levels(given) if isinstance(given, Mapping) else given
    return json.dumps(
        {
            "apiVersion": "operator.config.grove.io/v1alpha1",
            "kind": "OperatorConfiguration",
            "topologyAwareScheduling": switch,
        }
    )


def close(domain: str | None) -> dict[str, Any]:
    return {"topologyConstraint": {"packDomain": domain}} if domain else {}


def pod_spec(gpus: int = 1, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "model", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    return {"containers": [container], **more}


def clique(name: str, replicas: int | None = 1, *, domain: str | None = None, **spec: Any) -> dict[str, Any]:
    given = {"roleName": name, "podSpec": pod_spec(), **spec}
    if replicas is not None:
        given["replicas"] = replicas
    return {"name": name, "spec": given, **close(domain)}


def group(name: str, *cliques: str, domain: str | None = None, **config: Any) -> dict[str, Any]:
    return {"name": name, "cliqueNames": list(cliques), **close(domain), **config}


def pod_clique_set(
    *cliques: dict[str, Any],
    groups: Sequence[dict[str, Any]] = (),
    replicas: int = 1,
    domain: str | None = None,
    name: str = "pcs",
    metadata: Mapping[str, Any] | None = None,
    **template: Any,
) -> str:
    given: dict[str, Any] = {"cliques": list(cliques), **close(domain), **template}
    if groups:
        given["podCliqueScalingGroups"] = list(groups)
    return json.dumps(
        {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": {"name": name, **(metadata or {})},
            "spec": {"replicas": replicas, "template": given},
        }
    )


def made(text: str, given: Mapping[str, str] = LEVELS, *, known: Known | None = None) -> Blueprint:
    """The blueprint of a PodCliqueSet that must be without problems."""
    decoded = msgspec.convert(json.loads(text), PodCliqueSet)
    topology = Topology("grove-topology", tuple(Level(key, domain) for domain, key in given.items()))
    drawn = blueprint(decoded, "default", known or Known({topology.name: topology}))
    assert drawn.problems == ()
    assert drawn.blueprint is not None
    return drawn.blueprint


def packed(required: str = "", preferred: str = "") -> dict[str, Any]:
    """A constraint of a PodGang, in node labels."""
    given = (("required", required), ("preferred", preferred))
    return {"topologyConstraint": {"packConstraint": {key: label for key, label in given if label}}}


def members(name: str, least: int = 1, *pods: str, **more: Any) -> dict[str, Any]:
    """A pod group of a PodGang; ``pods`` are those that it refers to."""
    references = [{"namespace": "default", "name": pod} for pod in pods]
    return {"name": name, "podReferences": references, "minReplicas": least, **more}


def gang(
    *groups: dict[str, Any],
    name: str = "gang",
    configs: Sequence[dict[str, Any]] = (),
    metadata: Mapping[str, Any] | None = None,
    named: str = "grove-topology",
    **spec: Any,
) -> str:
    annotations = {"annotations": {"grove.io/topology-name": named}} if named else {}
    given: dict[str, Any] = {"podgroups": list(groups), **spec}
    if configs:
        given["topologyConstraintGroupConfigs"] = list(configs)
    return json.dumps(
        {
            "apiVersion": "scheduler.grove.io/v1alpha1",
            "kind": "PodGang",
            "metadata": {"name": name, **annotations, **(metadata or {})},
            "spec": given,
        }
    )


def made_pod(name: str, gang: str = "", clique: str = "", gpus: int = 1, **more: Any) -> str:
    """A pod as Grove makes it, without what it needs KAI for."""
    labels = {"grove.io/podgang": gang, "grove.io/podclique": clique}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {key: value for key, value in labels.items() if value}},
            "spec": pod_spec(gpus),
            **more,
        }
    )


SERVING = pod_clique_set(
    clique("router", domain="block"),
    clique("lead", domain="host"),
    clique("work", 3, minAvailable=2, domain="rack"),
    groups=[group("pre", "lead", "work", domain="rack", replicas=3, minAvailable=1)],
    domain="zone",
    name="srv",
)
"""Two gangs beyond the base gang, and a constraint at every place."""


def config(name: str, *groups: str, **more: Any) -> dict[str, Any]:
    """A group configuration of a PodGang."""
    return {"name": name, "podGroupNames": list(groups), **more}


def translated(target: str, *texts: str) -> list[dict[str, Any]]:
    """The objects that become of these, which must be without problems."""
    found = translate([Source("f", "\n---\n".join(texts).encode())], target)
    assert [str(problem) for problem in found.problems] == []
    return list(found.objects)
