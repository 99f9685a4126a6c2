"""Clusters by shape: so many zones, blocks in each, racks in each, hosts in each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from closeknit.dialects.core.naming import is_label_key
from closeknit.hub.nodes import Node
from closeknit.hub.paths import Path, Verbatim
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import cli as sentences
from closeknit.hub.topology import HOSTNAME, Level, Topology

HOST = "host"
MOST = 1_000_000
"""More nodes than any cluster has; a shape beyond is taken for a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class Step:
    """One level of a shape: what it is called and how many of it each parent has."""

    name: str
    each: int

    @property
    def word(self) -> str:
        """The name without a label's prefix."""
        return self.name.rpartition("/")[2]


def parse(text: str, *, option: str = "--shape") -> tuple[Step, ...]:
    """Read ``zone=2,block=4,rack=8,host=16``; raises ``InvalidError`` with every problem of the option."""
    where: Path = (Verbatim(option),)
    found: list[Problem] = []
    steps: list[Step] = []
    named: list[str] = []
    for part in text.split(","):
        name, equals, number = (piece.strip() for piece in part.partition("="))
        if not name or not equals:
            found.append(sentences.NOT_A_LEVEL.at(where, word=part))
            continue
        if not is_label_key(name):
            found.append(sentences.NOT_A_LEVEL_NAME.at(where, level=name))
        if name in named:
            found.append(sentences.LEVEL_NAMED_TWICE.at(where, level=name))
        named.append(name)
        if number.isascii() and number.isdigit() and len(number) <= 9 and int(number) > 0:
            steps.append(Step(name, int(number)))
        else:
            found.append(sentences.NOT_A_NUMBER_OF.at(where, number=number, level=name))
    if HOST in named[:-1]:
        found.append(sentences.HOST_NOT_LAST.at(where))
    elif named and named[-1] != HOST:
        found.append(sentences.NO_HOSTS.at(where, level=named[-1]))
    if (total := math.prod(step.each for step in steps)) > MOST and not found:
        found.append(sentences.TOO_MANY_NODES.at(where, nodes=total, most=MOST))
    if found:
        raise InvalidError(found)
    return tuple(steps)


def topology(steps: tuple[Step, ...], name: str, prefix: str) -> Topology:
    """The levels of a shape. A name with a slash is a label already; others get the prefix."""
    return Topology(name, tuple(Level(_label(step, prefix), step.word) for step in steps))


def _label(step: Step, prefix: str) -> str:
    if step.name == HOST:
        return HOSTNAME
    return step.name if "/" in step.name else f"{prefix}{step.name}"


def nodes(steps: tuple[Step, ...], prefix: str, allocatable: Resources) -> Iterator[Node]:
    """Every node of a shape, one at a time.

    A domain's name carries the numbers of all domains around it, as in rack-1-4-2,
    so that no two domains of a level share a label value.
    """
    labels = [_label(step, prefix) for step in steps]
    for numbers in product(*(range(1, step.each + 1) for step in steps)):
        values = {
            label: f"{step.word}-{'-'.join(map(str, numbers[: i + 1]))}"
            for i, (label, step) in enumerate(zip(labels, steps, strict=True))
        }
        yield Node(name=values[HOSTNAME], labels=values, allocatable=allocatable)
