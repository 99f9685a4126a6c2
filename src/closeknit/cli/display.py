"""Trees of text: drawn with Rich on a terminal, indented where output is piped.

Text is shown as it is: nothing in it is taken for markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree


class Tone(Enum):
    """How a piece of text is meant; the values are Rich styles."""

    PLAIN = ""
    TITLE = "bold"
    GOOD = "green"
    BAD = "red"
    DOUBTFUL = "yellow"
    QUIET = "dim"


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of words, each with its tone, and what hangs below it."""

    words: tuple[tuple[str, Tone], ...]
    below: tuple[Branch, ...] = ()

    @property
    def text(self) -> str:
        """The line without its tones."""
        return "".join(word for word, _ in self.words)


def branch(*words: str | tuple[str, Tone], below: Iterable[Branch] = ()) -> Branch:
    """Write a branch; a bare string is plain."""
    toned = tuple((word, Tone.PLAIN) if isinstance(word, str) else word for word in words)
    return Branch(toned, tuple(below))


def indented(top: Branch) -> Iterator[str]:
    """The tree as lines, two spaces a level."""
    pending = [(top, 0)]
    while pending:
        here, depth = pending.pop()
        yield "  " * depth + here.text
        pending.extend((inner, depth + 1) for inner in reversed(here.below))


def console() -> Console:
    """Standard output for people; Rich finds out whether it is a terminal."""
    from rich.console import Console

    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=False)


def show(tops: Iterable[Branch]) -> None:
    """Print trees, drawn on a terminal and indented elsewhere."""
    out = console()
    for top in tops:
        if out.is_terminal:
            out.print(_drawn(top))
        else:
            sys.stdout.writelines(f"{line}\n" for line in indented(top))


def _drawn(top: Branch) -> Tree:
    from rich.tree import Tree

    drawn = Tree(_toned(top), guide_style="dim")
    pending = [(top, drawn)]
    while pending:
        here, twig = pending.pop()
        pending.extend((inner, twig.add(_toned(inner))) for inner in here.below)
    return drawn


def _toned(here: Branch) -> Text:
    from rich.text import Text

    text = Text()
    for word, tone in here.words:
        text.append(word, style=tone.value)
    return text
