"""Slices: how the pods of a pod set are cut into pieces, each of which stays together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from closeknit.apis import kueue_keys as keys
from closeknit.dialects import json_text
from closeknit.dialects.kueue.whole_numbers import whole
from closeknit.dialects.wire.spelling import found as worded
from closeknit.hub.paths import within
from closeknit.hub.problems import Problem, as_told, shown

MOST_LAYERS = 3
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Layer:
    """Slices of this many pods, each in one domain of the level."""

    level: str
    size: int
    """0 where it cannot be read, which is a problem of its own."""
    path: str
    """The annotation that gives the size."""
    level_path: str
    """The annotation that names the level."""


def read_layers(
    annotations: Mapping[str, str], path: str, count: int, found: list[Problem]
) -> tuple[Layer, ...]:
    """The slices that ``count`` pods are cut into, coarsest first; what is wrong is added to ``found``."""
    nested = annotations.get(keys.SLICE_LAYERS)
    single = [key for key in (keys.SLICE_LEVEL, keys.SLICE_SIZE) if key in annotations]
    if nested is not None:
        for key in single:
            message = f"{keys.SLICE_LAYERS} stands here as well. Only one way to cut slices can be given."
            found.append(as_told(within(path, key), message))
        layers = _nested(nested, within(path, keys.SLICE_LAYERS), found)
    else:
        layers = _single(annotations, path, found)
    if layers and count:
        found.extend(_cut_problems(layers, count))
    return layers


def _single(annotations: Mapping[str, str], path: str, found: list[Problem]) -> tuple[Layer, ...]:
    level, size = annotations.get(keys.SLICE_LEVEL), annotations.get(keys.SLICE_SIZE)
    if level is None and size is None:
        return ()
    if level is None:
        message = f"This must be given where {keys.SLICE_SIZE} is. Name the level of a slice."
        found.append(as_told(within(path, keys.SLICE_LEVEL), message))
        return ()
    where = within(path, keys.SLICE_SIZE)
    if size is None:
        message = f"This must be given where {keys.SLICE_LEVEL} is. Write how many pods make a slice."
        found.append(as_told(within(path, keys.SLICE_SIZE), message))
    return (Layer(level, _size(size, where, found), where, within(path, keys.SLICE_LEVEL)),)


def _size(written: str | None, path: str, found: list[Problem]) -> int:
    pods = whole(written) if written is not None else 0
    if pods is not None and 1 <= pods <= _LARGEST:
        return pods
    if written is not None and pods is not None and pods > _LARGEST:
        found.append(as_told(path, f"{shown(written)} is out of range. Allowed are 1 to {_LARGEST}."))
    elif written is not None:
        found.append(as_told(path, f"{shown(written)} is not a size. Write a whole number from 1 on."))
    return 0


def _nested(written: str, path: str, found: list[Problem]) -> tuple[Layer, ...]:
    example = 'Write a list such as [{"topology": "example.com/block", "size": 8}].'
    documents = json_text.load(written)
    if documents is None or len(documents) != 1 or not isinstance(documents[0][0], list):
        found.append(as_told(path, f"{shown(written)} is not a JSON list. {example}"))
        return ()
    content = documents[0][0]
    if not 1 <= len(content) <= MOST_LAYERS:
        found.append(as_told(path, f"There are {len(content)} layers. Allowed are 1 to {MOST_LAYERS}."))
        return ()
    layers: list[Layer] = []
    for i, layer in enumerate(content):
        where = within(path, i)
        level = layer.get("topology") if isinstance(layer, dict) else None
        size = layer.get("size") if isinstance(layer, dict) else None
        if not isinstance(level, str) or not level:
            found.append(as_told(f"{where}.topology", f"The level of the slices is missing. {example}"))
        if type(size) is not int or not 1 <= size <= _LARGEST:
            said = f"Found {worded(size)} where a whole number from 1 on is expected."
            found.append(as_told(f"{where}.size", f"{said} {example}"))
            size = 0
        if isinstance(level, str) and level:
            layers.append(Layer(level, size, where, where))
    return tuple(layers)


def _cut_problems(layers: tuple[Layer, ...], count: int) -> Iterator[Problem]:
    outer = layers[0]
    if outer.size > count:
        message = f"A slice has {outer.size} pods, but there are only {count}. Write at most {count}."
        yield as_told(outer.path, message)
    elif outer.size and count % outer.size:
        yield as_told(
            outer.path,
            f"{count} pods cannot be cut into slices of {outer.size}: {count % outer.size} would be left."
            f" Choose a size that divides {count}.",
        )
    for above, below in pairwise(layers):
        if below.size and above.size % below.size:
            message = f"The inner slice size {below.size} must evenly divide {above.size}, the one around it."
            yield as_told(below.path, message)
