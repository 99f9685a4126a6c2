"""The PodCliqueSet of a DynamoGraphDeployment.

A component becomes a clique, with its constraint: all its pods go to one domain. One that runs on
several nodes becomes a scaling group of a leader and workers; the constraint stands on
the group and nowhere inside, so that each of its replicas goes to one domain. So does one that is forced
to be a scaling group, of single pods. A component without a constraint gets none, because what
the set says holds for it anyway.
"""

from __future__ import annotations

from typing import Any

from closeknit.apis.nvidia_com_v1alpha1 import ProviderOverride
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.grove.naming import LONGEST

QUEUE_ANNOTATION = "nvidia.com/kai-scheduler-queue"
DEFAULT_QUEUE = "dynamo"
_QUEUE = "kai.scheduler/queue"
_LEADER, _WORKERS = "ldr", "wkr"
_SHORTEST = 8


def set_name(given: Deployment) -> str:
    """The deployment's name, or a part of it with a checksum where the names of pods would grow too long."""
    longest = max((_length(component) for component in given.components), default=0)
    room = max(LONGEST - longest, _SHORTEST)
    name = given.metadata.name
    return name if len(name) <= room else f"{name[: room - 5]}-{checksum(name):04x}"


def to_pod_clique_set(given: Deployment, namespace: str, topology: str) -> dict[str, Any]:
    """The PodCliqueSet of a deployment that is in order; ``topology`` names what its domains belong to."""
    running = [component for component in given.components if component.replicas]
    cliques: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    # A deployment scaled to nothing still has cliques, of which there is no replica.
    for component in running or given.components:
        named = topology if not given.domain else ""
        close = _constraint(component.domain, named)
        replicas = max(component.replicas, 1)
        least = min(component.least or 1, replicas)
        if not component.scales_as_group:
            cliques.append({**_clique(given, component, component.key, replicas, least), **close})
            _write_over(cliques[-1], component.override)
            continue
        roles = _roles(component)
        for name, count, override in roles:
            cliques.append(_clique(given, component, name, count, count))
            _write_over(cliques[-1], override)
        group = {
            "name": component.key,
            "cliqueNames": [name for name, _, _ in roles],
            "replicas": replicas,
            "minAvailable": least,
            **close,
        }
        _write_over(group, component.override)
        groups.append(group)
    template: dict[str, Any] = {
        "cliqueStartupType": "CliqueStartupTypeAnyOrder",
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        **_constraint(given.domain or None, topology),
        "cliques": cliques,
    }
    if groups:
        template["podCliqueScalingGroups"] = groups
    if given.priority_class:
        template["priorityClassName"] = given.priority_class
    made = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": _metadata(given, namespace),
        "spec": {"replicas": 1 if running else 0, "template": template},
    }
    if given.override is not None:
        _write_over(template, _inner(given.override))
    return made


def _roles(component: Component) -> list[tuple[str, int, ProviderOverride | None]]:
    """The cliques of a scaling group: their names, their pods, and what is written over in each."""
    if component.nodes is None:
        return [(component.key, 1, None)]
    leader, workers = component.roles
    return [
        (f"{component.key}-{_LEADER}", 1, leader),
        (f"{component.key}-{_WORKERS}", component.nodes - 1, workers),
    ]


def _metadata(given: Deployment, namespace: str) -> dict[str, Any]:
    labels = {**given.labels, "nvidia.com/dynamo-graph-deployment-name": given.metadata.name}
    found: dict[str, Any] = {"name": set_name(given), "namespace": namespace, "labels": labels}
    if given.annotations:
        found["annotations"] = dict(given.annotations)
    if given.metadata.uid:
        found["ownerReferences"] = [
            {
                "apiVersion": f"nvidia.com/{given.version}",
                "kind": "DynamoGraphDeployment",
                "name": given.metadata.name,
                "uid": given.metadata.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return found


def _clique(given: Deployment, component: Component, name: str, replicas: int, least: int) -> dict[str, Any]:
    scheduler = {"schedulerName": "kai-scheduler"}
    clique: dict[str, Any] = {
        "name": name,
        "labels": {
            **component.labels,
            "nvidia.com/dynamo-component": component.name,
            "nvidia.com/dynamo-graph-deployment-name": given.metadata.name,
            _QUEUE: given.metadata.annotations.get(QUEUE_ANNOTATION, DEFAULT_QUEUE),
        },
        "spec": {
            "roleName": name,
            "replicas": replicas,
            "minAvailable": least,
            "podSpec": {**scheduler, **component.pod_spec},
        },
    }
    if component.annotations:
        clique["annotations"] = dict(component.annotations)
    return clique


def _constraint(domain: str | None, topology: str) -> dict[str, Any]:
    if not domain:
        return {}
    named = {"topologyName": topology} if topology else {}
    return {"topologyConstraint": {**named, "pack": {"required": domain}}}


def _write_over(made: dict[str, Any], override: ProviderOverride | None) -> None:
    if override is not None:
        made.update(override.value)


def _inner(override: ProviderOverride) -> ProviderOverride:
    """The same for the template, which is where the set's constraint stands."""
    value: Any = override.value
    return ProviderOverride(api_version=override.api_version, value=value["spec"]["template"])


def _length(component: Component) -> int:
    """How many characters of a pod's name its component takes."""
    own = len(component.key)
    if not component.scales_as_group:
        return own
    return own + max(len(name) for name, _, _ in _roles(component))


def checksum(name: str) -> int:
    """The lower half of a 32-bit FNV-1a checksum."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value & 0xFFFF
