"""Slices of slices of equal pods are decided by counting, exactly and at once."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.engine import Engine
from closeknit.hub.outcome import Placed, Undecided
from closeknit.testing import check
from closeknit.testing.random_clusters import random_cluster
from tests.property.effort import effort
from tests.property.slices import counted, random_racks, random_slices
from tests.trials.trial import judged


@effort(200)
@given(st.integers(0, 10**9))
def test_slices_are_placed_as_well_as_the_oracle_places_them(seed: int) -> None:
    rng = Random(seed)
    cluster = random_cluster(rng)

    trial = judged(cluster, random_slices(rng, cluster, 4))

    assert trial.failures == (), (trial.unsound, trial.traceback, trial.better)
    assert trial.kind != "placed" or (trial.optimal and trial.proven)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(30, id="30"),
        pytest.param(200, id="200", marks=pytest.mark.slow),
        pytest.param(1_000, id="1,000", marks=pytest.mark.long),
    ],
)
def test_slices_on_64_to_1024_nodes_are_all_decided(seeds: int) -> None:
    for seed in range(seeds):
        rng = Random(seed)
        nodes = rng.randint(64, 1_024)
        cluster = random_racks(rng, nodes)
        request = random_slices(rng, cluster, nodes // 8)

        outcome = Engine(cluster).decide(request)

        assert not isinstance(outcome, Undecided), seed
        assert isinstance(outcome, Placed) == counted(cluster, request), seed
        assert outcome.statistics.steps < 1_000, seed
        if isinstance(outcome, Placed):
            assert not check.violations(cluster, request, outcome), seed
