"""Giving each of several something of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")


def matching(candidates: Sequence[Sequence[_T]]) -> dict[int, _T]:
    """For as many as can have one, by number, one of their candidates for themselves: augmenting paths."""
    owner: dict[_T, int] = {}

    def give(number: int, tried: set[_T]) -> bool:
        for each in candidates[number]:
            if each not in owner:
                owner[each] = number
                return True
        for each in candidates[number]:
            if each not in tried:
                tried.add(each)
                if give(owner[each], tried):
                    owner[each] = number
                    return True
        return False

    # Who has the least choice goes first, so that most find theirs at once.
    for number in sorted(range(len(candidates)), key=lambda each: len(candidates[each])):
        give(number, set())
    return {number: each for each, number in owner.items()}
