"""A source's bytes become plain documents, each with its number, or problems with their place.

No file makes this package raise, recurse without end or fill the memory: size, nesting and what YAML
aliases stand for have limits, and a file that exceeds one has a problem. A field whose value is null is
left out of its mapping, because to Kubernetes the two mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from closeknit.hub.paths import Path, Verbatim
from closeknit.hub.problems import Category, Problem, Severity, parted
from closeknit.hub.sentences import text as sentences
from closeknit.hub.workload import ObjectName
from closeknit.text import json, yaml

Plain: TypeAlias = "dict[str, Plain] | list[Plain] | str | int | float | bool | None"
"""What a document is made of."""

LARGEST = 64 * 2**20
"""The most bytes that a source may have."""

# What YAML calls printable. Anything else could only hide something from a reader, or confuse a terminal.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")

_PLAIN = bytes([*b"\t\n\r", *range(0x20, 0x7F)])


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a source, as plain values."""

    source: str
    number: int | None
    """Counted from 1 within the source; None for an object of a cluster, which is known by its name."""
    content: Plain


def parse(source: Source | Served) -> Iterator[Document | Located]:
    """Yield the documents of a source that can be read, and the problems of those that cannot."""
    if isinstance(source, Served):
        yield from (Document(source.name, None, each) for each in source.objects)
        return
    yield from (Located(source.name, number, problem) for number, problem in source.told)
    text = text_of(source.content)
    if isinstance(text, Problem):
        yield Located(source.name, 0, text)
        return
    for number, (content, problems) in enumerate(json.load(text) or yaml.load(text), start=1):
        told = [_of_own_format(content, problem) for problem in problems]
        yield from (Located(source.name, number, problem) for problem in told)
        if not parted(told)[0] and content is not None:
            yield Document(source.name, number, content)


def _of_own_format(content: Plain, problem: Problem) -> Problem:
    """The problem, as a note where a file is no Kubernetes object: who reads it takes the last of two keys.

    An API server refuses an object in which a key stands twice.
    """
    own = isinstance(content, dict) and not content.keys() & {"apiVersion", "kind"}
    return problem.as_note() if own and problem.category is Category.SKIPPABLE else problem


def text_of(content: bytes) -> str | Problem:
    """Bytes as text, or why they are none that is read here."""
    if len(content) > LARGEST:
        return sentences.FILE_TOO_LARGE.at((), most=LARGEST)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8", "replace")
        byte = error.object[error.start]
        return sentences.NOT_UTF8.at(_place(before), byte=f"0x{byte:02x}")
    # Most files are plain ASCII, which needs no closer look.
    if content.translate(None, _PLAIN) and (found := _UNPRINTABLE.search(text)):
        before, character = text[: found.start()], ord(found[0])
        return sentences.UNPRINTABLE.at(_place(before), character=f"U+{character:04X}")
    return text


def _place(before: str) -> Path:
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    return (Verbatim(f"line {line}, column {column}"),)


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of one file, under the name by which messages speak of it."""

    name: str
    content: bytes
    told: tuple[tuple[int, Problem], ...] = ()
    """What was told of documents, by their number, when the text was made from a template."""


@dataclass(frozen=True, slots=True)
class Served:
    """The objects of a cluster, under the name by which messages speak of it."""

    name: str
    """As in ``the cluster (context training)``."""
    objects: Sequence[dict[str, Any]]
    """Without fields whose value is null."""
    namespace: str = "default"
    """Where objects in files belong that name no namespace."""


@dataclass(frozen=True, slots=True)
class Located:
    """A problem, and the document it was found in.

    The path starts at the top of the document. In a ``List`` it therefore begins
    with ``items[3].``; for text that is no YAML it is the line and the column.
    """

    source: str
    document: int | None
    """Counted from 1 within the source; 0 where the problem concerns the source as a whole.

    None for an object of a cluster.
    """
    problem: Problem
    object: ObjectName | None = None
    """The object, as far as its document could be read."""

    @property
    def live(self) -> bool:
        """Whether it is a problem of an object that a cluster holds, and of no file."""
        return self.document is None

    @property
    def is_note(self) -> bool:
        """Whether it is worth knowing, and no reason to refuse anything."""
        return self.problem.severity is not Severity.PROBLEM

    def __str__(self) -> str:
        if self.document is not None:
            return f"{self.source}:{self.document}:{self.problem.where or '-'}: {self.problem.message}"
        name = self.object
        named = "/".join(filter(None, (name.kind, name.namespace, name.name))) if name is not None else "-"
        return f"{named} in {self.source}: {self.problem}"
