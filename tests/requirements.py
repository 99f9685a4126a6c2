"""Which tests carry which line of the requirements, and what came of them.

A test names its lines with ``@pytest.mark.requirement("O1", "O2")``. A run with ``--requirements FILE`` adds
its results to that file, so that the runs of ``make test``, ``make test-slow`` and ``make e2e`` fill it together;
``python -m tests.requirements FILE LINES`` makes the page of it that stands in the docs.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

REQUIREMENT = "requirement"
PLACES = ("embedded", "API server")
"""Where a test ran: in this process, files and the embedded cluster alike, or on a real control plane."""
_ROW = re.compile(r"^\| (?P<number>[A-Z]\d+) \| (?P<asked>.+?) \| [^|]* \|$")
_HEADING = re.compile(r"^## (?P<family>\w+)")
_WORST = ("failed", "skipped", "passed")
_HEAD = """# What the five designs ask for, and the tests that carry it

Made by `make test test-slow e2e requirements` from the marks and the results of the tests; not written by hand. *embedded* is what ran
in one process, on files or on the embedded cluster; *API server* is what ran on a real control plane.
"""


class Results:
    """What came of each test that carries a requirement, from one run or from several."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._results: dict[str, dict[str, str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Let each report say what its test carries; a report is all that reaches the process that writes."""
        for item in items:
            where = PLACES[1] if item.get_closest_marker("e2e") else PLACES[0]
            for mark in item.iter_markers(REQUIREMENT):
                item.user_properties.extend((REQUIREMENT, f"{number} {where}") for number in mark.args)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of set-up, call and tear-down, and of all parameters."""
        test = report.nodeid.split("[")[0]
        for name, carried in report.user_properties:
            if name == REQUIREMENT:
                found = self._results.setdefault(str(carried), {})
                found[test] = min(found.get(test, "passed"), report.outcome, key=_WORST.index)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add the results to those that are there."""
        if hasattr(session.config, "workerinput"):
            return
        known = json.loads(self._file.read_text()) if self._file.exists() else {}
        for carried, found in self._results.items():
            known.setdefault(carried, {}).update(found)
        self._file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def asked(lines: Path) -> Iterator[tuple[str, str, str]]:
    """Family, number and words of every line that is asked for."""
    family = ""
    for line in lines.read_text(encoding="utf-8").splitlines():
        if heading := _HEADING.match(line):
            family = heading["family"]
        elif row := _ROW.match(line):
            yield family, row["number"], row["asked"]


def page(results: Mapping[str, Mapping[str, str]], lines: Path) -> str:
    """The page of the docs, a table for each family."""
    written, last = [_HEAD], ""
    for family, number, words in asked(lines):
        if family != last:
            written.append(f"\n## {family}\n\n| line | asked for | tests | {' | '.join(PLACES)} |")
            written.append("|---|---|---|" + "---|" * len(PLACES))
            last = family
        by_place = [results.get(f"{number} {place}", {}) for place in PLACES]
        tests = sorted({test for found in by_place for test in found})
        cells = [min(found.values(), key=_WORST.index, default="") for found in by_place]
        named = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests) or "**none**"
        written.append(f"| {number} | {words} | {named} | {' | '.join(cells)} |")
    return "\n".join(written) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])))
