"""What long runs of trials share: seeds, several processes, progress, and one trial again."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

INSTANCES_A_RUN = 10**9
"""Trial numbers stay below this, so that a seed tells its run and its number."""

_T = TypeVar("_T")


def options(program: str, about: str | None) -> argparse.ArgumentParser:
    """The options of every run; the first line of ``about`` describes it."""
    parser = argparse.ArgumentParser(prog=program, description=(about or "").partition("\n")[0])
    parser.add_argument("-n", "--number", type=int, default=2000, help="how many trials (2000)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the run (1)")
    parser.add_argument("--processes", type=int, default=2, help="how many at once (2)")
    parser.add_argument("--only", type=int, metavar="SEED", help="replay the trial with this seed")
    return parser


def seed_of(run: int, number: int) -> int:
    """The seed of one trial of a run."""
    return run * INSTANCES_A_RUN + number


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def trials(
    try_one: Callable[[int], _T],
    chosen: argparse.Namespace,
    *,
    prepare: Callable[[], None] | None = None,
) -> Iterator[_T]:
    """What became of every trial that the options ask for, in any order; each process is prepared first."""
    seeds = [seed_of(chosen.seed, number) for number in range(chosen.number)]
    if chosen.processes <= 1:
        yield from _watched(map(try_one, seeds), len(seeds))
        return
    with multiprocessing.get_context("spawn").Pool(chosen.processes, initializer=prepare) as pool:
        tried = pool.imap_unordered(try_one, seeds, chunksize=1 + len(seeds) // 400)
        yield from _watched(tried, len(seeds))


def _watched(tried: Iterator[_T], number: int) -> Iterator[_T]:
    """The same trials, with progress for whoever watches."""
    for done, trial in enumerate(tried, 1):
        yield trial
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done} of {number}" + ("\n" if done == number else ""))
            sys.stderr.flush()
