"""The rules for a DynamoGraphDeployment that need no topology."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.dialects.dynamo import overrides
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.grove.names import own_name_problems
from closeknit.dialects.grove.topologies import DOMAINS
from closeknit.hub.problems import Problem, as_told, between, shown, suggestion

MOST_COMPONENTS = 25
_LONGEST = 63
"""How long a deployment's name may be: as long as a label, by which all that is made of it is known."""
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.ASCII)


def rules(given: Deployment, *, lenient: bool = False) -> Iterator[Problem]:
    """Everything that Dynamo would refuse without looking at the cluster, and what nobody here could count.

    The latter is passed over where all is lenient.
    """
    yield from own_name_problems(given.metadata.name, _LONGEST)
    if len(given.components) > MOST_COMPONENTS:
        message = f"There are {len(given.components)} {given.listed}. At most {MOST_COMPONENTS} are allowed."
        yield as_told(f"spec.{given.listed}", message)
    seen: dict[str, Component] = {}
    for component in given.components:
        yield from _component_problems(component)
        if component.shared and not lenient:
            message = "GPUs that several pods share are not taken into account when pods are placed."
            yield as_told(
                component.shared, f"{message} Share them within a pod, or leave gpuMemoryService out."
            )
        first = seen.setdefault(component.key, component)
        if first is not component:
            message = f"{shown(component.name)} is already the name of {first.path}, capitals aside."
            yield as_told(f"{component.path}.name", f"{message} Give each its own.")
    yield from _constraint_problems(given)
    for place in overrides.places(given):
        yield from overrides.problems(place, given, lenient=lenient)


def _component_problems(given: Component) -> Iterator[Problem]:
    if not _NAME.fullmatch(given.name) or len(given.name) > 63:
        yield as_told(
            f"{given.path}.name",
            f"{shown(given.name)} is not a valid name. Allowed are at most 63 letters, digits and dashes,"
            " with a letter or digit at both ends.",
        )
    if given.replicas < 0:
        yield as_told(f"{given.path}.replicas", f"{given.replicas} is negative. Write zero or more.")
    elif given.least is not None and not 1 <= given.least <= (given.replicas or given.least):
        message = f"{given.least} of {given.replicas} replicas cannot be the least."
        yield as_told(f"{given.path}.minAvailable", f"{message} {between(1, max(given.replicas, 1))}")
    if given.nodes is not None and given.nodes < 2:
        message = f"{given.nodes} is not several nodes. Write two or more, or leave multinode out."
        yield as_told(f"{given.path}.multinode.nodeCount", message)


def _constraint_problems(given: Deployment) -> Iterator[Problem]:
    path = "spec.topologyConstraint"
    inside = [component for component in given.components if component.domain is not None]
    todays = bool(given.topology) or not given.may_leave_out_topology
    if inside and not given.constrained and todays:
        message = (
            "A component has a constraint, so the topology must be named here. Write clusterTopologyName."
        )
        yield as_told(path, message)
    if given.constrained and not given.topology and todays:
        message = (
            "The topology whose domains are meant is missing. Write the name of a ClusterTopologyBinding."
        )
        yield as_told(f"{path}.{given.topology_field}", message)
    if given.constrained and not given.domain and not inside:
        message = f"No domain is named, neither here nor in any of the {given.listed}."
        yield as_told(f"{path}.packDomain", f"{message} Name one, or leave the constraint out.")
    named = [(f"{path}.packDomain", given.domain)] if given.domain else []
    for component in inside:
        here = f"{component.path}.topologyConstraint.packDomain"
        if component.domain:
            named.append((here, component.domain))
        else:
            yield as_told(here, "No domain is named. Name one, or leave the constraint out.")
    for where, domain in named:
        if todays and (not _DOMAIN.fullmatch(domain) or len(domain) > 63):
            message = (
                f"{shown(domain)} is not a domain. Write lower-case letters, digits and dashes, such as rack."
            )
            yield as_told(where, message)
        elif not todays and domain not in DOMAINS:
            message = f"{shown(domain)} is not a topology domain. {suggestion(domain, DOMAINS)}"
            yield as_told(where, message)
