"""What a command reads: what ``-f`` names, as often as wanted, and the cluster that ``--context`` names."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from closeknit.cli import clusters, live
from closeknit.cli.templates import values_of, with_templates_filled
from closeknit.dialects import KINDS, Kind, Reading, Served, Source, read
from closeknit.hub.keys import Key
from closeknit.hub.nearest import nearest
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError, Problem, shown
from closeknit.hub.sentences import cli as sentences
from closeknit.scheduler.wording import printable
from closeknit.text.documents import LARGEST

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_BIG = 2_000_000
"""Bytes from which reading takes long enough to say so."""
_MANY = 2_000
"""Objects from which it does."""


@dataclass(frozen=True, slots=True)
class Given:
    """All that a command was given to read."""

    files: tuple[Source, ...] = ()
    cluster: Served | None = None

    @property
    def sources(self) -> list[Source | Served]:
        """Files and cluster alike."""
        return [*self.files, *([self.cluster] if self.cluster is not None else [])]

    @property
    def place(self) -> str:
        """How sentences speak of it."""
        if self.cluster is None:
            return "the files"
        return f"the files and {self.cluster.name}" if self.files else self.cluster.name

    @property
    def holders(self) -> str:
        """The same with its verb, before what there is or is not."""
        return f"{self.place} {'hold' if self.files or self.cluster is None else 'holds'}"


def given(
    files: Sequence[str],
    context: str = "",
    kubeconfig: str = "",
    kinds: Sequence[Kind] = KINDS,
    *,
    settings: Sequence[str] = (),
    asked: str = "",
) -> Given:
    """Everything that ``-f`` names, and the objects of these kinds in the cluster that is named.

    ``asked`` is the kind that the command is about, where it names one.
    Raises ``InvalidError`` when nothing is named, or when a file cannot be read at all. Notes on how a
    cluster was read go to standard error.
    """
    if not files and not context and not kubeconfig:
        raise InvalidError([sentences.NOTHING_TO_READ.at((Verbatim("-f"),))])
    sources = tuple(sources_of(files, settings))
    if not context and not kubeconfig:
        return Given(sources)
    with working("Reading the cluster", big=True, steps=0) as progress:
        found = clusters.ask(context, kubeconfig, lambda asked: live.read_cluster(asked, progress, kinds))
    notes = (found.unserved.note(found.served, sources, asked), *found.unread)
    sys.stderr.writelines(f"note: {printable(note)}\n" for note in notes if note)
    return Given(sources, found.served)


def reading_of(
    given: Given,
    *,
    lenient: bool,
    partial: bool = False,
    existing: Collection[Key] = (),
    schedulers: Collection[str] = (),
) -> Reading:
    """What can be made of it; what is wrong with single objects is in the result.

    ``partial``, ``existing`` and ``schedulers`` are those of ``closeknit.dialects.read``.
    """
    size = sum(len(source.content) for source in given.files)
    number = len(given.cluster.objects) if given.cluster is not None else 0
    what = f"Reading {size / 1e6:.0f} MB" if size >= _BIG else f"Reading {number} objects"
    with working(what, big=size >= _BIG or number >= _MANY):
        return read(given.sources, lenient=lenient, partial=partial, existing=existing, schedulers=schedulers)


def sources_of(files: Sequence[str], settings: Sequence[str] = ()) -> list[Source]:
    """Every file named, each once, directories in the order of their names; templates are filled in.

    ``settings`` are what ``--set`` says.
    """
    values = values_of(settings)
    return with_templates_filled(list(_named(files)), values)


def _named(files: Sequence[str]) -> Iterator[Source]:
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
        yield Source("<stdin>", sys.stdin.buffer.read(LARGEST + 1))


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
        # What has no end, such as a device, is refused as too large and not read for ever.
        with Path(name).open("rb") as file:
            yield file.read(LARGEST + 1)
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
def working(what: str, *, big: bool, steps: int | None = None) -> Iterator[live.Progress]:
    """Show on standard error, where that is a terminal, that a long task is under way.

    Gives what to call after each of its steps; without a number of steps the bar
    moves by itself, as how far a parser has come inside one file is not known.
    """
    if not big or not sys.stderr.isatty():
        yield lambda done=1, *, more=0: None  # noqa: ARG005 (nobody watches)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=steps)
        total = steps or 0

        def step(done: int = 1, *, more: int = 0) -> None:
            nonlocal total
            total += more
            progress.update(task, advance=done, total=total if steps is not None else None)

        yield step
