"""Decides slices of slices of equal pods on 64 to 1,024 nodes: ``python -m tests.trials.slices_run -n 1000``.

Whether there is room for them is counted once more in plain Python. ``--only SEED`` replays one instance.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from random import Random
from statistics import median
from time import process_time
from typing import NamedTuple

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed, Undecided
from closeknit.testing import check
from tests.property.slices import counted, random_racks, random_slices
from tests.trials.runs import options, say, trials

MOST_SECONDS = 0.02
"""Of the processor: half of all instances are decided in less."""


class Decision(NamedTuple):
    """What came of one instance."""

    seed: int
    kind: str
    """One of: placed, unplaceable, undecided, wrong."""
    seconds: float
    """Of the processor, to decide with an engine that was not asked before."""


def decision_of(seed: int) -> Decision:
    """Decide the instance with this seed."""
    rng = Random(seed)
    nodes = rng.randint(64, 1_024)
    cluster = random_racks(rng, nodes)
    request = random_slices(rng, cluster, nodes // 8)
    engine = Engine(cluster)
    began = process_time()
    outcome = engine.decide(request)
    seconds = process_time() - began
    if isinstance(outcome, Undecided):
        return Decision(seed, "undecided", seconds)
    placed = isinstance(outcome, Placed)
    unsound = isinstance(outcome, Placed) and check.violations(cluster, request, outcome)
    if unsound or placed != counted(cluster, request):
        return Decision(seed, "wrong", seconds)
    return Decision(seed, "placed" if placed else "unplaceable", seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or replay one instance; returns the exit status."""
    chosen = options("slices_run", __doc__).parse_args(arguments)
    made = [decision_of(chosen.only)] if chosen.only is not None else list(trials(decision_of, chosen))
    kinds = Counter(each.kind for each in made)
    for kind in ("placed", "unplaceable", "undecided", "wrong"):
        say(f"{kind} {kinds[kind]}")
    for each in made:
        if each.kind in ("undecided", "wrong"):
            say(f"{each.kind}: replay with --only {each.seed}")
    seconds = sorted(each.seconds for each in made)
    usual, longest = 1000 * median(seconds), 1000 * seconds[-1]
    say(f"milliseconds of the processor: median {usual:.1f}, longest {longest:.0f}")
    return int(bool(kinds["undecided"] or kinds["wrong"]) or median(seconds) >= MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
