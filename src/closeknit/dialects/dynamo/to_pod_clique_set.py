"""The PodCliqueSet of a DynamoGraphDeployment, and the problems of that set as problems of the deployment.

A component becomes a clique, with its constraint: all its pods go to one domain. One that runs on
several nodes becomes a scaling group of a leader and workers; the constraint stands on
the group and nowhere inside, so that each of its replicas goes to one domain. So does one that is forced
to be a scaling group, of single pods. A component without a constraint gets none, because what
the set says holds for it anyway.

The path of a problem is moved from the field of the set to the field that it was made of. ``terms_of`` gives
Grove's rules the messages that speak of a deployment instead of a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from closeknit.apis.dynamo_keys import COMPONENT, DEPLOYMENT, KAI_QUEUE
from closeknit.apis.kai_keys import QUEUE, SCHEDULER
from closeknit.dialects.core.kinds import new_object, owner_references
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.dynamo.rules import Place, is_overridden, of_component, of_deployment, of_roles
from closeknit.dialects.grove.names import LONGEST
from closeknit.dialects.grove.terms import Loss, Terms
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path, rebased, starts_with
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import dynamo, grove

DEFAULT_QUEUE = "dynamo"
_LEADER, _WORKERS = "ldr", "wkr"
_SHORTEST = 8

CONDITION = "TopologyConstraintsEnforced"
"""The condition of a deployment that says what has become of its topology."""
REASONS: Mapping[Loss, str] = {
    Loss.DOMAIN: "TopologyLevelsUnavailable",
    Loss.TOPOLOGY: "TopologyDefinitionNotFound",
    Loss.NAME: "TopologyDefinitionNotFound",
    Loss.SWITCH: "TopologyLevelsUnavailable",
}
"""The reasons that Dynamo gives where Grove gives these."""
TERMS: Final = Terms(
    too_many_pods=dynamo.TOO_MANY_PODS.at,
    spread_constraints=dynamo.SPREAD_CONSTRAINTS,
    node_named=dynamo.NODE_NAMED,
    schedulers_differ=dynamo.SCHEDULERS_DIFFER,
    second_topology=dynamo.SECOND_TOPOLOGY,
    second_topology_meant=dynamo.SECOND_TOPOLOGY_MEANT,
    no_binding=grove.NO_BINDING,
    condition=CONDITION,
    reasons=REASONS,
)
"""The terms in which Grove's rules report on the set of a deployment."""

_TEMPLATE: Path = ("spec", "template")

_Origin: TypeAlias = tuple[Component, Place | None]
"""What a clique or a scaling group was made of, and where its constraint is written over, if anywhere."""


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
        close = _constraint(component.domain, topology if not given.domain else "")
        own = _cliques(component)
        for name, pods, least, place in own:
            cliques.append(_clique(given, component, name, pods, least))
            cliques[-1].update({} if component.scales_as_group else close)
            _write_over(cliques[-1], place)
        if component.scales_as_group:
            names = [name for name, *_ in own]
            replicas, least = _replicas(component)
            counts = {"replicas": replicas, "minAvailable": least}
            groups.append({"name": component.key, "cliqueNames": names, **counts, **close})
            _write_over(groups[-1], of_component(component))
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


def origins(given: Deployment) -> dict[str, list[_Origin]]:
    """What the cliques and scaling groups of a deployment's set are made of, in the order of its template."""
    cliques: list[_Origin] = []
    groups: list[_Origin] = []
    for component in _described(given):
        cliques.extend((component, place) for *_, place in _cliques(component))
        if component.scales_as_group:
            groups.append((component, of_component(component)))
    return {"cliques": cliques, "podCliqueScalingGroups": groups}


def _described(given: Deployment) -> list[Component]:
    """The components that a set has cliques for.

    One that is scaled to nothing has none; but a deployment of nothing else still has cliques, of
    which there is no replica.
    """
    return [component for component in given.components if component.replicas] or list(given.components)


