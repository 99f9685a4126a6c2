"""Slices: how the pods of a pod set are cut into pieces, each of which stays together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from closeknit.apis import kueue_keys as keys
from closeknit.dialects.wire.decoding import found as found_value
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem, Range
from closeknit.hub.sentences import core
from closeknit.hub.sentences import kueue as sentences
from closeknit.text import json as json_text

MOST_LAYERS = 3
_LARGEST = 2**31 - 1
_WHOLE = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Spelling:
    """Where somebody wrote a topology request, and what its parts are called there.

    Parts are known by the key of their annotation. In annotations they are called so, too; a Workload
    has a field for each.
    """

    at: Path
    fields: Mapping[str, str] = field(default_factory=dict)

    def called(self, key: str) -> str:
        """The name of a part, as its author knows it."""
        return self.fields.get(key, key)

    def path(self, key: str) -> Path:
        """Where a part stands, or would stand."""
        return (*self.at, self.called(key))


@dataclass(frozen=True, slots=True)
class Layer:
    """Slices of this many pods, each in one domain of the level."""

    level: str
    size: int
    """0 where it cannot be read, which is a problem of its own."""
    path: Path
    """Where the size stands."""
    level_path: Path
    """Where the level stands."""


def whole_number(written: str) -> int | None:
    """The number that a text is, None where it is none; one of too many digits is only known to be vast."""
    matched = _WHOLE.fullmatch(written)
    if matched is None:
        return None
    sign, digits = matched.groups()
    number = int(digits) if len(digits) <= _DIGITS else 10**_DIGITS
    return -number if sign == "-" else number


def read_layers(
    given: Mapping[str, Any], spelling: Spelling, count: int, found: list[Problem]
) -> tuple[Layer, ...]:
    """The slices that ``count`` pods are cut into, coarsest first; what is wrong is added to ``found``."""
    nested = given.get(keys.SLICE_LAYERS)
    if nested is not None:
        other = spelling.called(keys.SLICE_LAYERS)
        found.extend(
            sentences.SLICED_TWICE.at(spelling.path(key), other=other)
            for key in (keys.SLICE_LEVEL, keys.SLICE_SIZE)
            if key in given
        )
        layers = _nested(nested, spelling.path(keys.SLICE_LAYERS), found)
    else:
        layers = _single(given.get(keys.SLICE_LEVEL), given.get(keys.SLICE_SIZE), spelling, found)
    if layers and count:
        found.extend(_cut_problems(layers, count))
    return layers


def _single(
    level: str | None, size: str | int | None, spelling: Spelling, found: list[Problem]
) -> tuple[Layer, ...]:
    level_path, path = spelling.path(keys.SLICE_LEVEL), spelling.path(keys.SLICE_SIZE)
    if level is None and size is None:
        return ()
    if level is None:
        other = spelling.called(keys.SLICE_SIZE)
        found.append(sentences.SLICE_LEVEL_NEEDED.at(level_path, other=other))
        return ()
    if size is None:
        other = spelling.called(keys.SLICE_LEVEL)
        found.append(sentences.SLICE_SIZE_NEEDED.at(path, other=other))
    return (Layer(level, _size(size, path, found) if size is not None else 0, path, level_path),)


def _size(written: str | int, path: Path, found: list[Problem]) -> int:
    pods = whole_number(written) if isinstance(written, str) else written
    if pods is not None and 1 <= pods <= _LARGEST:
        return pods
    if pods is not None and pods > _LARGEST:
        found.append(core.OUT_OF_RANGE.at(path, value=written, allowed=Range(1, _LARGEST)))
    else:
        found.append(sentences.SLICE_SIZE.at(path, written=written))
    return 0


def _nested(written: str | list[Any], path: Path, found: list[Problem]) -> tuple[Layer, ...]:
    """Slices within slices: a list, which an annotation holds as JSON."""
    content: Any = written
    if isinstance(written, str):
        documents = json_text.load(written)
        content = documents[0][0] if documents is not None and len(documents) == 1 else None
        if not isinstance(content, list):
            found.append(sentences.LAYERS_LIST.at(path, written=written))
            return ()
    if not 1 <= len(content) <= MOST_LAYERS:
        allowed = Range(1, MOST_LAYERS)
        found.append(core.NUMBER_OF.at(path, given=len(content), what=" layers", allowed=allowed))
        return ()
    layers: list[Layer] = []
    for i, layer in enumerate(content):
        where = (*path, i)
        level = layer.get("topology") if isinstance(layer, dict) else None
        size = layer.get("size") if isinstance(layer, dict) else None
        if not isinstance(level, str) or not level:
            found.append(sentences.LAYER_LEVEL.at((*where, "topology")))
        if type(size) is not int or not 1 <= size <= _LARGEST:
            found.append(sentences.LAYER_SIZE.at((*where, "size"), found=found_value(size)))
            size = 0
        if isinstance(level, str) and level:
            layers.append(Layer(level, size, where, where))
    return tuple(layers)


def _cut_problems(layers: tuple[Layer, ...], count: int) -> Iterator[Problem]:
    outer = layers[0]
    if outer.size > count:
        yield sentences.SLICE_TOO_LARGE.at(outer.path, size=outer.size, pods=count)
    elif outer.size and count % outer.size:
        left = count % outer.size
        yield sentences.PODS_LEFT_OVER.at(outer.path, pods=count, size=outer.size, left=left)
    for above, below in pairwise(layers):
        if below.size and above.size % below.size:
            yield sentences.SLICE_DOES_NOT_DIVIDE.at(below.path, size=below.size, outer=above.size)
