"""The rules for a DynamoGraphDeployment that need no topology, those of ``providerOverride`` among them.

An override is a constraint in Grove's own words, where a deployment has none for it: it holds fields of the
object that is made. Only constraints can be written over, and not beside those in plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from closeknit.apis.grove_io_v1alpha1 import TopologyConstraint
from closeknit.apis.nvidia_com_v1alpha1 import ProviderOverride
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.grove.names import own_name_problems
from closeknit.dialects.grove.topologies import DOMAINS
from closeknit.dialects.wire.decoding import decode
from closeknit.hub.copying import replace
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem, Range
from closeknit.hub.sentences import dynamo as sentences
from closeknit.hub.sentences import grove

MOST_COMPONENTS = 25
_LONGEST = 63
"""How long a deployment's name may be: as long as a label, by which all that is made of it is known."""
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.ASCII)
_GROVE = "grove.io/v1alpha1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an override may stand."""

    path: Path
    given: ProviderOverride | None
    steps: tuple[str, ...]
    """The keys that lead to the constraint within its value."""

    @property
    def constraint_path(self) -> Path:
        """Where the constraint itself stands."""
        return (*self.path, "value", *self.steps)

    def written(self) -> Any:
        """The constraint as it was written; None where there is none."""
        inner: Any = None if self.given is None else self.given.value
        for step in self.steps:
            inner = inner.get(step) if isinstance(inner, dict) else None
        return inner

    def constraint(self) -> TopologyConstraint | None:
        """The constraint; None where there is none that can be read."""
        written = self.written()
        return None if written is None else decode(TopologyConstraint, written, lenient=True)[0]


def of_deployment(given: Deployment) -> Place:
    """The place of what is written over in the set."""
    return Place(("spec", "providerOverride"), given.override, ("spec", "template", "topologyConstraint"))


def of_component(given: Component) -> Place:
    """The place of what is written over in a component's clique or scaling group."""
    return Place((*given.path, "providerOverride"), given.override, ("topologyConstraint",))


def of_roles(given: Component) -> tuple[Place, Place]:
    """The places of what is written over in the cliques of a leader and its workers."""
    leader, workers = (
        Place((*given.path, "multinode", role, "providerOverride"), override, ("topologyConstraint",))
        for role, override in zip(("leader", "worker"), given.roles, strict=True)
    )
    return leader, workers


def places(given: Deployment) -> Iterator[Place]:
    """All places, whether there is an override or not."""
    yield of_deployment(given)
    for component in given.components:
        yield of_component(component)
        yield from of_roles(component)


def is_overridden(given: Deployment) -> bool:
    """Whether there is an override anywhere."""
    return any(place.given is not None for place in places(given))


def _override_problems(place: Place, given: Deployment, *, lenient: bool = False) -> Iterator[Problem]:
    """Everything that is wrong with an override, whatever the topology."""
    if place.given is None:
        return
    if place.given.api_version != _GROVE:
        path = (*place.path, "apiVersion")
        yield sentences.OVERRIDE_VERSION.at(path, found=place.given.api_version, allowed=_GROVE)
    value = (*place.path, "value")
    if given.is_constrained:
        yield sentences.OVERRIDE_BESIDE_CONSTRAINTS.at(value)
    inner: Any = place.given.value
    for step in place.steps:
        if not isinstance(inner, dict) or set(inner) != {step}:
            yield sentences.OVERRIDE_TOO_WIDE.at(value, allowed=".".join(place.steps))
            break
        inner = inner[step]
    if (written := place.written()) is not None:
        _, wrong = decode(TopologyConstraint, written, lenient=lenient)
        yield from (each.under(*place.constraint_path) for each in wrong)


def without_wrong_ones(given: Deployment, *, lenient: bool) -> Deployment:
    """The same deployment without the overrides that have problems."""

    def sound(place: Place) -> ProviderOverride | None:
        return None if any(_override_problems(place, given, lenient=lenient)) else place.given

    components = []
    for component in given.components:
        leader, workers = (sound(place) for place in of_roles(component))
        components.append(
            replace(component, override=sound(of_component(component)), roles=(leader, workers))
        )
    return replace(given, components=tuple(components), override=sound(of_deployment(given)))


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
        if component.shared:
            yield sentences.SHARED_GPUS.at(component.shared).as_note()
        first = seen.setdefault(component.key, component)
        if first is not component:
            path = (*component.path, "name")
            yield sentences.COMPONENT_NAME_TAKEN.at(path, name=component.name, first=Field(first.path))
    yield from _constraint_problems(given)
    for place in places(given):
        yield from _override_problems(place, given, lenient=lenient)


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
