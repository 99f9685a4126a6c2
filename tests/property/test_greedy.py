"""The engine never uses more domains than a greedy pass does."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from closeknit.engine import Budget, Engine
from closeknit.hub.outcome import Placed
from tests.property.greedy import Greedy, random_asked, random_hosts

KEPT = (330, 1478)
"""Seeds of instances for which more domains were used once."""


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param((*range(40), *KEPT), id="40, and those that failed once"),
        pytest.param(range(2_000), id="2,000", marks=pytest.mark.long),
    ],
)
def test_no_more_domains_are_used_than_by_a_greedy_pass(seeds: Sequence[int]) -> None:
    compared = 0
    for seed in seeds:
        rng = Random(seed)
        cluster = random_hosts(rng)
        asked = random_asked(rng, cluster)
        greedy = Greedy(cluster, asked).used()
        if greedy is None:
            continue
        compared += 1

        outcome = Engine(cluster).decide(asked.request())

        assert isinstance(outcome, Placed), seed
        assert outcome.wishes.domains[: len(greedy)] <= greedy, (seed, asked)
        assert outcome.statistics.steps <= 2 * (Budget().improve + 2 * len(asked.parts)), seed

    assert compared > len(seeds) // 2
