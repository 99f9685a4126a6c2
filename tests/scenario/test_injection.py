"""What fails for one object stays with it, wherever it fails: a sample of what ``make injection`` runs whole."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from random import Random

import pytest

from tests.kit.injection import MODES
from tests.kit.poisoned import injected, traced

SEED = 23


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    # Simulated controllers log what a webhook refuses them.
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("runs", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_a_function_that_fails_for_one_object_ends_no_process_and_affects_no_other_object(runs: int) -> None:
    points = traced()
    rng = Random(SEED)
    every = [(point, mode) for point in points for mode in MODES]
    results = [injected(point, points[point], mode) for point, mode in rng.sample(every, runs)]

    assert len(points) > 1_000
    assert [str(result) for result in results if result.bad or result.silent] == []
