"""Kueue's Topology: the levels of a data center, by node label."""

from __future__ import annotations

import re
from collections.abc import Iterator

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.dialects.family import Described
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.hub.keys import Key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem, Range
from closeknit.hub.sentences import kueue as sentences
from closeknit.hub.topology import HOSTNAME, Level, Topology

GROUP = "kueue.x-k8s.io"
_MOST_LEVELS = 16
_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    re.ASCII,
)


def kueue_key(kind: str, name: str, namespace: str = "") -> Key:
    """The key of an object of Kueue's own kinds."""
    return Key(GROUP, kind, namespace, name)


def topologies(view: View) -> Described:
    """All topologies without problems, and the problems of the others."""
    known: dict[str, Topology] = {}
    reported: list[Reported] = []
    for stored in view.of(wire.Topology):
        found = [stored.report(problem) for problem in topology_problems(stored.content)]
        reported.extend(found)
        if not found:
            known[stored.name] = to_topology(stored.content)
    return Described(known, tuple(reported))


def to_topology(given: wire.Topology) -> Topology:
    """The hub's view of a Topology without problems."""
    return Topology(given.metadata.name, tuple(Level(level.node_label) for level in given.spec.levels))


def topology_problems(given: wire.Topology) -> Iterator[Problem]:
    """Everything about a Topology that Kueue would refuse."""
    levels = given.spec.levels
    if not 1 <= len(levels) <= _MOST_LEVELS:
        allowed = Range(1, _MOST_LEVELS)
        yield sentences.NUMBER_OF.at(("spec", "levels"), given=len(levels), what=" levels", allowed=allowed)
    first_index: dict[str, int] = {}
    for i, level in enumerate(levels):
        path: Path = ("spec", "levels", i, "nodeLabel")
        yield from label_key_problems(path, level.node_label)
        if (first := first_index.setdefault(level.node_label, i)) != i:
            taken = Field(("spec", "levels", first))
            yield sentences.LEVEL_TWICE.at(path, label=level.node_label, first=taken)
        if level.node_label == HOSTNAME and i != len(levels) - 1:
            yield sentences.HOSTNAME_LAST.at(path, label=HOSTNAME)


def label_key_problems(path: Path, key: str) -> Iterator[Problem]:
    """Whether this can be the key of a label."""
    prefix, _, name = key.rpartition("/")
    if not _LABEL_KEY.fullmatch(key) or len(prefix) > 253 or len(name) > 63:
        yield sentences.LABEL_KEY.at(path, key=key)
