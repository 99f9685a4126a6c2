"""Kueue's Topology."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.topology import HOSTNAME, Level, Topology

_MOST_LEVELS = 16
_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


def to_topology(given: wire.Topology) -> Topology:
    """The hub's view of a Topology without problems."""
    return Topology(given.metadata.name, tuple(Level(level.node_label) for level in given.spec.levels))


def problems(given: wire.Topology) -> Iterator[Problem]:
    """Everything about a Topology that Kueue would refuse."""
    levels = given.spec.levels
    if not 1 <= len(levels) <= _MOST_LEVELS:
        yield as_told("spec.levels", f"There are {len(levels)} levels. Allowed are 1 to {_MOST_LEVELS}.")
    first_place: dict[str, int] = {}
    for i, level in enumerate(levels):
        path = f"spec.levels[{i}].nodeLabel"
        yield from key_problems(path, level.node_label)
        if (first := first_place.setdefault(level.node_label, i)) != i:
            message = f"{shown(level.node_label)} is already the label of spec.levels[{first}]."
            yield as_told(path, f"{message} Each level has its own.")
        if level.node_label == HOSTNAME and i != len(levels) - 1:
            yield as_told(path, f"{shown(HOSTNAME)} can only be the last level. Move it to the end.")


def key_problems(path: str, key: str) -> Iterator[Problem]:
    """Whether this can be the key of a label."""
    prefix, _, name = key.rpartition("/")
    if not _LABEL_KEY.fullmatch(key) or len(prefix) > 253 or len(name) > 63:
        yield as_told(
            path,
            f"{shown(key)} is not a label key. Write a name of at most 63 letters, digits, '-', '_' and '.',"
            " such as rack, with an optional domain before a slash, such as example.com/rack.",
        )


def change_problems(old: wire.Topology, new: wire.Topology) -> Iterator[Problem]:
    """What Kueue would refuse about a change: levels are fixed unless hosts are the lowest, then and now."""
    before = [level.node_label for level in old.spec.levels]
    after = [level.node_label for level in new.spec.levels]
    if before != after and not (before[-1:] == after[-1:] == [HOSTNAME]):
        message = (
            f"The levels cannot be changed unless {shown(HOSTNAME)} is the last before and after."
            " Make a new Topology."
        )
        yield as_told("spec.levels", message)
