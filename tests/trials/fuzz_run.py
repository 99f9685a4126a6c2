"""Reads, translates and plans damaged manifests, and counts what goes wrong.

Whatever is in a file, ``read`` and ``translate`` end in problems with their places, soon, in little
memory and never in an exception; and what was read without problems is placed, or it is told why not.
Ends with status 1 if any trial fails.
"""

from __future__ import annotations

import signal
import sys
import traceback
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from types import FrameType

from closeknit.dialects import TARGETS, Located, Reading, Source, read, translate
from closeknit.engine import Engine
from closeknit.engine.budget import Budget
from closeknit.hub.outcome import Placed
from closeknit.hub.sentences import wire
from closeknit.hub.workload import PlaceableWorkload
from tests.trials.mutations import SEEDS, Example, examples, mutant
from tests.trials.runs import options, say, trials

_SECONDS = 60
"""A trial that takes longer is stuck."""
_MEMORY = 4 * 2**30
"""What one process may take in all; a trial that wants more fails."""
_SHORT = Budget(find=2_000, improve=200)
"""What a trial's decisions may cost: it is about errors, not about the best of all places."""
_MOST_PLANNED = 4
"""Of how many workloads a place is sought."""
_MOST_PODS = 2_000
"""Larger workloads are left out of plans; the tests of the engine are about size."""
_SHOWN = 4000


@dataclass(frozen=True, slots=True)
class FuzzTrial:
    """What became of one mutant."""

    seed: int
    kind: str
    """One of: harmless, refused, failed."""
    failure: str = ""
    """In one line, for counting alike failures."""
    told: str = ""
    """The traceback, or what is wrong with a problem."""


class StuckError(BaseException):
    """A trial took too long. No handler of ordinary exceptions may swallow it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, or replay one mutant; returns the exit status."""
    parser = options("fuzz_run", __doc__)
    parser.add_argument("--examples", type=Path, default=Path("examples"), help="what to damage (examples)")
    chosen = parser.parse_args(arguments)
    return _run(chosen) if chosen.only is None else _replay(chosen.only, chosen.examples)


def tried(seed: int, folder: Path) -> FuzzTrial:
    """Read and translate the mutant with this seed, and plan it where its reading allows."""
    rng = Random(seed)
    sources = mutant(rng, corpus(folder))
    lenient, target = rng.random() < 0.25, rng.choice(TARGETS)
    try:
        with _alarm():
            reading = read(sources, lenient=lenient)
            translation = translate(sources, target, lenient=lenient)
            _plan(reading)
    except (Exception, StuckError) as error:  # noqa: BLE001  A run goes on and counts its failures.
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__} in {Path(where.filename).name}, {where.name}"
        return FuzzTrial(seed, "failed", failure, traceback.format_exc())
    problems = (*reading.problems, *translation.problems)
    for problem in problems:
        if wrong := _wrong(problem, sources):
            return FuzzTrial(seed, "failed", wrong, f"{str(problem)[:_SHOWN]!r}")
    return FuzzTrial(seed, "refused" if problems else "harmless")


@cache
def corpus(folder: Path) -> tuple[Example, ...]:
    """The examples and what the test kit adds to them, read once a process."""
    return (*examples(folder), *examples(SEEDS))


def _plan(reading: Reading) -> None:
    """Seek a place for the first few workloads, each seeing the earlier ones placed."""
    requests = [workload.request for workload in reading.workloads if isinstance(workload, PlaceableWorkload)]
    small = [one for one in requests if sum(pods.count for pods in one.root.pod_sets()) <= _MOST_PODS]
    if not small:
        return
    engine = Engine(reading.cluster, _SHORT)
    for request in small[:_MOST_PLANNED]:
        outcome = engine.solve(request)
        if isinstance(outcome, Placed):
            engine.explain(request, outcome)
            engine.apply(request, outcome)


def _wrong(located: Located, sources: Sequence[Source]) -> str:
    """What is wrong with a problem itself."""
    path, message = located.problem.path, located.problem.message
    if not path and located.document and located.problem.code.name != wire.NO_OBJECT.name:
        # Only of a whole file, and of a document that is no object at all, can nothing be named.
        return "a problem without a path"
    if not message.endswith((".", "?", "…")):
        return "a message that is no sentence"
    if len(str(located)) > 2000:
        return "a problem that is too long"
    if not str(located).isprintable():
        return "a problem that cannot be printed"
    if located.source not in {source.name for source in sources}:
        return "a problem in no source"
    return ""


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(_: int, __: FrameType | None) -> None:
        raise StuckError(f"A trial took more than {_SECONDS} seconds of processor time.")

    # Processor time, not the clock: a busy machine is no reason to call a trial stuck.
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _limited() -> None:
    """Let a trial that wants too much memory fail by itself, where the system knows such limits."""
    try:
        import resource  # noqa: PLC0415  Not every system has it.
    except ImportError:
        return
    # Some systems know the limit by name and refuse to set it.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _run(chosen: Namespace) -> int:
    tally: Counter[str] = Counter()
    failed: dict[str, list[FuzzTrial]] = {}
    for trial in trials(partial(tried, folder=chosen.examples), chosen, prepare=_limited):
        tally["mutants"] += 1
        tally[trial.kind] += 1
        if trial.kind == "failed":
            failed.setdefault(trial.failure, []).append(trial)
    for name in ("mutants", "harmless", "refused", "failed"):
        say(f"{name} {tally[name]}")
    for failure, alike in sorted(failed.items()):
        first = min(alike, key=lambda trial: trial.seed)
        say(f"{failure}: {len(alike)}, replay with --only {first.seed}")
        # A seed makes the same mutant only as long as the examples are the same.
        say("".join(f"    {line[:500]}\n" for line in first.told.splitlines()[-6:]))
    return int(bool(failed))


def _replay(seed: int, folder: Path) -> int:
    for source in mutant(Random(seed), corpus(folder)):
        say(f"{source.name}: {source.content[:_SHOWN]!a}")
    trial = tried(seed, folder)
    say(f"verdict: {trial.failure or trial.kind}")
    say(trial.told)
    return int(trial.kind == "failed")


if __name__ == "__main__":
    _limited()
    sys.exit(main())
