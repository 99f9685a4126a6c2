"""What is said instead of refused: what no request can say, and what is passed over where all is lenient.

One rule for all families. A file is planned without what cannot be counted, and a note says what was left out
of account. Who binds pods must not: there the same is a problem, and the pod stays pending with that reason.
What ``lenient`` passes over is told as a note with the same code. So is the name of an object that is not
among files which may be a part of a cluster, if they have no other of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from closeknit.dialects.store.view import View
from closeknit.hub.problems import OneOf, Problem


def binds(view: View) -> bool:
    """Whether pods are bound by what the view says, so that nothing may be left out of account."""
    return view.schedulers is not None and not view.lenient


def left_out(unsayable: Iterable[Problem], *, binding: bool) -> tuple[Problem, ...]:
    """What pods ask for and no request can say: problems where pods are bound, else notes."""
    return tuple(problem if binding else problem.as_note() for problem in unsayable)


def tolerated(problem: Problem, *, lenient: bool) -> Problem:
    """A problem that is passed over where all is lenient: a note then."""
    return problem.as_note() if lenient else problem


def not_in_sight(problem: Problem, view: View, known: Collection[str]) -> Problem:
    """A name that no object has; ``known`` are the names of those that are given.

    Where none is given at all, and the files may be a part of what a cluster holds, a wrong name cannot be
    told from one that the cluster knows. Then it is a note.
    """
    return tolerated(problem, lenient=view.lenient or (view.partial and not known))


def instead_of(name: str, view: View, known: Callable[[], Iterable[str]]) -> OneOf:
    """What may be named instead of an object that is not there; not looked up where a cluster is followed.

    There objects come one by one, often after those that name them, and whoever waits for one would be looked
    at again with every other one that comes.
    """
    return OneOf(name, (), more=None) if view.schedulers is not None else OneOf.among(name, known())
