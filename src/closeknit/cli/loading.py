"""From ``-f`` to what it holds: a file, a directory or standard input, as often as wanted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from closeknit.dialects import Reading, Source, read
from closeknit.hub.keys import Key
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, Problem, nearest, shown
from closeknit.hub.sentences import cli as sentences

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_BIG = 2_000_000
"""Bytes from which reading takes long enough to say so."""


def load(files: Sequence[str], *, lenient: bool, existing: Collection[Key] = ()) -> Reading:
    """Read everything that ``-f`` names.

    Raises ``InvalidError`` when a file cannot be read at all; what is wrong inside the files
    is in the result.
    """
    sources = list(sources_of(files))
    size = sum(len(source.content) for source in sources)
    with working(f"Reading {size / 1e6:.0f} MB", big=size >= _BIG):
        return read(sources, lenient=lenient, existing=existing)


def sources_of(files: Sequence[str]) -> Iterator[Source]:
    """The bytes of every file named, each file once, directories in the order of their names."""
    found: list[Problem] = []
    paths: dict[Path, str] = {}
    standard_input = False
    for name in files:
        if name == STANDARD_INPUT:
            if standard_input:
                found.append(sentences.STDIN_TWICE.at((Verbatim("-f -"),)))
            standard_input = True
        else:
            for path in _files(name, found):
                paths.setdefault(path.resolve(), str(path))
    contents = [
        Source(shown_name, content)
        for shown_name in paths.values()
        for content in _content(shown_name, found)
    ]
    if found:
        raise InvalidError(found)
    yield from contents
    if standard_input:
        yield Source("<stdin>", sys.stdin.buffer.read())


def _files(name: str, found: list[Problem]) -> Iterator[Path]:
    path = Path(name)
    if not path.is_dir():
        # Whether it exists shows when it is read; asking before would be a second answer.
        yield path
        return
    try:
        inside = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES and not each.is_dir())
    except OSError as error:
        found.append(sentences.UNREADABLE_DIRECTORY.at((Verbatim(name),), reason=str(error.strerror)))
        return
    if not inside:
        found.append(sentences.EMPTY_DIRECTORY.at((Verbatim(name),), suffixes=", ".join(SUFFIXES)))
    yield from inside


def _content(name: str, found: list[Problem]) -> Iterator[bytes]:
    try:
        yield Path(name).read_bytes()
    except FileNotFoundError:
        found.append(sentences.NO_SUCH_FILE.at((Verbatim(name),), remedy=_near(Path(name))))
    except OSError as error:
        found.append(sentences.UNREADABLE_FILE.at((Verbatim(name),), reason=str(error.strerror)))


def _near(path: Path) -> str:
    try:
        near = nearest(path.name, [each.name for each in path.parent.iterdir()])
    except OSError:
        return ""
    return f" Did you mean {shown(near)}?" if near is not None else ""


@contextmanager
def working(what: str, *, big: bool, steps: int | None = None) -> Iterator[Callable[[], None]]:
    """Show on standard error, where that is a terminal, that a long task is under way.

    Gives what to call after each of its steps; without a number of steps the bar
    moves by itself, as how far a parser has come inside one file is not known.
    """
    if not big or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=steps)
        yield lambda: progress.advance(task)
