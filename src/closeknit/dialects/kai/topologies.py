"""KAI's Topology."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.apis import kai_scheduler_v1alpha1 as wire
from closeknit.hub.problems import Problem, as_told, shown
from closeknit.hub.topology import HOSTNAME, Level, Topology

_MOST_LEVELS = 16
_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


def to_topology(given: wire.Topology) -> Topology:
    """The hub's view of a Topology without problems; an alias becomes the level's name."""
    levels = tuple(Level(level.node_label, level.alias or None) for level in given.spec.levels)
    return Topology(given.metadata.name, levels)


def problems(given: wire.Topology) -> Iterator[Problem]:
    """Everything about a Topology that KAI would refuse."""
    levels = given.spec.levels
    if not 1 <= len(levels) <= _MOST_LEVELS:
        yield as_told("spec.levels", f"There are {len(levels)} levels. Allowed are 1 to {_MOST_LEVELS}.")
    labels: dict[str, int] = {}
    aliases: dict[str, int] = {}
    all_labels = {level.node_label for level in levels}
    for i, level in enumerate(levels):
        path = f"spec.levels[{i}]"
        yield from _key_problems(f"{path}.nodeLabel", level.node_label)
        if (first := labels.setdefault(level.node_label, i)) != i:
            message = f"{shown(level.node_label)} is already the label of spec.levels[{first}]."
            yield as_told(f"{path}.nodeLabel", f"{message} Each level has its own.")
        if level.node_label == HOSTNAME and i != len(levels) - 1:
            yield as_told(
                f"{path}.nodeLabel", f"{shown(HOSTNAME)} can only be the last level. Move it to the end."
            )
        if not level.alias:
            continue
        yield from _key_problems(f"{path}.alias", level.alias)
        if (first := aliases.setdefault(level.alias, i)) != i:
            message = (
                f"{shown(level.alias)} is already the alias of spec.levels[{first}]. Each level has its own."
            )
            yield as_told(f"{path}.alias", message)
        if level.alias in all_labels:
            message = f"{shown(level.alias)} is the label of a level. An alias must be another word."
            yield as_told(f"{path}.alias", message)


def _key_problems(path: str, key: str) -> Iterator[Problem]:
    prefix, _, name = key.rpartition("/")
    if not _LABEL_KEY.fullmatch(key) or len(prefix) > 253 or len(name) > 63:
        yield as_told(
            path,
            f"{shown(key)} is not a label key. Write a name of at most 63 letters, digits, '-', '_' and '.',"
            " such as rack, with an optional domain before a slash, such as example.com/rack.",
        )


def label_of(topology: Topology, written: str) -> str | None:
    """The node label of a level that is named by its label or by its alias."""
    for level in topology.levels:
        if written in (level.label, level.name):
            return level.label
    return None


def level_names(topology: Topology) -> list[str]:
    """All words by which the levels can be named."""
    return [word for level in topology.levels for word in (level.label, level.name) if word]
