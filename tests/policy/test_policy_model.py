"""The live core runs the units that the page of scheduling policy says, on random sequences of events."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.policy import sequences
from tests.policy.harness import Result, running_bed
from tests.policy.run import count
from tests.policy.sequences import FLAVOURS, Sequence
from tests.policy.shrinking import drawn, shrunk

Run = Callable[[Sequence], Result]
FOUND = sorted((Path(__file__).parent / "found").glob("*.yaml"))
SAMPLES = {"all": 120, "plain": 40, "limits": 40}


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with running_bed() as compare:
        yield compare


@pytest.mark.parametrize("flavour", SAMPLES)
def test_the_same_units_run_as_in_the_policy_model(run: Run, flavour: str) -> None:
    assert list(_differences(run, flavour, range(1, SAMPLES[flavour] + 1))) == []


@pytest.mark.long
def test_the_same_units_run_as_in_the_policy_model_on_ten_thousand_sequences(run: Run) -> None:
    seed = int(os.environ.get("SEED", "1"))
    assert list(_differences(run, "all", range(seed, seed + 10_000))) == []


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_a_sequence_that_once_differed_is_the_same_as_in_the_policy_model(run: Run, file: Path) -> None:
    sequence = sequences.read(file.read_text())
    result = run(sequence)
    assert not result.ambiguous
    assert result.difference is None, drawn(sequence, result.difference)


def test_a_sequence_is_the_same_when_it_is_written_and_read() -> None:
    for seed in range(50):
        sequence = sequences.draw(seed, FLAVOURS["all"])
        assert sequences.read(sequences.written(sequence)) == sequence


def test_most_random_sequences_evict_and_few_are_ambiguous(run: Run) -> None:
    totals: Counter[str] = Counter()
    for seed in range(100, 160):
        count(totals, run(sequences.draw(seed, FLAVOURS["plain"])))
    assert totals["evictions"] > totals["sequences"] // 3
    assert totals["cut short as ambiguous"] < totals["sequences"] // 10


def _differences(run: Run, flavour: str, seeds: Iterable[int]) -> Iterator[str]:
    for seed in seeds:
        sequence = sequences.draw(seed, FLAVOURS[flavour])
        if run(sequence).difference is not None:
            small = shrunk(sequence, run)
            difference = run(small).difference
            assert difference is not None
            yield f"seed {seed}\n{drawn(small, difference)}"
