"""Looks for a placement that keeps preferred rules among the pods of a request, once it has a placement.

A placement is sought without them first, as if they were not there, so they never leave a request
undecided. Then one is sought that keeps them all, which is often the best there is; and where that cannot be,
one that comes closer to them, for at most the budget to improve.
"""

from __future__ import annotations

from collections.abc import Callable

from closeknit.engine import criteria, score
from closeknit.engine.budget import Budget
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.preferred_rules import Preference
from closeknit.engine.search import Found, Search
from closeknit.engine.tree import Ints
from closeknit.hub.copying import replace
from closeknit.hub.neighbours import Near

_TO_KEEP_ALL = 1_000
"""Steps to find a placement that keeps all preferred rules."""


def prefer(
    found: Found,
    compiled: CompiledRequest,
    strict: Callable[[], CompiledRequest],
    free: Callable[[], Ints],
    budget: Budget,
) -> Found:
    """The placement found, or a better one, which is mostly closer to preferred rules.

    ``compiled`` has the preferred rules, which were not heeded so far; ``strict`` compiles the same request
    with all of them as rules that must be kept. That may add rows to what is ``free``.
    """
    assert found.spread is not None
    assert compiled.neighbours is not None
    best = replace(found, wishes=score.wishes(compiled, found.spread))
    assert best.wishes is not None
    if not best.wishes.rules:
        return best
    before_rules = 1 + compiled.tree.depth
    first = criteria.fields(best.wishes)[:before_rules]
    kept = strict()
    all_kept = Search(kept, free(), Budget(min(budget.find, _TO_KEEP_ALL), budget.improve)).run()
    steps, examined = found.steps + all_kept.steps, found.candidates + all_kept.candidates
    if all_kept.spread is not None:
        wishes = score.wishes(compiled, all_kept.spread)
        if criteria.fields(wishes) < criteria.fields(best.wishes):
            best = replace(all_kept, wishes=wishes, steps=steps, candidates=examined)
        if not wishes.rules and criteria.fields(wishes)[:before_rules] == first:
            equal = not any(_is_stricter(each) for each in compiled.neighbours.preferred)
            return replace(best, complete=found.complete and all_kept.complete and equal)
    closer = Search(compiled, free(), budget).run(best.spread)
    return replace(closer, steps=steps + closer.steps, candidates=examined + closer.candidates)


def _is_stricter(preference: Preference) -> bool:
    """Whether to require a rule is more than to have every pod keep it: all must go where the first went."""
    return isinstance(preference.rule, Near) and preference.subject in preference.counted
