"""The page that says which test carries which line of the requirements, and that some test carries each."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.requirements import REQUIREMENT, Results, asked, page

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


TESTS = Path(__file__).parents[1]
ASKED = TESTS.parents[1] / "shared" / "requirements.md"
NUMBER = re.compile(r"[A-Z]\d+")
_ADDED = "added to the requirements after its design was built; its test is not written yet"
NOT_CARRIED: dict[str, str] = dict.fromkeys(
    (
        "A57",
        *(f"D{number}" for number in range(53, 57)),
        *("G67", *(f"G{number}" for number in range(70, 77))),
        *(f"K{number}" for number in range(124, 129)),
        *(f"O{number}" for number in range(45, 53)),
    ),
    _ADDED,
)
"""Lines that no test carries yet, and why."""


def carried(source: str) -> Iterator[str]:
    """The numbers that a module's marks name; where a mark unpacks a list, all numbers that the module writes."""
    tree = ast.parse(source)
    marks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == REQUIREMENT
    ]
    unpacked = any(isinstance(argument, ast.Starred) for mark in marks for argument in mark.args)
    for root in (tree,) if unpacked else marks:
        for node in ast.walk(root):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and NUMBER.fullmatch(node.value)
            ):
                yield node.value


@pytest.fixture(scope="module")
def named() -> set[str]:
    return {number for file in TESTS.rglob("*.py") for number in carried(file.read_text("utf-8"))}


@pytest.mark.skipif(not ASKED.is_file(), reason=f"The requirements are not at hand: there is no {ASKED}.")
def test_every_line_is_carried_or_listed_as_not_carried_yet(named: set[str]) -> None:
    lines = {number for _, number, _ in asked(ASKED)}

    assert len(lines) > 200
    assert sorted(lines - named) == sorted(NOT_CARRIED)
    assert sorted(named - lines) == [], "a mark names a line that is not there"


def test_numbers_are_found_in_marks_alone() -> None:
    source = 'import pytest\n@pytest.mark.requirement("A1", "B2")\ndef test_x():\n    assert "C3"\n'
    unpacked = 'param(marks=pytest.mark.requirement(*numbers))\nlisted = [("D4", "words")]\n'

    assert list(carried(source)) == ["A1", "B2"]
    assert list(carried(unpacked)) == ["D4"]
