"""A gang of 64 nodes that does not fit, and a stream of small ones behind it.

``python -m bench.large_gang`` prints the figures of a longer stream.
"""

from __future__ import annotations

import pytest

from bench.large_gang import GPUS, LARGE, cluster, stream
from closeknit.hub.drawing import GPU
from closeknit.testing.queue_simulation import History, Rule, Simulation

HORIZON = 960.0
"""By then the gang has started in the first-come queue."""


def history(rule: Rule, seed: int) -> History:
    return Simulation(cluster(), rule, GPU).run(stream(seed, small=90), until=HORIZON)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, id="one stream"),
        *(pytest.param(seed, id=f"stream {seed}", marks=pytest.mark.slow) for seed in range(2, 7)),
    ],
)
def test_a_reservation_starts_the_gang_no_later_than_a_first_come_queue_and_uses_more(seed: int) -> None:
    first_come, reserved = history(Rule.FIRST_COME, seed), history(Rule.RESERVATION, seed)
    start = first_come.started[LARGE]
    assert reserved.started[LARGE] <= start
    assert reserved.usage(0, start, GPUS) > first_come.usage(0, start, GPUS) + 0.2


def test_without_a_reservation_the_gang_starves() -> None:
    greedy = history(Rule.GREEDY, 1)
    assert LARGE not in greedy.started


def test_where_nobody_says_when_it_ends_the_gang_gets_its_turn_all_the_same() -> None:
    kept = history(Rule.RESERVATION_WITHOUT_ENDS, 1)
    start = history(Rule.FIRST_COME, 1).started[LARGE]
    assert kept.started[LARGE] < HORIZON
    assert kept.usage(0, start, GPUS) > history(Rule.FIRST_COME, 1).usage(0, start, GPUS)
