"""How close together the pods of a pod set must be: read from annotations and from a Workload's fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.wire import plain
from closeknit.dialects.kueue.slices import Layer, Spelling, read_layers
from closeknit.dialects.wire.decoding import is_slip
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.sentences import hub
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import Topology

LONGEST_LEVEL = 63
"""Of a level in a topology request; a Topology itself may have longer ones."""

FIELDS = {
    keys.REQUIRED: "required",
    keys.PREFERRED: "preferred",
    keys.UNCONSTRAINED: "unconstrained",
    keys.SLICE_LEVEL: "podSetSliceRequiredTopology",
    keys.SLICE_SIZE: "podSetSliceSize",
    keys.SLICE_LAYERS: "podsetSliceRequiredTopologyConstraints",
    keys.GROUP: "podSetGroupName",
}
"""The fields of a Workload's topology request, by the annotations that ask for the same."""

_LEVELS = (keys.REQUIRED, keys.PREFERRED, *keys.KEP_ANNOTATIONS)
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """What a pod set asks of the topology. Levels may still be unknown to it."""

    spelling: Spelling
    required: str | None = None
    preferred: str | None = None
    """``auto`` stands for the lowest level."""
    unconstrained: bool = False
    early: bool = False
    """Whether it is in the words of the early design, which speaks of each Job and not of the pod set."""
    layers: tuple[Layer, ...] = ()
    """Coarsest first."""
    group: str = ""
    """Pod sets of one name go to one domain together."""

    @property
    def names_levels(self) -> bool:
        """Whether it names any level."""
        return bool(self.required or self.preferred or self.layers)

    @property
    def explicit(self) -> bool:
        """Whether anything is asked for. If not, a queue with topologies only still places by them."""
        return self.names_levels or self.unconstrained

    def preferred_in(self, topology: Topology | None) -> str | None:
        """The preferred level, with ``auto`` resolved where there is a topology."""
        is_auto = self.early and self.preferred == keys.AUTO
        return topology.labels[-1] if is_auto and topology is not None else self.preferred

    def levels(self) -> Iterator[tuple[Path, str]]:
        """The levels that it requires and prefers, and where they stand; ``auto`` is none."""
        required, preferred = keys.KEP_ANNOTATIONS if self.early else (keys.REQUIRED, keys.PREFERRED)
        for key, level in ((required, self.required), (preferred, self.preferred)):
            if level and not (self.early and level == keys.AUTO):
                yield self.spelling.path(key), level


def from_annotations(
    annotations: Mapping[str, str], path: Path, count: int, found: list[Problem]
) -> TopologyRequest:
    """Read the annotations of a pod set of ``count`` pods; what is wrong is added to ``found``."""
    found.extend(_slips(annotations, path))
    return _read(annotations, Spelling(path), count, found)


def from_fields(
    given: wire.PodSetTopologyRequest, path: Path, count: int, found: list[Problem]
) -> TopologyRequest:
    """Read the topology request of a Workload's pod set; what is wrong is added to ``found``."""
    written = plain(given)
    present = {key: written[field] for key, field in FIELDS.items() if field in written}
    return _read(present, Spelling(path, FIELDS), count, found)


def _read(given: Mapping[str, Any], spelling: Spelling, count: int, found: list[Problem]) -> TopologyRequest:
    """The request, from texts in annotations or from the values of fields, by the key of each part."""
    unconstrained = _truth(given.get(keys.UNCONSTRAINED), spelling, found)
    places = (keys.REQUIRED, keys.PREFERRED, keys.UNCONSTRAINED, *keys.KEP_ANNOTATIONS)
    first, *others = [
        key for key in places if key in given and (key != keys.UNCONSTRAINED or unconstrained)
    ] or [""]
    found.extend(
        sentences.STANDS_AS_WELL.at(spelling.path(key), other=spelling.called(first)) for key in others
    )
    found.extend(_level_name_problems(given, spelling))
    layers = read_layers(given, spelling, count, found)
    found.extend(_group_problems(given, spelling, layers))
    early = any(key in given for key in keys.KEP_ANNOTATIONS)
    required, preferred = spelling.called(keys.REQUIRED), spelling.called(keys.PREFERRED)
    if early and layers:
        problem = sentences.SLICES_WITH_EARLY.at(layers[0].path, required=required, preferred=preferred)
        found.append(problem)
    return TopologyRequest(
        spelling=spelling,
        required=given.get(keys.REQUIRED) or given.get(keys.REQUIRE) or None,
        preferred=given.get(keys.PREFERRED) or given.get(keys.PREFER) or None,
        unconstrained=unconstrained,
        early=early,
        layers=layers,
        group=given.get(keys.GROUP, ""),
    )


