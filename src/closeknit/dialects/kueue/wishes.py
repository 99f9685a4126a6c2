"""What the annotations of a pod template ask for: levels, slices and groups of pod sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.kueue.slicing import Layer, read_layers
from closeknit.dialects.wire.spelling import is_slip
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, nearest, shown, suggestion
from closeknit.hub.topology import Topology

LONGEST_LEVEL = 63
"""Of a level in a topology request; a Topology itself may have longer ones."""

_LEVELS = (keys.REQUIRED, keys.PREFERRED, keys.UNCONSTRAINED, *keys.EARLY)
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Wish:
    """How close together the pods of one pod set must be. Levels may still be unknown to the topology."""

    path: str = ""
    """The annotations it was read from."""
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
    def explicit(self) -> bool:
        """Whether anything is asked for. If not, a queue with topologies only still places by them."""
        return bool(self.required or self.preferred or self.unconstrained or self.layers)

    def preferred_in(self, topology: Topology) -> str | None:
        """The preferred level, with ``auto`` resolved."""
        automatic = self.early and self.preferred == keys.AUTO
        return topology.labels[-1] if automatic else self.preferred


def read_wish(annotations: Mapping[str, str], path: str, count: int, found: list[Problem]) -> Wish:
    """Read the annotations of a pod set of ``count`` pods; what is wrong is added to ``found``."""
    found.extend(_slips(annotations, path))
    given = {key: annotations[key] for key in _LEVELS if key in annotations}
    unconstrained = _truth(annotations, path, found)
    if not unconstrained:
        given.pop(keys.UNCONSTRAINED, None)
    if len(given) > 1:
        first, *others = given
        for other in others:
            message = f"{first} stands here as well. Only one of them can be given."
            found.append(as_told(within(path, other), message))
    found.extend(_name_problems(annotations, path))
    if annotations.get(keys.REQUIRE) == keys.AUTO:
        message = f'"auto" is allowed in {keys.PREFER} only. Name the node label of a level.'
        found.append(as_told(within(path, keys.REQUIRE), message))
    layers = read_layers(annotations, path, count, found)
    group = annotations.get(keys.GROUP, "")
    found.extend(_group_problems(annotations, path, layers))
    early = any(key in annotations for key in keys.EARLY)
    if early and layers:
        found.append(
            as_told(
                layers[0].path,
                f"Slices cannot be combined with the early design's annotations. Use {keys.REQUIRED}"
                f" or {keys.PREFERRED}.",
            )
        )
    return Wish(
        path=path,
        required=annotations.get(keys.REQUIRED) or annotations.get(keys.REQUIRE) or None,
        preferred=annotations.get(keys.PREFERRED) or annotations.get(keys.PREFER) or None,
        unconstrained=unconstrained,
        early=early,
        layers=layers,
        group=group,
    )


def _name_problems(annotations: Mapping[str, str], path: str) -> Iterator[Problem]:
    for key in (keys.REQUIRED, keys.PREFERRED, *keys.EARLY):
        if key in annotations and not annotations[key]:
            yield as_told(within(path, key), "The level is missing. Name the node label of a level.")
    for key in (keys.REQUIRED, keys.PREFERRED, *keys.EARLY, keys.SLICE_LEVEL):
        if len(annotations.get(key, "")) > LONGEST_LEVEL:
            message = (
                f"The name of the level is too long: Workloads take {LONGEST_LEVEL} characters of a label."
            )
            yield as_told(within(path, key), f"{message} Label the nodes with a shorter key.")
    if keys.SPREADING in annotations:
        message = "Spreading over domains is not taken into account when pods are placed. Leave it out."
        yield as_told(within(path, keys.SPREADING), message)


def misplaced(annotations: Mapping[str, str], path: str, right: str) -> Iterator[Problem]:
    """Annotations found where they do not count: Kueue would pass over them in silence."""
    for key in keys.TODAYS:
        if key in annotations:
            yield as_told(within(path, key), f"This counts on a pod template only. Move it to {right}.")


def level_problems(wish: Wish, topology: Topology) -> Iterator[Problem]:
    """What a topology has no level for, and slices that are coarser than what holds them."""
    labels = topology.labels
    named: list[tuple[str, str, bool]] = []
    for key in (keys.REQUIRED, keys.PREFERRED, *keys.EARLY):
        level = wish.required if key in (keys.REQUIRED, keys.REQUIRE) else wish.preferred
        if level and (key in keys.EARLY) == wish.early and not (wish.early and level == keys.AUTO):
            named.append((within(wish.path, key), level, False))
    named.extend((layer.level_path, layer.level, True) for layer in wish.layers)
    for path, level, _ in named:
        if level not in labels:
            allowed = [*labels, keys.AUTO] if path.endswith(f'{keys.PREFER}"]') else labels
            message = f"Topology {shown(topology.name)} has no level {shown(level)}."
            yield as_told(path, f"{message} {suggestion(level, allowed)}")
    for (_, outer, both_layers), (path, inner, is_layer) in pairwise(named):
        if not is_layer or outer not in labels or inner not in labels:
            continue
        above, depth = labels.index(outer), labels.index(inner)
        if depth < above or (depth == above and both_layers):
            wanted = "a finer level" if both_layers else f"{shown(outer)} or a finer level"
            how = "coarser than" if depth < above else "the same as"
            yield as_told(
                path, f"The slice level {shown(inner)} is {how} {shown(outer)} around it. Name {wanted}."
            )


def _truth(annotations: Mapping[str, str], path: str, found: list[Problem]) -> bool:
    written = annotations.get(keys.UNCONSTRAINED)
    if written is None:
        return False
    if written not in _TRUTH:
        message = f'{shown(written)} is not a truth value. Write "true", or leave it out.'
        found.append(as_told(within(path, keys.UNCONSTRAINED), message))
    return _TRUTH.get(written, False)


def _slips(annotations: Mapping[str, str], path: str) -> Iterator[Problem]:
    known = (*keys.TODAYS, *keys.EARLY, keys.SPREADING)
    for key in annotations:
        if key.startswith("kueue.x-k8s.io/") and key not in known:
            near = nearest(key, known)
            if near is not None and is_slip(key, near):
                message = f"There is no annotation {shown(key)}. Did you mean {shown(near)}?"
                yield as_told(within(path, key), message)


def _group_problems(
    annotations: Mapping[str, str], path: str, layers: tuple[Layer, ...]
) -> Iterator[Problem]:
    name = annotations.get(keys.GROUP)
    if name is None:
        return
    where = within(path, keys.GROUP)
    if not name or name.isdigit():
        yield as_told(where, f"{shown(name)} is not the name of a group. Write a word, not a number.")
    if layers:
        yield as_told(where, "Pod sets of a group cannot be cut into slices. Leave out one of the two.")
    if not any(annotations.get(key) for key in (keys.REQUIRED, keys.PREFERRED, *keys.EARLY)):
        message = f"A group needs a level to share. Give {keys.REQUIRED} or {keys.PREFERRED} as well."
        yield as_told(where, message)
