"""The run of slices says what went wrong."""

from __future__ import annotations

import pytest

from tests.trials import slices_run
from tests.trials.slices_run import Decision


@pytest.mark.parametrize(
    ("kind", "seconds", "status"),
    [
        pytest.param("placed", 0.01, 0, id="placed soon"),
        pytest.param("unplaceable", 0.01, 0, id="found soon to have no place"),
        pytest.param("undecided", 0.01, 1, id="undecided"),
        pytest.param("wrong", 0.01, 1, id="wrong"),
        pytest.param("placed", 0.02, 1, id="placed late"),
    ],
)
def test_a_run_fails_where_an_instance_is_not_decided_rightly_and_soon(
    kind: str,
    seconds: float,
    status: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slices_run, "decision_of", lambda seed: Decision(seed, kind, seconds))

    assert slices_run.main(["-n", "3", "--processes", "1"]) == status
    assert f"{kind} 3" in capsys.readouterr().out.splitlines()


def test_an_instance_is_decided_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    slices_run.main(["--only", "1"])

    lines = capsys.readouterr().out.splitlines()
    assert {"undecided 0", "wrong 0"} <= set(lines)
