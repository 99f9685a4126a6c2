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
        "planted", 1096, id="1096: a pod finds room when others are displaced", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("run", "seed"), KEPT)
def test_an_instance_stays_decided_well(run: str, seed: int) -> None:
    trial = judged(*instance_of(seed, planted=run == "planted"))

    assert trial.failures == ()
    assert not trial.leaves_out_more
