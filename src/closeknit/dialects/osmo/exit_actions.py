"""What becomes of a task when its pod ends: by its own exit actions, else the pool's, else OSMO's.

Codes from 256 on stand for what happens to a pod from outside, in OSMO's numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from closeknit.dialects.wire.decoding import found as worded
from closeknit.hub.paths import Path
from closeknit.hub.problems import Field, OneOf, Problem
from closeknit.hub.sentences import osmo as sentences


class Action(Enum):
    """What is done about a code."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    RESCHEDULE = "RESCHEDULE"


BACKEND_ERROR = 3001
"""The node failed."""
EVICTED = 3004
"""The node put the pod out."""
PREEMPTED = 3006
"""The pod made room for another."""


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Exit codes from one to another, and what is done about them."""

    first: int
    last: int
    action: Action


ExitActions: TypeAlias = tuple[CodeRange, ...]

_DEFAULTS: ExitActions = (
    CodeRange(0, 0, Action.COMPLETE),
    CodeRange(PREEMPTED, PREEMPTED, Action.RESCHEDULE),
)
_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", re.ASCII)


def action_for(code: int, *given: ExitActions) -> Action:
    """What is done about a code; who is given first has the first say."""
    for ranges in (*given, _DEFAULTS):
        for each in ranges:
            if each.first <= code <= each.last:
                return each.action
    return Action.FAIL


def exit_actions(given: Mapping[str, object], path: Path, found: list[Problem]) -> ExitActions:
    """Read ranges such as ``0-10,16`` by action; what is wrong with them is added to ``found``."""
    read: list[tuple[CodeRange, Path]] = []
    for name, codes in given.items():
        where = (*path, name)
        action = next((each for each in Action if each.value == name.upper()), None)
        if action is None:
            remedy = OneOf.among(name.upper(), [each.value for each in Action])
            found.append(sentences.UNKNOWN_EXIT_ACTION.at(where, action=name, remedy=remedy))
            continue
        ranges = list(_ranges(codes))
        if not ranges:
            found.append(sentences.NOT_EXIT_CODES.at(where, found=worded(codes)))
        for first, last in ranges:
            for other, theirs in read:
                if first <= other.last and other.first <= last and other.action is not action:
                    shared = max(first, other.first)
                    found.append(sentences.EXIT_CODE_TWICE.at(where, code=shared, field=Field(theirs)))
            read.append((CodeRange(first, last, action), where))
    return tuple(each for each, _ in read)


def _ranges(codes: object) -> Iterator[tuple[int, int]]:
    """The ranges of a text, or of a single number; nothing where any part of it is none."""
    if isinstance(codes, bool) or not isinstance(codes, str | int):
        return
    matches = [_RANGE.fullmatch(part.strip()) for part in str(codes).split(",")]
    pairs = [(int(each[1]), int(each[2] or each[1])) for each in matches if each is not None]
    if len(pairs) == len(matches) and all(first <= last for first, last in pairs):
        yield from pairs
