"""KAI's Topology: its rules, and the levels that it describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from closeknit.apis import kai_scheduler_v1alpha1 as wire
from closeknit.dialects.compiling import topologies_of
from closeknit.dialects.family import Described
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem, Range
from closeknit.hub.sentences import kai as sentences
from closeknit.hub.topology import HOSTNAME, Level, Topology

FAMILY = "kai"
_MOST_LEVELS = 16
_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Known:
    """The topologies that a PodGroup can name."""

    usable: Mapping[str, Topology]
    broken: AbstractSet[str]
    """Those that exist and have problems of their own."""


def topologies(view: View) -> Described:
    """All Topologies that KAI would take, and what is wrong with the others."""
    found: dict[str, Topology] = {}
    problems: list[Reported] = []
    for stored in view.of(wire.Topology):
        wrong = tuple(topology_problems(stored.content))
        problems.extend(map(stored.report, wrong))
        if not wrong:
            found[stored.name] = to_topology(stored.content)
    return Described(found, tuple(problems))


def known_topologies(view: View) -> Known:
    """The topologies that a PodGroup can name, those of other families included."""
    usable = view.derive(topologies_of, FAMILY)
    return Known(usable, frozenset(key.name for key in view.keys(wire.Topology)) - usable.keys())


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
    levels = given.spec.levels
    if not 1 <= len(levels) <= _MOST_LEVELS:
        allowed = Range(1, _MOST_LEVELS)
        yield sentences.NUMBER_OF_LEVELS.at(("spec", "levels"), levels=len(levels), allowed=allowed)
    labels: dict[str, int] = {}
    aliases: dict[str, int] = {}
    all_labels = {level.node_label for level in levels}
    for i, level in enumerate(levels):
        path = ("spec", "levels", i)
        label, alias = (*path, "nodeLabel"), (*path, "alias")
        yield from _key_problems(label, level.node_label)
        if (first := labels.setdefault(level.node_label, i)) != i:
            field = Field(("spec", "levels", first))
            yield sentences.LABEL_OF_TWO_LEVELS.at(label, label=level.node_label, field=field)
        if level.node_label == HOSTNAME and i != len(levels) - 1:
            yield sentences.HOSTS_NOT_LAST.at(label, label=HOSTNAME)
        if not level.alias:
            continue
        yield from _key_problems(alias, level.alias)
        if (first := aliases.setdefault(level.alias, i)) != i:
            field = Field(("spec", "levels", first))
            yield sentences.ALIAS_OF_TWO_LEVELS.at(alias, alias=level.alias, field=field)
        if level.alias in all_labels:
            yield sentences.ALIAS_IS_A_LABEL.at(alias, alias=level.alias)


def _key_problems(path: Path, key: str) -> Iterator[Problem]:
    prefix, _, name = key.rpartition("/")
    if not _LABEL_KEY.fullmatch(key) or len(prefix) > 253 or len(name) > 63:
        yield sentences.NOT_A_LABEL_KEY.at(path, key=key)