def _replicas(component: Component) -> tuple[int, int]:
    """How many there are, and how many of them must run at once."""
    replicas = max(component.replicas, 1)
    return replicas, min(component.least or 1, replicas)


def _cliques(component: Component) -> list[tuple[str, int, int, Place | None]]:
    """The cliques of a component: name, pods, how many of these must run, and where each is written over."""
    if not component.scales_as_group:
        return [(component.key, *_replicas(component), of_component(component))]
    if component.nodes is None:
        return [(component.key, 1, 1, None)]
    (leader, workers), others = of_roles(component), component.nodes - 1
    return [
        (f"{component.key}-{_LEADER}", 1, 1, leader),
        (f"{component.key}-{_WORKERS}", others, others, workers),
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
    return own + max(len(name) for name, *_ in _cliques(component))


def checksum(name: str) -> int:
    """The lower half of a 32-bit FNV-1a checksum."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value & 0xFFFF


def terms_of(deployment: Deployment) -> Terms:
    """The terms in which Grove's rules report on the set of this deployment."""
    if deployment.topology or is_overridden(deployment):
        return TERMS
    # The set names the default topology, so Grove's rules do not see that the deployment names none.
    return replace(TERMS, no_binding=grove.NO_BINDING_MEANT)


def of_deployment_fields(problems: Iterable[Problem], given: Deployment) -> tuple[Problem, ...]:
    """The problems of a deployment's set, each once, at the fields of the deployment."""
    sources = origins(given)
    return tuple(
        dict.fromkeys(problem.moved(lambda path: field_of(path, given, sources)) for problem in problems)
    )


def field_of(path: Path, given: Deployment, made_of: Mapping[str, Sequence[_Origin]]) -> Path:
    """The field of a deployment that a field of its PodCliqueSet was made of."""
    if path == ("spec", "replicas"):
        # A deployment has no replicas itself, so the component with most pods stands for it.
        largest = max(given.components, key=lambda component: component.replicas * (component.nodes or 1))
        return (*largest.path, "replicas")
    if not starts_with(path, _TEMPLATE):
        return path
    match path[len(_TEMPLATE) :]:
        case ("cliques" | "podCliqueScalingGroups" as parts, int(index), *inner):
            return _of_part(made_of[parts][index], tuple(inner))
        case ("topologyConstraint", *inner):
            field = _of_constraint(("spec",), of_deployment(given), tuple(inner))
            named = field[-1] == "topologyName" and field[:2] == ("spec", "topologyConstraint")
            return (*field[:-1], given.topology_field) if named else field
        case _:
            return ("spec", *path[len(_TEMPLATE) :])


def _of_part(origin: _Origin, inner: Path) -> Path:
    """A field of a clique or a scaling group."""
    component, override = origin
    match inner:
        case ("spec", "podSpec", *rest):
            return _of_pod(component.pod_path, tuple(rest))
        case ("topologyConstraint", *rest):
            field = _of_constraint(component.path, override, tuple(rest))
            # A component's constraint names no topology of its own.
            own = field[:-1] == (*component.path, "topologyConstraint") and field[-1] == "topologyName"
            return field[:-1] if own else field
        case ("cliqueNames", int(_), *rest):
            return (*component.path, "name", *rest)
        case ("spec", *rest):
            return (*component.path, *rest)
        case _:
            return (*component.path, *inner)


def _of_constraint(path: Path, override: Place | None, inner: Path) -> Path:
    """A field of a constraint: where it is written over, or else in plain words."""
    if override is not None and override.given is not None:
        return (*override.constraint_path, *inner)
    return (*path, "topologyConstraint", *rebased(inner, ("pack", "required"), ("packDomain",)))


def _of_pod(path: Path, inner: Path) -> Path:
    """A field of a pod; the first container of a v1alpha1 service is written apart from the others."""
    if path[-1] == "extraPodSpec" and starts_with(inner, ("containers",)) and len(inner) > 1:
        number = inner[1]
        assert isinstance(number, int)
        apart: Path = ("containers", number - 1) if number else ("mainContainer",)
        return (*path, *apart, *inner[2:])
    return (*path, *inner)
