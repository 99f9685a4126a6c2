"""Workflows that are templates: which parts of a file are to be filled in, and what becomes of the file then.

OSMO fills in the text of a workflow before it reads it. A document of a file is a template if it has a
section ``workflow`` at its top and no kind, and Jinja's marks in it. Values come from ``default-values``,
unless they are set otherwise. Tokens that OSMO fills in when a task runs, such as ``{{output}}``, stay as
they are. Nothing is rendered here: whoever can bound what a template costs does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import Problem
from closeknit.hub.sentences import osmo as sentences

Value = str | int | float
"""What ``--set`` gives a variable."""

_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_SECTION = re.compile(r"^([a-zA-Z][a-zA-Z0-9_-]*):", re.MULTILINE)
_TOKEN = re.compile(r"{{(uuid|workflow_id|output|input:[^}]{1,999}|host:[^}]{1,999})}}")
_MARKS = re.compile(r"{{|{%|{#")
_CONTENT = re.compile(r"^[^\s#]", re.MULTILINE)
_DEFAULTS = "default-values"
_VERBATIM = (_DEFAULTS, "version")
"""Sections that are not filled in."""


@dataclass(frozen=True, slots=True)
class Template:
    """A section of a file that is to be filled in."""

    document: int
    """Counted from 1 within the file."""
    start: int
    end: int
    """Where in the file it stands."""
    line: int
    """How many lines are before it."""
    text: str
    """What Jinja fills in."""
    defaults: str
    """The section that says what variables stand for, in YAML; empty if there is none."""
    tokens: Mapping[str, str]
    """Variables that stand for OSMO's own tokens."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What became of a template."""

    text: str = ""
    missing: tuple[str, ...] = ()
    """Variables without a value, in whose place their names stand."""
    error: str = ""
    """Why it could not be filled in; empty if it could."""
    line: int = 0
    """Where in the template the error is, counted from 1; 0 if it is not known."""


def templates_in(text: str) -> Iterator[Template]:
    """Yield the parts of a file that are to be filled in before it is read."""
    for number, start, end in _documents(text):
        yield from _sections(text, number, start, end)


def _documents(text: str) -> Iterator[tuple[int, int, int]]:
    """Each document with its number and where it stands; comments before the first have the number 0."""
    starts = [0, *(found.start() for found in _DOCUMENT.finditer(text) if found.start())]
    number = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        number += bool(start or _CONTENT.search(text, start, end))
        yield number, start, end


def _sections(text: str, document: int, start: int, end: int) -> Iterator[Template]:
    found = list(_SECTION.finditer(text, start, end))
    ends = [each.start() for each in found[1:]] + [end] * bool(found)
    spans = [(each[1], each.start(), to) for each, to in zip(found, ends, strict=True)]
    names = {name for name, _, _ in spans}
    if "workflow" not in names or names & {"apiVersion", "kind"}:
        return
    defaults = "".join(text[begin:to] for name, begin, to in spans if name == _DEFAULTS)
    for name, begin, to in spans:
        if name not in _VERBATIM and _MARKS.search(_TOKEN.sub("", text[begin:to])):
            hidden, tokens = _with_tokens_hidden(text[begin:to])
            yield Template(document, begin, to, text.count("\n", 0, begin), hidden, defaults, tokens)


def _with_tokens_hidden(text: str) -> tuple[str, dict[str, str]]:
    """The text with a variable in place of each token, and what the variables stand for."""
    found = dict.fromkeys(token[0] for token in _TOKEN.finditer(text))
    names = {token: f"closeknit_token_{i}" for i, token in enumerate(found)}
    hidden = _TOKEN.sub(lambda token: f"{{{{{names[token[0]]}}}}}", text)
    return hidden, {name: token for token, name in names.items()}


def filled(
    text: str, outcomes: Sequence[tuple[Template, Filled]]
) -> tuple[str, tuple[tuple[int, Problem], ...]]:
    """The file with its templates filled in, and what is to be told of its documents, by their number.

    A document of which a part could not be filled in is left empty, so that nothing more is said of it.
    """
    by_document: dict[int, list[tuple[Template, Filled]]] = {}
    for template, outcome in outcomes:
        by_document.setdefault(template.document, []).append((template, outcome))
    parts: list[str] = []
    for number, start, end in _documents(text):
        at, own = start, by_document.get(number, ())
        if any(outcome.error for _, outcome in own):
            parts.append("--- null\n")
            continue
        for template, outcome in own:
            # Jinja leaves out the last line break.
            parts += (text[at : template.start], outcome.text.removesuffix("\n"), "\n")
            at = template.end
        parts.append(text[at:end])
    told = (
        (template.document, problem) for template, outcome in outcomes for problem in _told(template, outcome)
    )
    return "".join(parts), tuple(dict.fromkeys(told))


def _told(template: Template, outcome: Filled) -> Iterator[Problem]:
    if outcome.error:
        where = (Verbatim(f"line {template.line + outcome.line}"),) if outcome.line else ()
        yield sentences.TEMPLATE_FAILED.at(where, reason=outcome.error)
    for name in outcome.missing:
        yield sentences.VALUE_MISSING.at((), name=name)


def value_of(text: str) -> Value:
    """A value as OSMO takes it from its command line: a whole number, a number, or else a text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
