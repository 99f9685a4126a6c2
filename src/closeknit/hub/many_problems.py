"""The problems of an object that has very many.

An object of a megabyte has tens of thousands of parts. A rule that looks at each of them, and finds most of
them wrong, ends early and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from closeknit.hub.copying import replace
from closeknit.hub.problems import Problem, Severity
from closeknit.hub.sentences import hub as sentences

MOST_OF_A_RULE: Final = 200
"""How many problems of one rule are told of one object."""


def first_of(problems: Iterable[Problem]) -> Iterator[Problem]:
    """The first problems that a rule finds, and whether there are more.

    Notes are counted apart, so that many of them neither refuse an object nor hide what does.
    """
    counts: Counter[Severity] = Counter()
    for problem in problems:
        severity, count = problem.severity, counts[problem.severity]
        counts[severity] += 1
        if count < MOST_OF_A_RULE:
            yield problem
        elif count == MOST_OF_A_RULE:
            yield replace(sentences.AND_MORE, severity=severity).at(problem.path, count=count)
            if severity is Severity.PROBLEM:
                return
