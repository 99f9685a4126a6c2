"""Quantities of a manifest as whole units, and what a pod asks for in all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from closeknit.apis.core_v1 import Container, PodSpec, ResourceRequirements
from closeknit.apis.wire import Quantity
from closeknit.hub import quantities
from closeknit.hub.paths import Path
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.quantities import LARGEST, Rounding
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core as sentences

# The nodes of a cluster are much alike, so most quantities have been read before.
_amount = lru_cache(maxsize=4096, typed=True)(quantities.amount)


@lru_cache(maxsize=4096)
def _resources(given: tuple[tuple[str, Quantity], ...], rounding: Rounding) -> Resources | None:
    """The same value for all who list the same; None where something cannot be read."""
    try:
        return Resources({name: _amount(name, quantity, rounding) for name, quantity in given})
    except InvalidError:
        return None


def resources(
    given: Mapping[str, Quantity], path: Path, rounding: Rounding, found: list[Problem]
) -> Resources:
    """Read quantities by resource name; what cannot be read is added to ``found`` and counts as zero."""
    known = _resources(tuple(given.items()), rounding)
    if known is not None:
        return known
    amounts: dict[str, int] = {}
    for name, quantity in given.items():
        try:
            amounts[name] = _amount(name, quantity, rounding)
        except InvalidError as error:
            found.extend(problem.under(*path, name) for problem in error.problems)
    return Resources(amounts)


def pod_resources(spec: PodSpec, found: list[Problem]) -> Resources:
    """What Kubernetes reserves for a pod.

    Containers run side by side, and so do init containers that are restarted
    for ever (sidecars), from their turn on; other init containers run one after the other
    before the rest. The pod needs the most that is ever in use at once. Requests of
    the pod as a whole replace that sum where they are given, and the overhead
    of its runtime comes on top.
    """
    running = Resources()
    for i, container in enumerate(spec.containers):
        running += _requested(container, ("spec", "containers", i), found)
    sidecars, starting = Resources(), Resources()
    for i, container in enumerate(spec.init_containers):
        asked = _requested(container, ("spec", "initContainers", i), found)
        if container.restart_policy == "Always":
            running += asked
            sidecars += asked
            starting = _most(starting, sidecars)
        else:
            starting = _most(starting, sidecars + asked)
    in_all = _as_a_whole(spec.resources, _most(running, starting), found)
    in_all += resources(spec.overhead, ("spec", "overhead"), Rounding.UP, found)
    for name, units in in_all.items():
        if units > LARGEST:
            largest = LARGEST // quantities.units(name)
            found.append(sentences.POD_TOO_LARGE.at(("spec", "containers"), resource=name, most=largest))
    return in_all


def _requested(container: Container, path: Path, found: list[Problem]) -> Resources:
    """What one container asks for; its limit stands in for a request that is not given."""
    return _with_limits(container.resources, path, found, lambda asked, limits: {**limits, **asked})


def _as_a_whole(given: ResourceRequirements, summed: Resources, found: list[Problem]) -> Resources:
    """Put what the pod as a whole asks for in place of the sum over its containers.

    A limit alone stands in only where no container asks for the resource.
    """
    whole = _with_limits(given, ("spec",), found, lambda asked, limits: {**limits, **summed, **asked})
    names = {*given.requests, *given.limits}
    return Resources({**summed, **{name: units for name, units in whole.items() if name in names}})


def _with_limits(
    given: ResourceRequirements,
    path: Path,
    found: list[Problem],
    combined: Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, int]],
) -> Resources:
    asked = resources(given.requests, (*path, "resources", "requests"), Rounding.UP, found)
    limits = resources(given.limits, (*path, "resources", "limits"), Rounding.UP, found)
    # A request of zero is a request: the limit does not stand in for it.
    zeros = {name: 0 for name in given.requests if name not in asked}
    return Resources(combined({**asked, **zeros}, limits))


def _most(first: Resources, second: Resources) -> Resources:
    names: Iterable[str] = {*first, *second}
    return Resources({name: max(first.get(name, 0), second.get(name, 0)) for name in names})
