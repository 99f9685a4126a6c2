"""Runs the engine against the exact oracle: ``python -m closeknit.testing.oracle_run -n 20000 --seed 1``.

Every failure is printed with the seed of its instance. ``--only SEED`` shows that one instance with the
engine's outcome and what the oracle knows better; ``--shrink`` also looks for the smallest one that fails so.
``--planted`` takes instances of 16 to 200 nodes instead, each made from a placement, which stands in for the
oracle: it shows that there is a placement and how good one can be at least.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from closeknit.testing import drawings
from closeknit.testing.shrink import Instance, shrunk
from closeknit.testing.trial import Trial, decided, instance_of, judged, judged_planted, planted_of, seed_of

LEAST_OPTIMAL = 99.5
"""Percent of placements that must be optimal."""
MOST_UNDECIDED = 1.7
"""Percent of planted instances that may stay undecided."""
_AT_A_TIME = 50
_FAILURES = ("crashed", "unsound", "missed", "undecided", "false proofs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or replay one instance; returns the exit status."""
    parser = argparse.ArgumentParser(prog="oracle_run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-n", "--instances", type=int, default=2000, help="how many instances (2000)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the run (1)")
    parser.add_argument("--processes", type=int, default=2, help="how many at once (2)")
    parser.add_argument("--only", type=int, metavar="SEED", help="replay the instance with this seed")
    parser.add_argument("--planted", action="store_true", help="instances of 16 to 200 nodes")
    parser.add_argument("--shrink", action="store_true", help="with --only: make the instance small")
    chosen = parser.parse_args(arguments)
    if chosen.shrink and chosen.planted:
        parser.error("--shrink does not go with --planted: a smaller instance is no longer a planted one.")
    if chosen.only is not None:
        return _replay(chosen.only, planted=chosen.planted, shrink=chosen.shrink)
    return _run(chosen.instances, chosen.seed, chosen.processes, planted=chosen.planted)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def trial_of(seed: int) -> Trial:
    """Judge the instance with this seed."""
    cluster, request = instance_of(seed)
    return judged(cluster, request, seed=seed)


def planted_trial_of(seed: int) -> Trial:
    """Judge the planted instance with this seed."""
    return judged_planted(planted_of(seed), seed=seed)


def _run(instances: int, seed: int, processes: int, *, planted: bool) -> int:
    tally: Counter[str] = Counter()
    failed: dict[str, list[int]] = {}
    seeds = [seed_of(seed, number) for number in range(instances)]
    _say(f"seed {seed}")
    for trial in _trials(planted_trial_of if planted else trial_of, seeds, processes):
        tally["instances"] += 1
        tally[trial.kind] += 1
        if trial.kind == "placed":
            tally["optimal"] += trial.optimal
            tally["not proven"] += not trial.proven
            if not trial.optimal and not trial.failures and not planted:
                failed.setdefault("not optimal", []).append(trial.seed)
        for name in trial.failures:
            failed.setdefault(name, []).append(trial.seed)
        _progress(tally["instances"], instances, failed)
    for name in ("instances", "placed", "unplaceable"):
        _say(f"{name} {tally[name]}")
    for name in _FAILURES:
        _say(f"{name} {len(failed.get(name, []))}")
    share = 100 * tally["optimal"] / tally["placed"] if tally["placed"] else 100.0
    undecided = 100 * tally["undecided"] / max(tally["instances"], 1)
    best = "as good as planted" if planted else "optimal"
    _say(f"{best} {tally['optimal']} of {tally['placed']} ({share:.2f} percent)")
    _say(f"not proven {tally['not proven']}")
    if planted:
        _say(f"undecided {undecided:.2f} percent, at most {MOST_UNDECIDED} allowed")
    replay = "--planted --only" if planted else "--only"
    for name, each in ((name, each) for name, found in failed.items() for each in sorted(found)):
        _say(f"{name}: replay with {replay} {each}")
    if planted and undecided <= MOST_UNDECIDED:
        failed.pop("undecided", None)
    too_few = not planted and share < LEAST_OPTIMAL
    return int(too_few or any(failed.get(name) for name in _FAILURES))


def _trials(judge: Callable[[int], Trial], seeds: Sequence[int], processes: int) -> Iterator[Trial]:
    if processes <= 1:
        yield from map(judge, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(judge, seeds, chunksize=1 + len(seeds) // 400)


def _progress(done: int, instances: int, failed: dict[str, list[int]]) -> None:
    if sys.stderr.isatty() and (done % _AT_A_TIME == 0 or done == instances):
        counts = "".join(f", {name} {len(seeds)}" for name, seeds in failed.items())
        sys.stderr.write(f"\r{done} of {instances}{counts}" + ("\n" if done == instances else ""))
        sys.stderr.flush()


def _replay(seed: int, *, planted: bool, shrink: bool) -> int:
    made = planted_of(seed) if planted else None
    instance = (made.cluster, made.request) if made else instance_of(seed)
    trial = judged_planted(made, seed=seed) if made else judged(*instance, seed=seed)
    _show(instance, trial)
    complaint = _complaint(trial)
    if complaint and shrink:
        small = shrunk(instance, lambda candidate: _complaint(judged(*candidate)) == complaint)
        _say("\nThe smallest instance that fails the same way:\n")
        _show(small, judged(*small, seed=seed))
    return int(bool(complaint))


def _complaint(trial: Trial) -> tuple[str, ...]:
    return trial.failures or (() if trial.better is None else ("not optimal",))


def _show(instance: Instance, trial: Trial) -> None:
    cluster, request = instance
    topology = None if request.topology is None else cluster.topology(request.topology)
    _say(f"levels: {', '.join(topology.labels) if topology else 'none'}\n")
    _say(drawings.draw(cluster, request.topology))
    _say(drawings.outline(request))
    _say(f"verdict: {', '.join(_complaint(trial)) or 'good'}")
    if trial.kind == "crashed":
        _say(trial.traceback)
        return
    _say(f"outcome: {decided(cluster, request)}")
    for sentence in trial.unsound:
        _say(f"unsound: {sentence}")
    if trial.better is not None:
        _say(f"better: {trial.better}")


if __name__ == "__main__":
    sys.exit(main())
