"""Commands, their output and files as the documentation shows them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(closeknit [a-z][^`]*)`")
_NAMED = re.compile(r"# (\S+\.(?:yaml|json|txt))\n")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of Closeknit or of another program, and what is shown below it."""

    line: str
    heading: str
    shown: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is one of Closeknit's and nothing but that."""
        return self.line.startswith("closeknit ") and "|" not in self.line

    @property
    def words(self) -> list[str]:
        """Its arguments; what follows a ``#`` is a remark, and where output goes is no argument."""
        return self._parts[0]

    @property
    def target(self) -> str | None:
        """The file that its output goes to."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[list[str], str | None]:
        _, *words = shlex.split(self.line, comments=True)
        if ">" in words:
            return words[: words.index(">")], words[-1]
        return words, None


@dataclass(frozen=True)
class File:
    """A file that the text asks the reader to write."""

    name: str
    text: str


def steps(text: str) -> Iterator[Command | File]:
    """Everything that a reader does, in the order of the text."""
    found: list[tuple[int, Command | File]] = []
    fenced = [(match.start(), match.end()) for match in _FENCE.finditer(text)]
    for match in _FENCE.finditer(text):
        language, body = match.groups()
        heading = _heading(text, match.start())
        if language == "console":
            found += [(match.start(), command) for command in _console(body, heading)]
        elif named := _NAMED.match(body):
            found.append((match.start(), File(named.group(1), body)))
    for match in _INLINE.finditer(text):
        inside = any(start <= match.start() < end for start, end in fenced)
        if not inside and "..." not in match.group(1) and not re.search(r"\b[A-Z]{3,}\b", match.group(1)):
            found.append((match.start(), Command(match.group(1), _heading(text, match.start()))))
    return (step for _, step in sorted(found, key=lambda pair: pair[0]))


def fences(path: Path, language: str) -> list[str]:
    """The blocks of one language."""
    return [body for named, body in _FENCE.findall(path.read_text(encoding="utf-8")) if named == language]


def matches(shown: str, printed: str) -> bool:
    """Whether output is what the text shows, in which ``...`` stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*".join(parts), printed) is not None


def _console(body: str, heading: str) -> Iterator[Command]:
    for block in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, _, shown = block.partition("\n")
        yield Command(line, heading, shown)


def _heading(text: str, place: int) -> str:
    return [match.group(1) for match in _HEADING.finditer(text[:place])][-1]
