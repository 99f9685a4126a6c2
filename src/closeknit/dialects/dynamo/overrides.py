"""``providerOverride``: constraints in Grove's own words, where a deployment has none for them.

An override holds fields of the object that is made. Only constraints can be written over, and not beside
those in plain words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from closeknit.apis.grove_io_v1alpha1 import TopologyConstraint
from closeknit.apis.nvidia_com_v1alpha1 import ProviderOverride
from closeknit.dialects.dynamo.deployments import Component, Deployment
from closeknit.dialects.wire.decoding import decode
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import dynamo as sentences

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


def problems(place: Place, given: Deployment, *, lenient: bool = False) -> Iterator[Problem]:
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
        return None if any(problems(place, given, lenient=lenient)) else place.given

    components = []
    for component in given.components:
        leader, workers = (sound(place) for place in of_roles(component))
        components.append(
            replace(component, override=sound(of_component(component)), roles=(leader, workers))
        )
    return replace(given, components=tuple(components), override=sound(of_deployment(given)))
