"""Runs the engine against the exact oracle: ``python -m tests.trials.oracle_run -n 20000 --seed 1``.

Every failure is printed with the seed of its instance. ``--only SEED`` shows that one instance with the
engine's outcome and what the oracle knows better; ``--shrink`` also looks for the smallest one that fails so.
``--planted`` takes instances of 16 to 200 nodes instead, each made from a placement, which stands in for the
oracle: it shows that there is a placement and how good one can be at least.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from functools import partial

from closeknit.hub.cluster import Cluster
from closeknit.hub.request import Request
from closeknit.testing import drawings
from tests.trials.runs import options, say, trials
from tests.trials.shrink import shrunk
from tests.trials.trial import Trial, decided, instance_of, judged

LEAST_OPTIMAL = 99.5
"""Percent of placements that must be optimal."""
MOST_UNDECIDED = 0.5
"""Percent of planted instances that may stay undecided."""
_FAILURES = ("crashed", "unsound", "missed", "undecided", "false proofs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or replay one instance; returns the exit status."""
    parser = options("oracle_run", __doc__)
    parser.add_argument("--planted", action="store_true", help="instances of 16 to 200 nodes")
    parser.add_argument("--shrink", action="store_true", help="with --only: make the instance small")
    chosen = parser.parse_args(arguments)
    if chosen.shrink and chosen.planted:
        parser.error("--shrink does not go with --planted: a smaller instance is no longer a planted one.")
    return _run(chosen) if chosen.only is None else _replay(chosen)


def trial_of(seed: int, *, planted: bool) -> Trial:
    """Judge the instance with this seed."""
    return judged(*instance_of(seed, planted=planted), seed=seed)


def _run(chosen: Namespace) -> int:
    planted: bool = chosen.planted
    tally: Counter[str] = Counter()
    failed: dict[str, list[int]] = {}
    say(f"seed {chosen.seed}")
    for trial in trials(partial(trial_of, planted=planted), chosen):
        tally["instances"] += 1
        tally[trial.kind] += 1
        if trial.kind == "placed":
            tally["optimal"] += trial.optimal
            tally["not proven"] += not trial.proven
            if not trial.optimal and not trial.failures and not planted:
                failed.setdefault("not optimal", []).append(trial.seed)
        for name in trial.failures:
            failed.setdefault(name, []).append(trial.seed)
    for name in ("instances", "placed", "unplaceable"):
        say(f"{name} {tally[name]}")
    for name in _FAILURES:
        say(f"{name} {len(failed.get(name, []))}")
    share = 100 * tally["optimal"] / tally["placed"] if tally["placed"] else 100.0
    undecided = 100 * tally["undecided"] / max(tally["instances"], 1)
    best = "as good as planted" if planted else "optimal"
    say(f"{best} {tally['optimal']} of {tally['placed']} ({share:.2f} percent)")
    say(f"not proven {tally['not proven']}")
    if planted:
        say(f"undecided {undecided:.2f} percent, at most {MOST_UNDECIDED} allowed")
    replay = "--planted --only" if planted else "--only"
    for name, each in ((name, each) for name, found in failed.items() for each in sorted(found)):
        say(f"{name}: replay with {replay} {each}")
    if planted and undecided <= MOST_UNDECIDED:
        failed.pop("undecided", None)
    too_few = not planted and share < LEAST_OPTIMAL
    return int(too_few or any(failed.get(name) for name in _FAILURES))


def _replay(chosen: Namespace) -> int:
    cluster, request, *_ = instance_of(chosen.only, planted=chosen.planted)
    trial = trial_of(chosen.only, planted=chosen.planted)
    _show(cluster, request, trial)
    complaint = _complaint(trial)
    if complaint and chosen.shrink:
        small = shrunk((cluster, request), lambda candidate: _complaint(judged(*candidate)) == complaint)
        say("\nThe smallest instance that fails the same way:\n")
        _show(*small, judged(*small))
    return int(bool(complaint))


def _complaint(trial: Trial) -> tuple[str, ...]:
    return trial.failures or (() if trial.better is None else ("not optimal",))


def _show(cluster: Cluster, request: Request, trial: Trial) -> None:
    topology = None if request.topology is None else cluster.topology(request.topology)
    say(f"levels: {', '.join(topology.labels) if topology else 'none'}\n")
    say(drawings.draw(cluster, request.topology))
    say(drawings.outline(request))
    say(f"verdict: {', '.join(_complaint(trial)) or 'good'}")
    if trial.kind == "crashed":
        say(trial.traceback)
        return
    say(f"outcome: {decided(cluster, request)}")
    for sentence in trial.unsound:
        say(f"unsound: {sentence}")
    if trial.better is not None:
        say(f"better: {trial.better}")


if __name__ == "__main__":
    sys.exit(main())
