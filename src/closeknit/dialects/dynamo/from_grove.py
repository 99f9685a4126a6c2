"""Tell a problem of the PodCliqueSet that is made of a deployment as a problem of the deployment.

The path is moved from the field of the set to the field that it was made of. Where Grove's sentence speaks of
its own objects, the code is exchanged for one of Dynamo's with the same facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from closeknit.dialects.dynamo.deployments import Deployment
from closeknit.dialects.dynamo.rules import Place, is_overridden, of_deployment
from closeknit.dialects.dynamo.to_pod_clique_set import Origin, Origins, origins
from closeknit.dialects.grove import constraints as grove_constraints
from closeknit.dialects.grove.constraints import Loss
from closeknit.hub.paths import Path, rebased, starts_with
from closeknit.hub.problems import Code, Problem
from closeknit.hub.sentences import dynamo, grove

CODES: Mapping[Code, Code] = {
    grove.TOO_MANY_PODS: dynamo.TOO_MANY_PODS,
    grove.SPREAD_CONSTRAINTS: dynamo.SPREAD_CONSTRAINTS,
    grove.NODE_NAMED: dynamo.NODE_NAMED,
    grove.SCHEDULERS_DIFFER: dynamo.SCHEDULERS_DIFFER,
    grove.SECOND_TOPOLOGY: dynamo.SECOND_TOPOLOGY,
    grove.SECOND_TOPOLOGY_MEANT: dynamo.SECOND_TOPOLOGY_MEANT,
}
"""What Dynamo says instead of Grove."""

CONDITION = "TopologyConstraintsEnforced"
"""The condition of a deployment that says what has become of its topology."""
REASONS: Mapping[str, str] = {
    Loss.DOMAIN: "TopologyLevelsUnavailable",
    Loss.TOPOLOGY: "TopologyDefinitionNotFound",
    Loss.NAME: "TopologyDefinitionNotFound",
    Loss.SWITCH: "TopologyLevelsUnavailable",
}
"""The reasons that Dynamo gives where Grove gives these."""
_CONDITIONS: Mapping[Any, str] = {grove_constraints.CONDITION: CONDITION, **REASONS}

_TEMPLATE: Path = ("spec", "template")


def of_deployment_fields(problems: Iterable[Problem], given: Deployment) -> tuple[Problem, ...]:
    """The problems of a deployment's set, each once, as problems of the deployment."""
    made_of = origins(given)
    codes = dict(CODES)
    if not given.topology and not is_overridden(given):
        # The set names the topology that is meant, so Grove does not see that nobody else did.
        codes[grove.NO_BINDING] = grove.NO_BINDING_MEANT

    def of_deployment_field(problem: Problem) -> Problem:
        moved = problem.moved(lambda path: field_of(path, given, made_of))
        facts = moved.facts
        if "condition" in problem.code.fields:
            facts = tuple((name, _CONDITIONS.get(fact, fact)) for name, fact in facts)
        return replace(moved, code=codes.get(problem.code, problem.code), facts=facts)

    return tuple(dict.fromkeys(map(of_deployment_field, problems)))


def field_of(path: Path, given: Deployment, made_of: Origins) -> Path:
    """The field of a deployment that a field of its PodCliqueSet was made of."""
    if path == ("spec", "replicas"):
        # A deployment has no replicas itself, so the component with most pods stands for it.
        largest = max(given.components, key=lambda component: component.replicas * (component.nodes or 1))
        return (*largest.path, "replicas")
    if not starts_with(path, _TEMPLATE):
        return path
    match path[len(_TEMPLATE) :]:
        case ("cliques", int(index), *inner):
            return _of_part(made_of.cliques[index], tuple(inner))
        case ("podCliqueScalingGroups", int(index), *inner):
            return _of_part(made_of.groups[index], tuple(inner))
        case ("topologyConstraint", *inner):
            field = _of_constraint(("spec",), of_deployment(given), tuple(inner))
            named = field[-1] == "topologyName" and field[:2] == ("spec", "topologyConstraint")
            return (*field[:-1], given.topology_field) if named else field
        case _:
            return ("spec", *path[len(_TEMPLATE) :])


def _of_part(origin: Origin, inner: Path) -> Path:
    """A field of a clique or a scaling group."""
    component = origin.component
    match inner:
        case ("spec", "podSpec", *rest):
            return _of_pod(component.pod_path, tuple(rest))
        case ("topologyConstraint", *rest):
            field = _of_constraint(component.path, origin.override, tuple(rest))
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
