"""KAI's Topology: its rules, and the levels that it describes."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis import kai_scheduler_v1alpha1 as wire
from closeknit.dialects.core.topologies import (
    label_key_problems,
    label_problems,
    number_problems,
    taken_problems,
)
from closeknit.hub.paths import Path
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.topology import Level, Topology

FAMILY = "kai"


def to_topology(given: wire.Topology) -> Topology:
    """The hub's view of a Topology without problems; an alias becomes the level's name."""
    levels = tuple(Level(level.node_label, level.alias or None) for level in given.spec.levels)
    return Topology(given.metadata.name, levels)


def depths(topology: Topology) -> dict[str, int]:
    """The levels by all words that name them: their labels and their aliases."""
    found: dict[str, int] = {}
    for depth, level in enumerate(topology.levels):
        for word in (level.label, level.name):
            if word:
                found.setdefault(word, depth)
    return found


def topology_problems(given: wire.Topology) -> Iterator[Problem]:
    """Everything about a Topology that KAI would refuse."""
    yield from number_problems(given.spec.levels)
    levels = given.spec.levels
    all_labels = {level.node_label for level in levels}
    labels: dict[str, Path] = {}
    aliases: dict[str, Path] = {}
    for i, level in enumerate(levels):
        path = ("spec", "levels", i)
        yield from label_problems(level.node_label, path, labels, last=level is levels[-1])
        if level.alias:
            where = (*path, "alias")
            yield from label_key_problems(where, level.alias)
            yield from taken_problems(level.alias, where, "alias", aliases)
            if level.alias in all_labels:
                yield sentences.ALIAS_IS_A_LABEL.at(where, alias=level.alias)
