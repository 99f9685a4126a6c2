"""Problems of the PodCliqueSet that was made, in the words of the deployment that it was made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from closeknit.dialects.dynamo.deployments import Deployment
from closeknit.dialects.dynamo.overrides import Place, of_deployment, places
from closeknit.dialects.dynamo.sets import Origin, origins
from closeknit.hub.problems import Problem, as_told

TOO_MANY = "spec.replicas"
MEANT = " It is meant where no topology is named."
_PATH = re.compile(r"spec\.template((?:\.\w+|\[[0-9]+\])+)", re.ASCII)
_PART = re.compile(r"\.(cliques|podCliqueScalingGroups)\[([0-9]+)\](.*)")
_NO_TOPOLOGY = re.compile(r'There is no ClusterTopologyBinding "[^"]*"\.')
_CONTAINER = re.compile(r"\.extraPodSpec\.containers\[([0-9]+)\]")
_CONSTRAINT, _POD = ".topologyConstraint", ".spec.podSpec"


def told(problems: Sequence[Problem], given: Deployment) -> list[Problem]:
    """The problems, each once, with the paths that the deployment's author knows."""
    made_of = origins(given)
    overridden = any(place.given is not None for place in places(given))

    def where(found: re.Match[str]) -> str:
        part = _PART.fullmatch(found[1])
        if part is not None:
            listed = made_of.cliques if part[1] == "cliques" else made_of.groups
            return _of_part(listed[int(part[2])], part[3])
        if found[1].startswith(_CONSTRAINT):
            return _of_set(given, found[1])
        return f"spec{found[1]}"

    def words(text: str) -> str:
        text = _PATH.sub(where, text)
        if not given.topology and not overridden:
            # The set names the topology that is meant, so that Grove does not see that nobody else did.
            text = _NO_TOPOLOGY.sub(lambda found: found[0] + MEANT, text)
        return text

    found = (
        _too_many(problem, given)
        if problem.where == TOO_MANY
        else as_told(words(problem.where), words(problem.message))
        for problem in problems
    )
    return list(dict.fromkeys(found))


def _too_many(problem: Problem, given: Deployment) -> Problem:
    """Too many pods, told at the component that has most of them: a deployment has no replicas itself."""
    largest = max(given.components, key=lambda component: component.replicas * (component.nodes or 1))
    message = problem.message.replace("PodCliqueSet", "DynamoGraphDeployment")
    return as_told(f"{largest.path}.replicas", message)


def _of_part(origin: Origin, inner: str) -> str:
    """A path within a clique or a scaling group."""
    component, path = origin.component, origin.component.path
    if inner.startswith(_POD):
        return _CONTAINER.sub(_container, component.pod_path + inner.removeprefix(_POD))
    if inner.startswith(_CONSTRAINT):
        if (written := _written_over(origin.override, inner)) is not None:
            return written
        # A component's constraint names no topology of its own.
        return path + _plain(inner).removesuffix(".topologyName")
    return path + re.sub(r"^\.cliqueNames\[[0-9]+\]", ".name", inner)


def _of_set(given: Deployment, inner: str) -> str:
    """A path within the constraint of the set."""
    if (written := _written_over(of_deployment(given), inner)) is not None:
        return written
    return f"spec{_plain(inner)}".replace("topologyName", given.topology_field)


def _written_over(place: Place | None, inner: str) -> str | None:
    """The path within an override; None where there is no override."""
    if place is None or place.given is None:
        return None
    return place.constraint_path + inner.removeprefix(_CONSTRAINT)


def _plain(inner: str) -> str:
    return inner.replace(".pack.required", ".packDomain")


def _container(found: re.Match[str]) -> str:
    """The first container of a v1alpha1 service is written apart from the others."""
    number = int(found[1])
    return f".extraPodSpec.containers[{number - 1}]" if number else ".extraPodSpec.mainContainer"
