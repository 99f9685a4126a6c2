"""Quantities of a manifest as whole units, and what a pod asks for in all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from closeknit.apis.core_v1 import PodSpec, ResourceRequirements
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
    running: dict[str, int] = {}
    for i, container in enumerate(spec.containers):
        _add(running, _requested(container.resources, ("spec", "containers", i), found))
    sidecars, starting = dict[str, int](), dict[str, int]()
    for i, container in enumerate(spec.init_containers):
        asked = _requested(container.resources, ("spec", "initContainers", i), found)
        if container.restart_policy == "Always":
            _add(running, asked)
            _add(sidecars, asked)
            starting = _most(starting, sidecars)
        else:
            starting = _most(starting, _add(dict(sidecars), asked))
    in_all = _as_a_whole(spec.resources, _most(running, starting) if starting else running, found)
    _add(in_all, _amounts(spec.overhead, ("spec", "overhead"), found))
    for name, units in sorted(in_all.items()):
        if units > LARGEST:
            largest = LARGEST // quantities.units(name)
            found.append(sentences.POD_TOO_LARGE.at(("spec", "containers"), resource=name, most=largest))
    return Resources(in_all)


def _requested(given: ResourceRequirements, path: Path, found: list[Problem]) -> dict[str, int]:
    """What one container asks for; its limit stands in for a request that is not given.

    A request of zero is a request: the limit does not stand in for it.
    """
    if not given.requests and not given.limits:
        return {}
    asked = _amounts(given.requests, (*path, "resources", "requests"), found)
    limits = _amounts(given.limits, (*path, "resources", "limits"), found)
    return {**limits, **dict.fromkeys(given.requests, 0), **asked}


def _as_a_whole(given: ResourceRequirements, summed: dict[str, int], found: list[Problem]) -> dict[str, int]:
    """Put what the pod as a whole asks for in place of the sum over its containers.

    A limit alone stands in only where no container asks for the resource, and zero for nothing.
    """
    whole = _requested(given, ("spec",), found)
    alone = {name for name in whole if name not in given.requests and summed.get(name)}
    return {**summed, **{name: units for name, units in whole.items() if units and name not in alone}}


def _amounts(given: Mapping[str, Quantity], path: Path, found: list[Problem]) -> dict[str, int]:
    """Quantities by resource name; what cannot be read is added to ``found``, and left out."""
    try:
        return {name: _amount(name, quantity) for name, quantity in given.items()}
    except InvalidError:
        return dict(resources(given, path, Rounding.UP, found))


def _add(amounts: dict[str, int], more: Mapping[str, int]) -> dict[str, int]:
    for name, units in more.items():
        amounts[name] = amounts.get(name, 0) + units
    return amounts


def _most(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}
