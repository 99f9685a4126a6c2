"""Why a placed group is where it is: which domains it had to choose from."""

from __future__ import annotations

from collections import Counter

import numpy as np

from closeknit.engine import score
from closeknit.engine.candidates import Candidates
from closeknit.engine.choices import Loads, Tally
from closeknit.engine.compiled_request import CompiledRequest, Goal, GroupVar
from closeknit.engine.domain_costs import DomainCosts
from closeknit.engine.explanation import variants
from closeknit.engine.explanation.trials import Trials
from closeknit.hub.outcome import Choice, DomainFit, Placed

_SHOWN = 5


def alternatives(trials: Trials, placed: Placed) -> tuple[Choice, ...]:
    """What every group with a level of its own had to choose from, parents first, then by name.

    The cluster must be as it was when the placement was decided.
    """
    running = {pods.name: len(pods.bound) for pods in trials.request.root.pod_sets()}
    got = Counter(assignment.pod_set for assignment in placed.assignments)
    counts = {name: bound + got[name] for name, bound in running.items()}
    compiled = trials.compiled(variants.settled(trials.request.root, counts), Goal.WISHES)
    spread = _spread(trials, compiled, placed)
    settled: dict[int, tuple[int, int]] = {}
    found: list[Choice] = []
    wished = [group for group in compiled.groups if max(group.preferred, group.required) >= 0]
    # A request that names no level still ends up somewhere, and its root stands for all of it.
    asked = {group.index for group in wished or [compiled.root]}
    for group in compiled.groups:
        inside = settled[group.parent.index] if group.parent is not None else (-1, 0)
        settled[group.index] = inside
        used = score.positions_of(group.pod_sets, spread)
        level = _level(group, score.shared_level(compiled.tree, used)) if len(used) else -1
        if group.index in asked and level > inside[0]:
            settled[group.index] = (level, int(compiled.tree.dom[level][used[0]]))
            found.append(_choice(compiled, group, inside, settled[group.index]))
    return tuple(found)


def _spread(trials: Trials, compiled: CompiledRequest, placed: Placed) -> score.Spread:
    """The nodes of the new pods."""
    slots: dict[str, list[int]] = {}
    for assignment in placed.assignments:
        slots.setdefault(assignment.pod_set, []).append(trials.ledger.slot_of[assignment.node])
    index_of = {pod_set.name: pod_set.index for pod_set in compiled.pod_sets}
    return {
        index_of[name]: np.unique(compiled.tree.positions[at], return_counts=True)
        for name, at in slots.items()
    }


def _level(group: GroupVar, shared: int) -> int:
    """The level at which a group's domain was chosen."""
    for wished in (group.preferred, group.required):
        if 0 <= wished <= shared:
            return wished
    return shared


def _choice(
    compiled: CompiledRequest, group: GroupVar, inside: tuple[int, int], at: tuple[int, int]
) -> Choice:
    tree, (level, domain) = compiled.tree, at
    first, last = tree.span(*inside, level)
    used = [Tally(tree.count(level)) for level in range(tree.depth + 1)]
    siblings = [0] * len(compiled.tables)
    candidates = Candidates(DomainCosts(compiled, group, inside, level, Loads(tree), used, siblings))
    fitting = len(candidates)
    candidates.drop(domain)
    main = max(range(len(group.need)), key=lambda shape: (group.need[shape], -shape))
    table = compiled.tables[main]
    runners_up: list[DomainFit] = []
    while len(runners_up) < _SHOWN and (other := candidates.next()) is not None:
        runners_up.append(DomainFit(tree.path(level, other), table.capacity(level, other), None))
    return Choice(
        group=group.name,
        level=tree.labels[level],
        inside=tree.path(*inside),
        domain=tree.path(level, domain),
        room=table.capacity(level, domain),
        fitting=fitting,
        of=int(np.count_nonzero(tree.real[level][first:last])),
        runners_up=tuple(runners_up),
    )