def _level_name_problems(given: Mapping[str, Any], spelling: Spelling) -> Iterator[Problem]:
    for key in _LEVELS:
        if key in given and not given[key]:
            yield sentences.LEVEL_MISSING.at(spelling.path(key))
    for key in (*_LEVELS, keys.SLICE_LEVEL):
        if len(given.get(key, "")) > LONGEST_LEVEL:
            yield sentences.LEVEL_TOO_LONG.at(spelling.path(key), most=LONGEST_LEVEL)
    if keys.SPREADING in given:
        yield sentences.SPREADING.at(spelling.path(keys.SPREADING))
    if given.get(keys.REQUIRE) == keys.AUTO:
        yield sentences.AUTO_NOT_REQUIRED.at(spelling.path(keys.REQUIRE), field=keys.PREFER)


def _truth(given: object, spelling: Spelling, found: list[Problem]) -> bool:
    if isinstance(given, str) and given not in _TRUTH:
        found.append(sentences.NOT_TRUE.at(spelling.path(keys.UNCONSTRAINED), written=given))
    return _TRUTH.get(given, False) if isinstance(given, str) else bool(given)


def _slips(annotations: Mapping[str, str], path: Path) -> Iterator[Problem]:
    known = (*keys.POD_SET_ANNOTATIONS, *keys.KEP_ANNOTATIONS, keys.SPREADING)
    for key in annotations:
        if key.startswith("kueue.x-k8s.io/") and key not in known:
            near = nearest(key, known)
            if near is not None and is_slip(key, near):
                yield sentences.NO_SUCH_ANNOTATION.at((*path, key), found=key, meant=near)


def _group_problems(
    given: Mapping[str, Any], spelling: Spelling, layers: tuple[Layer, ...]
) -> Iterator[Problem]:
    name = given.get(keys.GROUP)
    if name is None:
        return
    path = spelling.path(keys.GROUP)
    if not name or name.isdigit():
        yield sentences.GROUP_NAME.at(path, name=name)
    if layers:
        yield sentences.GROUP_WITH_SLICES.at(path)
    if not any(given.get(key) for key in _LEVELS):
        required, preferred = spelling.called(keys.REQUIRED), spelling.called(keys.PREFERRED)
        yield sentences.GROUP_WITHOUT_LEVEL.at(path, required=required, preferred=preferred)


def to_fields(
    required: str | None, preferred: str | None, slices: Sequence[tuple[str, int]], group: str
) -> wire.PodSetTopologyRequest:
    """The topology request of a Workload's pod set; slices by level and size, coarsest first."""
    level, size = slices[0] if len(slices) == 1 else (None, None)
    layers = [wire.SliceConstraint(topology=name, size=pods) for name, pods in slices]
    return wire.PodSetTopologyRequest(
        required=required,
        preferred=preferred,
        pod_set_group_name=group or None,
        pod_set_slice_required_topology=level,
        pod_set_slice_size=size,
        podset_slice_required_topology_constraints=tuple(layers) if len(layers) > 1 else (),
    )


def to_annotations(asked: wire.PodSetTopologyRequest) -> dict[str, str]:
    """The annotations of a pod template that ask for the same."""
    written = plain(asked)
    present = {key: written[field] for key, field in FIELDS.items() if field in written}
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in present.items()}


def misplaced(annotations: Mapping[str, str], path: Path, right: Field | str) -> Iterator[Problem]:
    """Annotations found where they do not count: Kueue would pass over them in silence."""
    for key in keys.POD_SET_ANNOTATIONS:
        if key in annotations:
            yield sentences.MISPLACED.at((*path, key), right=right)


def level_problems(request: TopologyRequest, topology: Topology) -> Iterator[Problem]:
    """What a topology has no level for, and slices that are coarser than what holds them."""
    for path, level, _ in _named_levels(request):
        if level not in topology.labels:
            allowed = (*topology.labels, keys.AUTO) if path[-1] == keys.PREFER else topology.labels
            remedy = OneOf(level, allowed)
            yield hub.UNKNOWN_LEVEL.at(path, topology=topology.name, level=level, remedy=remedy)
    yield from slice_order_problems(request, topology)


def slice_order_problems(request: TopologyRequest, topology: Topology) -> Iterator[Problem]:
    """Slices at a coarser level than what holds them.

    The request itself is wrong then: no other flavor with these levels would accept it.
    """
    labels = topology.labels
    for (_, outer, both_layers), (path, inner, is_layer) in pairwise(_named_levels(request)):
        if not is_layer or outer not in labels or inner not in labels:
            continue
        above, depth = labels.index(outer), labels.index(inner)
        if both_layers and depth <= above:
            how = "coarser than" if depth < above else "the same as"
            yield sentences.INNER_SLICE_NOT_FINER.at(path, level=inner, how=how, outer=outer)
        elif depth < above:
            yield sentences.SLICE_COARSER.at(path, level=inner, outer=outer)


def _named_levels(request: TopologyRequest) -> Iterator[tuple[Path, str, bool]]:
    """Every level that a request names, outermost first: field, label, and whether it is that of a slice."""
    yield from ((path, level, False) for path, level in request.levels())
    yield from ((layer.level_path, layer.level, True) for layer in request.layers)
