"""Read the documents of a YAML text. One that cannot be read does not keep the others from it.

``load`` reads files and ``decode`` what a client sent, which is one document.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

import yaml

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Category, InvalidError, Problem, shown
from closeknit.hub.sentences import text as sentences
from closeknit.text.tree import MOST_ALIASED, GiveUpError, Tree

try:
    from yaml import CBaseLoader as Events
except ImportError:  # libyaml is missing; the parser in Python yields the same events, slower.
    from yaml import BaseLoader as Events  # type: ignore[assignment]

MOST_BROKEN = 100
"""After how many documents that cannot be read the rest is left. Each costs a new start of the parser."""

MOST_TAG_DIRECTIVES = 100
"""How many `%TAG` directives a text may have: libyaml compares each with all before it."""

_TEMPLATE_MARKS = ("{{", "{%")
_LONGEST_ROW = 1000
_TAG_DIRECTIVE = re.compile("(?:^|[\n\r\x85\u2028\u2029])\ufeff?%TAG")
_DOCUMENT_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)


def decode(text: str) -> tuple[Any, list[Problem]]:
    """The one document of a text with nulls kept, and a problem for each key that a mapping has repeatedly.

    The last of equal keys counts. Raises ``InvalidError`` for what cannot be read, for aliases, by which a
    small text stands for a huge object, and for a second document.
    """
    content: Any = None
    repeated: list[Problem] = []
    for number, (document, problems) in enumerate(load(text, nulls=True, most_aliased=0), start=1):
        if number > 1:
            raise InvalidError([sentences.SECOND_DOCUMENT.at(())])
        skipped = [problem for problem in problems if problem.category is Category.SKIPPABLE]
        if len(skipped) < len(problems):
            raise InvalidError(problems)
        content, repeated = document, skipped
    return content, repeated


def load(
    text: str, *, nulls: bool = False, most_aliased: int = MOST_ALIASED
) -> Generator[tuple[Any, tuple[Problem, ...]], None, None]:
    """Yield each document with its problems. After one that cannot be read, go on at the next."""
    if text.count("%TAG") > MOST_TAG_DIRECTIVES and len(_TAG_DIRECTIVE.findall(text)) > MOST_TAG_DIRECTIVES:
        yield None, (sentences.TOO_MANY_TAG_DIRECTIVES.at((), most=MOST_TAG_DIRECTIVES),)
        return
    start, line = 0, 0
    for _ in range(MOST_BROKEN):
        part = text[start:]
        broken_at = yield from _stream(part, line, nulls=nulls, most_aliased=most_aliased)
        if broken_at is None:
            return
        # A line that starts with three dashes can only be the start of a document, whatever went before it.
        offset = _offset(part, broken_at)
        following = _DOCUMENT_START.search(part, offset)
        if following is None:
            return
        start += following.start()
        line += part.count("\n", 0, following.start())
    where = (Verbatim(f"line {line + 1}, column 1"),)
    yield None, (sentences.TOO_MANY_BROKEN.at(where, most=MOST_BROKEN),)


def _offset(text: str, line: int) -> int:
    """Where a line starts, counted from 0."""
    offset = 0
    for _ in range(line):
        offset = text.find("\n", offset) + 1
        if offset == 0:
            return len(text)
    return offset


def _row(text: str, line: int) -> str:
    start = _offset(text, line)
    return text[start : start + _LONGEST_ROW].partition("\n")[0]


def _remedy(row: str, column: int | None) -> str:
    """What to do about two mistakes that the parser has no words for."""
    if column is not None and row[column : column + 1] == "\t":
        return " A tab stands here. Indent with spaces."
    if any(mark in row for mark in _TEMPLATE_MARKS):
        return " This looks like a template. Fill it in first, and give what comes out of it."
    return ""


def _stream(
    text: str, line: int, *, nulls: bool, most_aliased: int
) -> Generator[tuple[Any, tuple[Problem, ...]], None, int | None]:
    """Yield the documents of a text; returns the line from which to go on if reading broke off."""
    keys: dict[str, str] = {}
    tree = Tree(line, keys)
    begun = 0
    events: Any = Events(text)
    next_event = events.get_event
    try:
        while (event := next_event()) is not None:
            kind = type(event)
            if kind is yaml.DocumentStartEvent:
                begun = event.start_mark.line
                tree = Tree(line, keys, nulls=nulls, most_aliased=most_aliased)
                tree.read(next_event)
                yield tree.content, tuple(tree.problems)
    except GiveUpError as error:
        remedy = _remedy(_row(text, error.line), None)
        given_up = sentences.GAVE_UP.at(error.problem.path, problem=error.problem, remedy=remedy)
        yield None, (*tree.problems, given_up if remedy else error.problem)
        return max(begun + 1, error.line)
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        place = (Verbatim(f"line {where.line + line + 1}, column {where.column + 1}"),) if where else ()
        remedy = _remedy(_row(text, where.line), where.column) if where else ""
        yield None, (*tree.problems, sentences.NOT_YAML.at(place, reason=reason, remedy=remedy))
        # The error may show only at the dashes after the document, but not at those before it.
        return max(begun + 1, where.line if where else 0)
    except yaml.YAMLError as error:
        yield None, (*tree.problems, sentences.NOT_YAML.at((), reason=shown(str(error)), remedy=""))
    finally:
        events.dispose()
    return None
