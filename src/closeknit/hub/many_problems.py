"""The problems of an object that has very many.

An object of a megabyte has tens of thousands of parts. A rule that looks at each of them, and finds most of
them wrong, ends early and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from closeknit.hub.problems import Problem
from closeknit.hub.sentences import hub as sentences

MOST_OF_A_RULE: Final = 200
"""How many problems of one rule are told of one object."""


def first_of(problems: Iterable[Problem]) -> Iterator[Problem]:
    """The first problems that a rule finds, and whether there are more."""
    for count, problem in enumerate(problems):
        if count == MOST_OF_A_RULE:
            yield sentences.AND_MORE.at(problem.path, count=count)
            return
        yield problem
