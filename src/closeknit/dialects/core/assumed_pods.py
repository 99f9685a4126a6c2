"""What pods are assumed to ask for where none are given: what an annotation lists, or else one GPU.

The annotation lists it once for all pods, or for each leaf, which is a group that has pods: a subgroup of a
PodGroup, or a pod group of a PodGang.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from closeknit.dialects.core.pods import Shape
from closeknit.dialects.core.resources import resources
from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub.many_problems import first_of
from closeknit.hub.paths import Path
from closeknit.hub.problems import Choices, Problem
from closeknit.hub.quantities import Rounding, written
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core as sentences
from closeknit.hub.sentences import kai as counting
from closeknit.text import json as json_text

RESOURCES_ANNOTATION = "closeknit.dev/pod-resources"
ONE_GPU = Shape(Resources({"nvidia.com/gpu": 1}))
"""What an assumed pod asks for without the annotation."""
_PATH: Path = ("metadata", "annotations", RESOURCES_ANNOTATION)


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the pods of each leaf ask for of which none are given."""

    everywhere: Shape = ONE_GPU
    by_leaf: Mapping[str, Shape] = field(default_factory=dict)
    """Where it is something else than everywhere."""

    def of(self, leaf: str) -> Shape:
        """What each pod of this leaf asks for."""
        return self.by_leaf.get(leaf, self.everywhere)


@dataclass(frozen=True, slots=True)
class MissingPods:
    """Pods of one leaf that must run at once and do not exist."""

    count: int
    problem: Problem
    """What states it."""


def assumed_pods(
    annotations: Mapping[str, str], leaves: Callable[[], Iterable[str]], found: list[Problem]
) -> Assumed:
    """What each pod of a workload with these annotations and leaves asks for; problems go to ``found``."""
    given = annotations.get(RESOURCES_ANNOTATION)
    if given is None:
        return Assumed()
    documents = json_text.load(given)
    if documents is None or len(documents) != 1 or not isinstance(documents[0][0], dict):
        found.append(sentences.NOT_JSON.at(_PATH, value=given))
        return Assumed()
    content: dict[str, Any] = documents[0][0]
    if not any(isinstance(value, dict) for value in content.values()):
        return Assumed(_shape(content, _PATH, found))
    known = Choices(leaves())
    shapes: dict[str, Shape] = {}

    def problems() -> Iterator[Problem]:
        for name, value in content.items():
            path = (*_PATH, name)
            if not isinstance(value, dict):
                yield sentences.NOT_A_LEAF.at(path, found=worded(value))
                continue
            wrong: list[Problem] = []
            shapes[name] = _shape(value, path, wrong)
            yield from wrong
            if name not in known:
                yield sentences.UNKNOWN_LEAF.at(path, leaf=name, remedy=known.instead_of(name))

    found.extend(first_of(problems()))
    return Assumed(by_leaf=shapes)


def pods_not_there(path: Path, minimum: int, there: int) -> Problem:
    """A note on a leaf of an object in a cluster, where nothing is assumed."""
    given = "1 is there" if there == 1 else f"{there or 'none'} are there"
    return sentences.PODS_NOT_THERE.at(path, needed=_pods(minimum), given=given)


def too_few_given(path: Path, minimum: int, there: int) -> Problem:
    """What a leaf lacks that is given in files with some of its pods."""
    given, missing = "1 is given" if there == 1 else f"{there} are given", minimum - there
    return counting.TOO_FEW_PODS.at(path, needed=_pods(minimum), given=given, missing=missing)


def pods_missing(path: Path, minimum: int, there: int) -> Problem:
    """What a leaf lacks whose pods are ours to bind."""
    given, missing = "1 is there" if there == 1 else f"{there} are there", minimum - there
    return counting.PODS_MISSING.at(path, needed=_pods(minimum), given=given, missing=missing)


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def assuming(asked: Mapping[str, Resources]) -> dict[str, str]:
    """The annotation by which the pods of these leaves are read again; none where all ask for one GPU."""
    different = set(asked.values())
    if different <= {ONE_GPU.resources}:
        return {}
    content: Mapping[str, Any] = (
        _quantities(*different)
        if len(different) == 1
        else {leaf: _quantities(each) for leaf, each in asked.items()}
    )
    return {RESOURCES_ANNOTATION: json.dumps(content)}


@lru_cache(maxsize=256)
def _quantities(asked: Resources) -> Mapping[str, str]:
    return {name: written(name, units) for name, units in asked.items()}


def _shape(content: Mapping[str, Any], path: Path, found: list[Problem]) -> Shape:
    quantities: dict[str, Any] = {}
    for name, quantity in content.items():
        if type(quantity) in (str, int, float):
            quantities[name] = quantity
        else:
            found.append(sentences.QUANTITY_EXPECTED.at((*path, name), found=worded(quantity)))
    return Shape(resources(quantities, path, Rounding.UP, found))
