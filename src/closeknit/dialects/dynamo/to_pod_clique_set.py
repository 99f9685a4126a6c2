"""The PodCliqueSet of a DynamoGraphDeployment.

A component becomes a clique, with its constraint: all its pods go to one domain. One that runs on
several nodes becomes a scaling group of a leader and workers; the constraint stands on
the group and nowhere inside, so that each of its replicas goes to one domain. So does one that is forced
to be a scaling group, of single pods. A component without a constraint gets none, because what
the set says holds for it anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from closeknit.apis.dynamo_keys import COMPONENT, DEPLOYMENT, KAI_QUEUE
from closeknit.apis.kai_keys import QUEUE, SCHEDULER
from closeknit.dialects.core.kinds import new_object, owner_references
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.dynamo.rules import Place, of_component, of_deployment, of_roles
from closeknit.dialects.grove.names import LONGEST

DEFAULT_QUEUE = "dynamo"
_LEADER, _WORKERS = "ldr", "wkr"
_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """What a clique or a scaling group was made of."""

    component: Component
    override: Place | None
    """Where its constraint is written over; None where nothing can be."""


@dataclass(frozen=True, slots=True)
class Origins:
    """What the parts of a set were made of, in the order of its template."""

    cliques: tuple[Origin, ...]
    groups: tuple[Origin, ...]


def set_name(given: Deployment) -> str:
    """The deployment's name, or a part of it with a checksum where the names of pods would grow too long."""
    longest = max((_length(component) for component in given.components), default=0)
    room = max(LONGEST - longest, _SHORTEST)
    name = given.metadata.name
    return name if len(name) <= room else f"{name[: room - 5]}-{checksum(name):04x}"


def to_pod_clique_set(given: Deployment, namespace: str, topology: str) -> dict[str, Any]:
    """The PodCliqueSet of a deployment that is in order; ``topology`` names what its domains belong to."""
    cliques: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    for component in _described(given):
        named = topology if not given.domain else ""
        close = _constraint(component.domain, named)
        replicas = max(component.replicas, 1)
        least = min(component.least or 1, replicas)
        if not component.scales_as_group:
            cliques.append({**_clique(given, component, component.key, replicas, least), **close})
            _write_over(cliques[-1], of_component(component))
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
        _write_over(group, of_component(component))
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
    _write_over(template, of_deployment(given))
    running = any(component.replicas for component in given.components)
    spec = {"replicas": 1 if running else 0, "template": template}
    return new_object("grove.io/v1alpha1", "PodCliqueSet", _metadata(given, namespace), spec)


def origins(given: Deployment) -> Origins:
    """What the cliques and scaling groups of a deployment's set are made of."""
    cliques: list[Origin] = []
    groups: list[Origin] = []
    for component in _described(given):
        own = Origin(component, of_component(component))
        if component.scales_as_group:
            groups.append(own)
            cliques.extend(Origin(component, override) for _, _, override in _roles(component))
        else:
            cliques.append(own)
    return Origins(tuple(cliques), tuple(groups))


def _described(given: Deployment) -> list[Component]:
    """The components that a set has cliques for.

    One that is scaled to nothing has none; but a deployment of nothing else still has cliques, of
    which there is no replica.
    """
    return [component for component in given.components if component.replicas] or list(given.components)


def _roles(component: Component) -> list[tuple[str, int, Place | None]]:
    """The cliques of a scaling group: their names, their pods, and where each is written over."""
    if component.nodes is None:
        return [(component.key, 1, None)]
    leader, workers = of_roles(component)
    return [
        (f"{component.key}-{_LEADER}", 1, leader),
        (f"{component.key}-{_WORKERS}", component.nodes - 1, workers),
    ]


def _metadata(given: Deployment, namespace: str) -> dict[str, Any]:
    labels = {**given.labels, DEPLOYMENT: given.metadata.name}
    found: dict[str, Any] = {"name": set_name(given), "namespace": namespace, "labels": labels}
    if given.annotations:
        found["annotations"] = dict(given.annotations)
    owner = (f"nvidia.com/{given.version}", "DynamoGraphDeployment", given.metadata.name)
    return {**found, **owner_references(*owner, given.metadata.uid)}


def _clique(given: Deployment, component: Component, name: str, replicas: int, least: int) -> dict[str, Any]:
    scheduler = {"schedulerName": SCHEDULER}
    clique: dict[str, Any] = {
        "name": name,
        "labels": {
            **component.labels,
            COMPONENT: component.name,
            DEPLOYMENT: given.metadata.name,
            QUEUE: given.metadata.annotations.get(KAI_QUEUE, DEFAULT_QUEUE),
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


def _write_over(made: dict[str, Any], place: Place | None) -> None:
    written = place.written() if place is not None else None
    if written is not None:
        made["topologyConstraint"] = written


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
