"""Where an object was written.

Kept beside the store by those who read files: an object in the store does not know its file.
"""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.dialects.text.documents import Located
from closeknit.dialects.wire.kinds import OwnFile
from closeknit.hub.paths import Path, text_of
from closeknit.hub.problems import Problem
from closeknit.hub.workload import ObjectName


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an object was written."""

    source: str
    document: int
    prefix: Path
    """The path of the object in its document; empty unless it was an item of a list."""
    own_file: OwnFile | None = None
    """Set where the document was a file without apiVersion and kind."""

    def in_file(self, problem: Problem) -> Problem:
        """A problem of the object, at the path that its author sees, counted from the object."""
        return problem if self.own_file is None else self.own_file.in_file(problem)

    def located(self, problem: Problem, name: ObjectName | None) -> Located:
        """A problem of the object, with its place."""
        return Located(self.source, self.document, self.in_file(problem).under(*self.prefix), name)

    def __str__(self) -> str:
        whole = f"{self.source}, document {self.document}"
        return f"{whole}, {text_of(self.prefix)}" if self.prefix else whole


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document of a kind that no family reads, such as a Service."""

    source: str
    document: int
    api_version: str
    kind: str
