"""Whatever is done to valid manifests, they end in problems with a place, never in an exception."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from closeknit.cli.app import app
from closeknit.dialects import Located, Reading, Source, Translation, read
from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Outcome
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Code, Problem
from closeknit.hub.request import Request
from closeknit.hub.sentences import wire
from tests.trials import fuzz_run
from tests.trials.mutations import SEEDS, Example, examples, mutant

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
A_FEW = 300
MANY = 2500
"""Slow; ``make fuzz`` tries as many as it is told."""
PLACE = re.compile(r"\S.*?:\d+:.+?: .")
"""File, document and path, then what is wrong."""


def failures(seeds: range) -> list[str]:
    trials = (fuzz_run.tried(seed, EXAMPLES) for seed in seeds)
    return [
        f"--only {trial.seed}: {trial.failure}\n{trial.told}" for trial in trials if trial.kind == "failed"
    ]


@pytest.mark.parametrize("part", range(4))
def test_damaged_examples_are_read_translated_and_planned_without_an_exception(part: int) -> None:
    size = A_FEW // 4

    assert failures(range(part * size, (part + 1) * size)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_damaged_examples_are_read_translated_and_planned_without_an_exception(part: int) -> None:
    size = MANY // 4

    assert failures(range(A_FEW + part * size, A_FEW + (part + 1) * size)) == []


@pytest.mark.parametrize(
    "command",
    [["validate"], ["plan", "-o", "json"], ["translate", "--to", "kai"], ["translate", "--to", "grove"]],
)
def test_the_command_line_names_places_and_ends_with_a_status_of_its_own(
    command: list[str], tmp_path: Path
) -> None:
    for seed in range(25):
        (source,) = mutant(Random(seed), fuzz_run.corpus(EXAMPLES))
        file = tmp_path / "file.yaml"
        file.write_bytes(source.content)

        result = CliRunner().invoke(app, [*command, "-f", str(file)])

        assert result.exception is None or isinstance(result.exception, SystemExit), f"seed {seed}"
        assert result.exit_code in (0, 2, 3), f"seed {seed}"
        assert "Traceback" not in result.output, f"seed {seed}"
        if result.exit_code == 2:
            assert any(PLACE.match(line) for line in result.stderr.splitlines()), f"seed {seed}"


def test_a_mutant_is_made_of_its_seed_alone() -> None:
    corpus = fuzz_run.corpus(EXAMPLES)

    assert mutant(Random(7), corpus) == mutant(Random(7), corpus)
    assert len({mutant(Random(seed), corpus)[0].content for seed in range(50)}) > 45


@pytest.mark.parametrize("seed", examples(SEEDS), ids=lambda seed: seed.name)
def test_what_the_test_kit_adds_is_valid_before_it_is_damaged(seed: Example) -> None:
    text = "\n".join(json.dumps(document) for document in seed.documents)
    reading = read([Source(seed.name, text.encode())])

    assert [str(problem) for problem in reading.problems] == []
    assert reading.workloads != ()


def test_what_is_read_without_problems_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Outcome:
        raise KeyError("lost")

    monkeypatch.setattr(Engine, "solve", broken)

    assert any("KeyError" in fuzz_run.tried(seed, EXAMPLES).failure for seed in range(20))


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []
    solve = Engine.solve

    def counted(engine: Engine, request: Request) -> Outcome:
        asked.append(request)
        return solve(engine, request)

    monkeypatch.setattr(Engine, "solve", counted)
    monkeypatch.setattr(fuzz_run, "_MOST_PLANNED", 1)
    for seed in range(20):
        before = len(asked)
        fuzz_run.tried(seed, EXAMPLES)
        assert len(asked) <= before + 1
    monkeypatch.setattr(fuzz_run, "_MOST_PODS", -1)
    before = len(asked)
    fuzz_run.tried(0, EXAMPLES)
    assert len(asked) == before


@pytest.mark.skipif(sys.platform != "linux", reason="Other systems do not limit what a process may take.")
def test_a_trial_that_takes_too_much_memory_is_a_failure() -> None:
    program = (
        "from pathlib import Path\n"
        "from tests.trials import fuzz_run\n"
        "fuzz_run._limited()\n"
        "fuzz_run.read = lambda *_, **__: bytearray(fuzz_run._MEMORY)\n"
        f"print(fuzz_run.tried(1, Path({str(EXAMPLES)!r})).failure)\n"
    )

    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=EXAMPLES.parent
    )

    assert told.stdout.startswith("MemoryError")


@pytest.mark.parametrize(
    ("problem", "failure"),
    [
        pytest.param(
            Code("told", "{text:raw}").at(("spec",), text="This is wrong."), "", id="a good one passes"
        ),
        pytest.param(
            wire.NO_OBJECT.at((), found="a list"),
            "",
            id="a whole document passes",
        ),
        pytest.param(
            Code("told", "{text:raw}").at((), text="This is wrong."),
            "a problem without a path",
            id="one without a path",
        ),
        pytest.param(
            Code("told", "{text:raw}").at(("spec",), text="This is wrong"),
            "a message that is no sentence",
            id="no sentence",
        ),
        pytest.param(
            Code("told", "{text:raw}").at(("spec",), text="x" * 3000 + "."),
            "a problem that is too long",
            id="too long",
        ),
        pytest.param(
            Code("told", "{text:raw}").at((Verbatim("s\x1b"),), text="Wrong."),
            "a problem that cannot be printed",
            id="unprintable",
        ),
    ],
)
def test_the_run_judges_problems(monkeypatch: pytest.MonkeyPatch, problem: Problem, failure: str) -> None:
    def read(sources: Sequence[Source], **_: object) -> Reading:
        return Reading(Cluster((), (), ()), (), (Located(sources[0].name, 1, problem),))

    monkeypatch.setattr(fuzz_run, "read", read)
    monkeypatch.setattr(fuzz_run, "translate", lambda *_, **__: Translation((), ()))

    trial = fuzz_run.tried(1, EXAMPLES)

    assert trial.failure == failure
    assert trial.kind == ("failed" if failure else "refused")


def test_the_run_counts_exceptions_and_tells_how_to_see_them_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> Reading:
        raise KeyError("lost")

    monkeypatch.setattr(fuzz_run, "read", broken)
    arguments = ["-n", "3", "--seed", "5", "--processes", "1", "--examples", str(EXAMPLES)]

    assert fuzz_run.main(arguments) == 1
    told = capsys.readouterr().out
    assert "failed 3" in told
    assert "KeyError in test_fuzzed_manifests.py, broken: 3, replay with --only 5000000000" in told
    assert fuzz_run.main(["--only", "5000000000", "--examples", str(EXAMPLES)]) == 1
    assert "KeyError: 'lost'" in capsys.readouterr().out


def test_a_trial_that_never_ends_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object, **__: object) -> Reading:
        while True:
            pass

    monkeypatch.setattr(fuzz_run, "read", endless)
    monkeypatch.setattr(fuzz_run, "_SECONDS", 1)

    assert fuzz_run.tried(1, EXAMPLES).failure.startswith("StuckError")


def test_a_run_without_failures_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["-n", "4", "--processes", "1", "--examples", str(EXAMPLES)]

    assert fuzz_run.main(arguments) == 0
    assert "failed 0" in capsys.readouterr().out
