"""The rules for a DynamoGraphDeployment that need no topology."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.dialects.dynamo import overrides
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.grove.names import own_name_problems
from closeknit.dialects.grove.topologies import DOMAINS
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem, Range
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.sentences import grove

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
    if (count := len(given.components)) > MOST_COMPONENTS:
        listed = ("spec", given.listed)
        yield sentences.TOO_MANY_COMPONENTS.at(listed, count=count, listed=given.listed, most=MOST_COMPONENTS)
    seen: dict[str, Component] = {}
    for component in given.components:
        yield from _component_problems(component)
        if component.shared and not lenient:
            yield sentences.SHARED_GPUS.at(component.shared)
        first = seen.setdefault(component.key, component)
        if first is not component:
            path = (*component.path, "name")
            yield sentences.COMPONENT_NAME_TAKEN.at(path, name=component.name, first=Field(first.path))
    yield from _constraint_problems(given)
    for place in overrides.places(given):
        yield from overrides.problems(place, given, lenient=lenient)


def _component_problems(given: Component) -> Iterator[Problem]:
    if not _NAME.fullmatch(given.name) or len(given.name) > 63:
        yield sentences.NOT_A_COMPONENT_NAME.at((*given.path, "name"), name=given.name)
    if given.replicas < 0:
        yield grove.NEGATIVE.at((*given.path, "replicas"), replicas=given.replicas, least="zero")
    elif given.least is not None and not 1 <= given.least <= (given.replicas or given.least):
        yield grove.MINIMUM_OUT_OF_RANGE.at(
            (*given.path, "minAvailable"),
            least=given.least,
            replicas=given.replicas,
            remedy=Range(1, max(given.replicas, 1)),
        )
    if given.nodes is not None and given.nodes < 2:
        yield sentences.NOT_SEVERAL_NODES.at((*given.path, "multinode", "nodeCount"), nodes=given.nodes)


def _constraint_problems(given: Deployment) -> Iterator[Problem]:
    path: Path = ("spec", "topologyConstraint")
    inside = [component for component in given.components if component.domain is not None]
    todays = bool(given.topology) or not given.may_leave_out_topology
    if inside and not given.constrained and todays:
        yield sentences.CONSTRAINT_MISSING.at(path)
    if given.constrained and not given.topology and todays:
        yield sentences.TOPOLOGY_MISSING.at((*path, given.topology_field))
    if given.constrained and not given.domain and not inside:
        yield sentences.NO_DOMAIN_ANYWHERE.at((*path, "packDomain"), listed=given.listed)
    named: list[tuple[Path, str]] = [((*path, "packDomain"), given.domain)] if given.domain else []
    for component in inside:
        here = (*component.path, "topologyConstraint", "packDomain")
        if component.domain:
            named.append((here, component.domain))
        else:
            yield sentences.NO_DOMAIN.at(here)
    for where, domain in named:
        if todays and (not _DOMAIN.fullmatch(domain) or len(domain) > 63):
            yield sentences.NOT_A_DOMAIN.at(where, domain=domain)
        elif not todays and domain not in DOMAINS:
            yield grove.NOT_A_TOPOLOGY_DOMAIN.at(where, domain=domain, remedy=OneOf(domain, DOMAINS))
