"""Instances that the engine once got wrong or could not decide, by their seeds.

``make oracle`` and ``make planted`` print the seed of each failure; it is added here with what was wrong.
"""

from __future__ import annotations

import pytest

from tests.trials.trial import instance_of, judged

KEPT = [
    pytest.param("planted", 36, id="36: the balanced rule finds a layout, the tightest node first does not"),
    pytest.param(
        "planted", 1111, id="1111: the tightest node first finds a layout, the balanced rule does not"
    ),
    pytest.param(
        "planted", 9090, id="9090: other domains are tried soon where not all pods can be packed in the first"
    ),
    pytest.param(
        "planted", 5056, id="5056: all pods find room where the patterns of two nodes change at once"
    ),
    pytest.param("planted", 1_000_000_301, id="1000000301: the same in a larger cluster"),
    pytest.param(
        "planted", 1_000_000_502, id="1000000502: domains that lack room are ruled out before pods are packed"
    ),
    pytest.param(
        "planted", 1096, id="1096: a pod finds room when others are displaced", marks=pytest.mark.slow
    ),
]

NOT_BEST = [
    pytest.param(1_000_000_306, id="306: a better layout was lost when the steps ran out"),
    pytest.param(1_000_000_571, id="571: the same where groups prefer a block"),
    pytest.param(1_000_000_646, id="646: a pod wants a node to itself beside pods that do not"),
    pytest.param(
        1_000_005_446, id="5446: one node stood for a pool in two zones, with nodes of no pool beside both"
    ),
    pytest.param(1_000_000_742, id="742: patterns of a node were listed again at every step"),
]
"""Instances of which the engine once found a placement that was not best."""


@pytest.mark.parametrize(("run", "seed"), KEPT)
def test_an_instance_stays_decided_well(run: str, seed: int) -> None:
    trial = judged(*instance_of(seed, planted=run == "planted"))

    assert trial.failures == ()
    assert not trial.leaves_out_more


@pytest.mark.parametrize("seed", NOT_BEST)
def test_the_best_placement_stays_found(seed: int) -> None:
    trial = judged(*instance_of(seed))

    assert trial.failures == ()
    assert trial.better is None
