"""Every function of the per-object path fails once for poisoned objects; what did not stay with them is listed.

``make injection`` runs every point in every mode, ``--sample N`` some points in a mode each. A run that is not
as it should be makes the exit status 1.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from random import Random
from types import FunctionType

from tests.kit.injection import MODES, Point
from tests.kit.poisoned import Result, injected, traced

_POINTS: dict[Point, FunctionType] = {}


def _one(job: tuple[Point, str]) -> Result:
    point, mode = job
    return injected(point, _POINTS[point], mode)


def _jobs(sample: int, seed: int, modes: list[str], only: str) -> list[tuple[Point, str]]:
    rng = Random(seed)
    every = [(point, mode) for point in _POINTS if only in str(point) for mode in modes]
    return rng.sample(every, min(sample, len(every))) if sample else every


def _results(jobs: list[tuple[Point, str]], workers: int) -> Iterator[Result]:
    # The functions are replaced in place, so every worker has its own process; what they share is forked.
    with multiprocessing.get_context("fork").Pool(workers, maxtasksperchild=50) as pool:
        yield from pool.imap_unordered(_one, jobs)


def main() -> int:
    """Run what is asked for, and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="how many runs; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="points that have this text in their path or name")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    # What is logged of injected errors would hide the report.
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    _POINTS.update(traced())
    jobs = _jobs(options.sample, options.seed, options.modes, options.only)
    runs = deaths = affected = silent = restarts = missed = 0
    for result in _results(jobs, options.workers):
        runs += 1
        deaths += bool(result.report.died)
        affected += bool(result.report.affected)
        silent += result.silent
        missed += not result.hits
        restarts += result.report.restarts
        if result.bad or result.silent:
            sys.stdout.write(f"{result}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{len(_POINTS)} points, {runs} runs in {time.monotonic() - began:.0f} s ({missed} did not fail): "
        f"{deaths} deaths, {affected} with other objects affected, {silent} silent, "
        f"{restarts} components begun again.\n"
    )
    return int(bool(deaths or affected or silent))


if __name__ == "__main__":
    sys.exit(main())
