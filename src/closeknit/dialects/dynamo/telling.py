"""Problems of the PodCliqueSet that was made, in the words of the deployment that it was made of."""

from __future__ import annotations

import re
from typing import Any

from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.grove.constraints import MEANT
from closeknit.hub.problems import Problem

_CLIQUE = re.compile(r"spec\.template\.cliques\[([0-9]+)\]")
_GROUP = re.compile(r"spec\.template\.podCliqueScalingGroups\[([0-9]+)\]")
_NO_TOPOLOGY = re.compile(r'There is no ClusterTopologyBinding "[^"]*"\.')
_CONTAINER = re.compile(r"\.extraPodSpec\.containers\[([0-9]+)\]")


def told(problems: list[Problem], given: Deployment, made: dict[str, Any]) -> list[Problem]:
    """The problems, each once, with the paths that the deployment's author knows."""
    template = made["spec"]["template"]
    by_key = {component.key: component for component in given.components}
    cliques = [_component(clique["name"], by_key) for clique in template["cliques"]]
    groups = [by_key[group["name"]] for group in template.get("podCliqueScalingGroups", [])]

    def words(text: str) -> str:
        for i, component in enumerate(cliques):
            text = text.replace(f"spec.template.cliques[{i}].spec.podSpec", component.pod_path)
        text = _CONTAINER.sub(_container, text)
        if not given.topology:
            text = _NO_TOPOLOGY.sub(lambda found: found[0] + MEANT, text)
        text = _CLIQUE.sub(lambda found: cliques[int(found[1])].path, text)
        text = _GROUP.sub(lambda found: groups[int(found[1])].path, text)
        text = text.replace("spec.template.", "spec.").replace("cliqueNames[0]", "name")
        text = text.replace("cliqueNames[1]", "name").replace(".pack.required", ".packDomain")
        # A component's constraint names no topology of its own.
        text = re.sub(r"(?<!^spec)\.topologyConstraint\.topologyName", ".topologyConstraint", text)
        return text.replace("topologyName", given.topology_field)

    found = (Problem(words(problem.path), words(problem.message)) for problem in problems)
    return list(dict.fromkeys(found))


def _container(found: re.Match[str]) -> str:
    """The first container of a v1alpha1 service is written apart from the others."""
    number = int(found[1])
    return f".extraPodSpec.containers[{number - 1}]" if number else ".extraPodSpec.mainContainer"


def _component(clique: str, by_key: dict[str, Component]) -> Component:
    return by_key[clique] if clique in by_key else by_key[clique.rpartition("-")[0]]
