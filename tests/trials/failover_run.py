"""Stops, kills and ends leaders: ``python -m tests.trials.failover_run -n 100``.

Prints what was overcommitted, bound twice or left partial when the leader was stopped at ``-n`` moments of a storm of
bindings for longer than its lease, and how long nothing was bound after kill -9 and after SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.trials.failover import SHORT, USUAL, Figures, Times, failovers, stops

_USUAL_STOPS = 5
_RUNS = 5
WITHIN = {signal.SIGKILL: 3.0, signal.SIGTERM: 1.0}
"""Seconds in which the first pod is to be bound: after the duration of the lease, or at once."""


def main() -> int:
    """Run the trials; 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=100, help="moments at which the leader is stopped")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = 0
    for times, moments in ((SHORT, options.n), (USUAL, min(options.n, _USUAL_STOPS))):
        with tempfile.TemporaryDirectory() as folder:
            seeds = range(options.seed, options.seed + moments)
            figures = asyncio.run(stops(Path(folder), times, seeds))
        _say(f"lease {times.duration:g} s, leader stopped at {figures.trials} moments: {_counted(figures)}")
        wrong += sum(figures.counts.values())
    for times in (SHORT, USUAL):
        for number in WITHIN:
            with tempfile.TemporaryDirectory() as folder:
                seconds = asyncio.run(failovers(Path(folder), times, number, _RUNS))
            most = limit(times, number)
            _say(
                f"lease {times.duration:g} s, {number.name}, {_RUNS} runs: first binding after "
                f"{median(seconds):.2f} s (median), {max(seconds):.2f} s (longest), to be within {most:g} s"
            )
            wrong += max(seconds) > most
    return int(bool(wrong))


def limit(times: Times, number: signal.Signals) -> float:
    """Seconds in which a pod is to be bound after this signal."""
    return WITHIN[number] + (times.duration if number is signal.SIGKILL else 0.0)


def _counted(figures: Figures) -> str:
    return ", ".join(f"{count} {what}" for what, count in figures.counts.items())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
