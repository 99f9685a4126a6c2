"""The page that says which test carries which line of the requirements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from tests.requirements import Results, page

LINES = """\
## OSMO, the first design

| # | what is asked | today |
|---|---|---|
| O1 | four tasks in one clique | files |
| O2 | a pool lists its keys | live |
"""


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "lines.md"
    file.write_text(LINES)
    return file


@pytest.mark.parametrize(
    ("results", "row"),
    [
        pytest.param(
            {
                "O1 embedded": {"tests/a.py::test_a": "passed"},
                "O1 API server": {"tests/a.py::test_a": "passed"},
            },
            "| O1 | four tasks in one clique | `a.py::test_a` | passed | passed |",
            id="a test that ran in both places is named once",
        ),
        pytest.param(
            {"O1 embedded": {"tests/a.py::test_a": "passed", "tests/b.py::test_b": "failed"}},
            "| O1 | four tasks in one clique | `a.py::test_a`<br>`b.py::test_b` | failed |  |",
            id="a line holds where all its tests pass",
        ),
        pytest.param(
            {}, "| O2 | a pool lists its keys | **none** |  |  |", id="a line that nothing carries shows"
        ),
    ],
)
def test_page(lines: Path, results: dict[str, dict[str, str]], row: str) -> None:
    assert row in page(results, lines).splitlines()


def test_several_runs_fill_one_file(tmp_path: Path, pytester_session: pytest.Session) -> None:
    file = tmp_path / "results.json"
    runs: tuple[tuple[str, Literal["passed", "skipped"]], ...]
    runs = (("embedded", "passed"), ("API server", "skipped"))
    for place, outcome in runs:
        results = Results(file)
        report = pytest.TestReport(
            "tests/a.py::test_a[1]",
            ("a", 1, "a"),
            {},
            outcome,
            None,
            "call",
            user_properties=[("requirement", f"O1 {place}")],
        )
        results.pytest_runtest_logreport(report)
        results.pytest_sessionfinish(pytester_session)
    assert json.loads(file.read_text()) == {
        "O1 embedded": {"tests/a.py::test_a": "passed"},
        "O1 API server": {"tests/a.py::test_a": "skipped"},
    }


@pytest.fixture
def pytester_session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pytest.Session:
    """The session of this run, as the process sees it that writes the results."""
    monkeypatch.delattr(request.session.config, "workerinput", raising=False)
    return request.session
