"""The rules for the levels of a Topology that several families share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closeknit.dialects.core.naming import is_label_key
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, Problem, Range
from closeknit.hub.sentences import core as sentences
from closeknit.hub.topology import HOSTNAME

MOST_LEVELS = 16
_LEVELS: Path = ("spec", "levels")


def number_problems(
    levels: Sequence[object], path: Path = _LEVELS, what: str = " levels"
) -> Iterator[Problem]:
    """Whether there are too few levels, or too many."""
    if not 1 <= len(levels) <= MOST_LEVELS:
        allowed = Range(1, MOST_LEVELS)
        yield sentences.NUMBER_OF.at(path, given=len(levels), what=what, allowed=allowed)


def label_problems(label: str, path: Path, seen: dict[str, Path], *, last: bool) -> Iterator[Problem]:
    """What is wrong with a level's label: each level has its own, and that of hosts comes last."""
    where = (*path, "nodeLabel")
    yield from label_key_problems(where, label)
    yield from taken_problems(label, where, "label", seen)
    if label == HOSTNAME and not last:
        yield sentences.HOSTS_NOT_LAST.at(where, label=HOSTNAME)


def taken_problems(value: str, path: Path, what: str, seen: dict[str, Path]) -> Iterator[Problem]:
    """Whether an earlier level has the value of the field at this path; ``seen`` holds them by value."""
    level = path[:-1]
    if (first := seen.setdefault(value, level)) != level:
        yield sentences.LEVEL_TAKEN.at(path, value=value, what=what, field=Field(first))


def label_key_problems(path: Path, key: str) -> Iterator[Problem]:
    """Whether this can be the key of a label."""
    if not is_label_key(key):
        yield sentences.NOT_A_LABEL_KEY.at(path, key=key)
