"""The bytes that a person gave us, and a problem in them with its place."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.hub.problems import Problem
from closeknit.hub.workload import ObjectName


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of one file, under the name by which messages speak of it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Located:
    """A problem, and the document it was found in.

    The path starts at the top of the document. In a ``List`` it therefore begins
    with ``items[3].``; for text that is no YAML it is the line and the column.
    """

    source: str
    document: int
    """Counted from 1 within the source; 0 where the problem concerns the source as a whole."""
    problem: Problem
    object: ObjectName | None = None
    """The object, as far as its document could be read."""

    def __str__(self) -> str:
        return f"{self.source}:{self.document}:{self.problem.where or '-'}: {self.problem.message}"
