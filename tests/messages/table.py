"""Message tables: every message code of a catalogue with example facts and the text rendered from them.

The tables are the only place where the wording of messages is asserted. To change a message, change the
catalogue and its row; everything else asserts codes and facts (``tests/kit/problems.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from closeknit.hub.problems import Code, Fact
from tests.kit.problems import catalogue


@dataclass(frozen=True)
class Row:
    """A code, the text that people read, and the facts from which it is rendered."""

    code: Code
    text: str
    facts: dict[str, Fact]


def message(code: Code, text: str, /, **facts: Fact) -> Row:
    """A row of a table."""
    return Row(code, text, facts)


def mistakes(name: str, rows: Sequence[Row]) -> list[str]:
    """What is wrong with the table of a catalogue: texts that differ, codes without a row, foreign codes."""
    codes = {code.name: constant for module, constant, code in catalogue() if module == name}
    listed = {row.code.name for row in rows}
    wrong = [f"{constant} has no row" for code, constant in codes.items() if code not in listed]
    for row in rows:
        if row.code.name not in codes:
            wrong.append(f"{row.code.name} is no code of this catalogue")
        rendered = row.code.at((), **row.facts).message
        if rendered != row.text:
            wrong.append(f"{row.code.name} reads {rendered!r} instead of {row.text!r}")
    return wrong
