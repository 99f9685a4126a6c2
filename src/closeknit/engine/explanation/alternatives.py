"""Why a placed group is where it is: which domains it had to choose from."""

from __future__ import annotations

from collections import Counter

import numpy as np

from closeknit.engine import score
from closeknit.engine.candidates import Candidates
from closeknit.engine.explanation import variants
from closeknit.engine.explanation.trials import Trials
from closeknit.engine.problem import Heed, Knot, Problem
from closeknit.engine.tallies import Loads, Tally
from closeknit.engine.tree import Ints
from closeknit.hub.outcome import Choice, DomainFit, Placed

_SHOWN = 5


def alternatives(trials: Trials, placed: Placed) -> tuple[Choice, ...]:
    """What every group with a level of its own had to choose from, parents first, then by name.

    The cluster must be as it was when the placement was decided.
    """
    running = {pods.name: len(pods.bound) for pods in trials.request.root.pod_sets()}
    got = Counter(assignment.pod_set for assignment in placed.assignments)
    counts = {name: bound + got[name] for name, bound in running.items()}
    problem = trials.compiled(variants.settled(trials.request.root, counts), Heed.WISHES)
    where = _positions(trials, problem, placed)
    settled: dict[int, tuple[int, int]] = {}
    found: list[Choice] = []
    wished = [knot for knot in problem.knots if max(knot.preferred, knot.required) >= 0]
    # A request that names no level still ends up somewhere, and its root stands for all of it.
    asked = {knot.index for knot in wished or [problem.root]}
    for knot in problem.knots:
        inside = settled[knot.parent.index] if knot.parent is not None else (-1, 0)
        settled[knot.index] = inside
        used = _used(knot, where)
        level = _level(knot, score.shared_level(problem.tree, used)) if len(used) else -1
        if knot.index in asked and level > inside[0]:
            settled[knot.index] = (level, int(problem.tree.dom[level][used[0]]))
            found.append(_choice(problem, knot, inside, settled[knot.index]))
    return tuple(found)


def _positions(trials: Trials, problem: Problem, placed: Placed) -> dict[str, set[int]]:
    """By pod set: the positions of its new pods."""
    tree, slot_of = problem.tree, trials.ledger.slot_of
    where: dict[str, set[int]] = {}
    for assignment in placed.assignments:
        where.setdefault(assignment.pod_set, set()).add(int(tree.positions[slot_of[assignment.node]]))
    return where


def _used(knot: Knot, where: dict[str, set[int]]) -> Ints:
    used = set(knot.bound).union(*(where.get(leaf.name, ()) for leaf in knot.leaves))
    return np.array(sorted(used), dtype=np.int64)


def _level(knot: Knot, shared: int) -> int:
    """The level at which a group's domain was chosen."""
    for wished in (knot.preferred, knot.required):
        if 0 <= wished <= shared:
            return wished
    return shared


def _choice(problem: Problem, knot: Knot, inside: tuple[int, int], at: tuple[int, int]) -> Choice:
    tree, (level, domain) = problem.tree, at
    first, last = tree.span(*inside, level)
    used = [Tally(tree.count(level)) for level in range(tree.depth + 1)]
    siblings = [0] * len(problem.tables)
    stream = Candidates(problem, knot, inside, level, loads=Loads(tree), used=used, siblings=siblings)
    fitting = len(stream)
    stream.strike(domain)
    main = max(range(len(knot.need)), key=lambda shape: (knot.need[shape], -shape))
    table = problem.tables[main]
    runners_up: list[DomainFit] = []
    while len(runners_up) < _SHOWN and (other := stream.next()) is not None:
        runners_up.append(DomainFit(tree.path(level, other), table.capacity(level, other), None))
    return Choice(
        group=knot.name,
        level=tree.labels[level],
        inside=tree.path(*inside),
        domain=tree.path(level, domain),
        room=table.capacity(level, domain),
        fitting=fitting,
        of=int(np.count_nonzero(tree.real[level][first:last])),
        runners_up=tuple(runners_up),
    )
