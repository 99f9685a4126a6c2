"""Hostile objects of one tenant keep no gang of another from being bound; ``make hostile`` runs many."""

from __future__ import annotations

import logging

import pytest

from tests.kit.hostile import hostile_objects
from tests.trials.hostile_run import run


@pytest.mark.parametrize(("hostile", "gangs"), [(56, 5), pytest.param(300, 30, marks=pytest.mark.slow)])
async def test_every_gang_is_bound_beside_hostile_objects(hostile: int, gangs: int) -> None:
    # Simulated controllers log what a webhook refuses them.
    logging.disable(logging.CRITICAL)
    try:
        outcome = await run(hostile_objects(hostile, seed=3), gangs, every=0.2, patience=100)
    finally:
        logging.disable(logging.NOTSET)

    assert (outcome.ended, outcome.unbound, len(outcome.waits)) == ([], [], gangs)
    assert outcome.failures == []
