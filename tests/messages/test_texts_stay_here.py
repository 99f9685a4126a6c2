"""The wording of a message is asserted in its table and nowhere else."""

from __future__ import annotations

import re
import string
from functools import cache
from pathlib import Path

from tests.kit.problems import catalogue

TESTS = Path(__file__).parents[1]
ALLOWED = {"messages"}
"""Folders of tests that may quote messages."""
_LEAST_WORDS, _LEAST_CHARACTERS = 4, 18
"""A shorter fragment may occur by chance."""


@cache
def fragments() -> dict[str, str]:
    """By literal part of a template that is long enough to be recognised, the name of its code."""
    found: dict[str, str] = {}
    for _, _, code in catalogue():
        parts = [literal.strip() for literal, _, _, _ in string.Formatter().parse(code.sentence)]
        for part in parts:
            words = [word for word in part.split() if word.strip(",.:;").isalpha()]
            if len(words) >= _LEAST_WORDS and len(part) >= _LEAST_CHARACTERS:
                found.setdefault(part, code.name)
    return found


def test_no_test_outside_the_tables_quotes_a_message() -> None:
    pattern = re.compile("|".join(re.escape(part) for part in sorted(fragments(), key=len, reverse=True)))
    quoted = [
        f"{path.relative_to(TESTS)} quotes {fragments()[match[0]]}: {match[0]!r}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.relative_to(TESTS).parts[0] not in ALLOWED
        # Long literals are written in several parts.
        for match in pattern.finditer(re.sub(r'"\n\s*f?"', "", path.read_text()))
    ]

    assert quoted == []
