"""Two processes of ``closeknit run``: the leader is stopped in a storm of bindings, killed, or told to end.

Derived from the reproducer of finding S6. ``make failover`` does the same at 100 moments and prints figures.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.trials.failover import SHORT, USUAL, Times, failovers, stops
from tests.trials.failover_run import limit


@pytest.mark.slow
async def test_a_leader_that_was_stopped_overcommits_nothing_when_it_goes_on(tmp_path: Path) -> None:
    figures = await stops(tmp_path, SHORT, range(3))
    assert (figures.trials, sum(figures.counts.values())) == (3, 0), figures.counts


@pytest.mark.long
async def test_a_leader_that_was_stopped_at_any_of_100_moments_overcommits_nothing(tmp_path: Path) -> None:
    figures = await stops(tmp_path, SHORT, range(100, 200))
    assert (figures.trials, sum(figures.counts.values())) == (100, 0), figures.counts


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "told to end"])
@pytest.mark.parametrize(
    "times", [SHORT, pytest.param(USUAL, marks=pytest.mark.long)], ids=["a short lease", "the usual lease"]
)
async def test_a_successor_binds_soon_after_a_leader_was(
    number: signal.Signals, times: Times, tmp_path: Path
) -> None:
    assert max(await failovers(tmp_path, times, number, 3)) <= limit(times, number)
