"""``closeknit validate``: everything that is wrong in the files, without placing anything."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from closeknit.cli import loading, options
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid, remark_noted, remark_skipped
from closeknit.dialects import Reading, Update, compare
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences
from closeknit.scheduler.wording import counted, listed, printable


def validate(
    files: options.Files,
    *,
    old: Annotated[
        list[str] | None,
        typer.Option(
            "--old",
            metavar="PATH",
            help="Files as they were before: tell also what may not change from there. May repeat.",
        ),
    ] = None,
    lenient: options.Lenient = False,
) -> None:
    """List all problems of all files; place nothing.

    One a line on standard error: file, document, path and message.
    """
    with refusing_invalid():
        update = _compared(old, files, lenient=lenient) if old else None
        existing = update.shared if update is not None else ()
        reading = loading.load(files, lenient=lenient, existing=existing)
    problems = [*reading.problems, *((*update.problems, *update.unread) if update is not None else ())]
    complain(problems)
    remark_skipped(reading.skipped)
    remark_noted(reading.workloads)
    if update is not None and not update.shared:
        sys.stderr.write("note: No object stands in both the old and the new files.\n")
    if problems:
        sys.stderr.write(f"{counted(len(problems), 'problem')} found.\n")
        finish(ExitStatus.INVALID)
    sys.stdout.write(f"{_summary(reading)}\n")


def _compared(old: Sequence[str], new: Sequence[str], *, lenient: bool) -> Update:
    if loading.STANDARD_INPUT in (*old, *new):
        raise InvalidError([sentences.OLD_FROM_STDIN.at((Verbatim("--old"),))])
    return compare(list(loading.sources_of(old)), list(loading.sources_of(new)), lenient=lenient)


def _summary(reading: Reading) -> str:
    cluster = reading.cluster
    topologies = listed([printable(topology.name) for topology in cluster.topologies])
    held = sum(holding.pods for holding in cluster.holdings)
    parts = [
        counted(len(reading.workloads), "workload"),
        counted(len(cluster.nodes), "node"),
        counted(held, "running pod"),
        counted(len(cluster.topologies), "topology", "topologies")
        + (f" ({topologies})" if topologies else ""),
    ]
    return f"Valid: {', '.join(parts)}."
