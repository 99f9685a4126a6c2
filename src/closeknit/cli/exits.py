"""How a command ends: its exit status, and what it says on standard error."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from closeknit.dialects import Located, Skipped
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.workload import Workload
from closeknit.scheduler.wording import counted, printable, title


class ExitStatus(IntEnum):
    """The meaning of each exit status; scripts rely on these."""

    DONE = 0
    """Everything is placed, or valid."""
    UNEXPECTED = 1
    INVALID = 2
    """Wrong usage or invalid input, with every problem on standard error."""
    UNPLACED = 3
    """At least one workload is not placed."""
    INTERRUPTED = 130
    """Ctrl-C; Typer ends so by itself, and so does ``main`` while modules load."""
    BROKEN_PIPE = 141
    """The reader of standard output went away, as with ``| head``."""


def finish(status: ExitStatus) -> None:
    """End the command; returns where the status is zero, so that it may be the last line."""
    if status is not ExitStatus.DONE:
        raise typer.Exit(status)


def complain(problems: Iterable[Problem | Located]) -> None:
    """Put problems on standard error, one a line."""
    sys.stderr.writelines(f"{printable(str(problem))}\n" for problem in problems)


def remark_skipped(skipped: Iterable[Skipped]) -> None:
    """Say which kinds of documents nobody here reads, so that a missing workload is no riddle."""
    kinds = Counter((each.kind, each.api_version) for each in skipped)
    for (kind, api_version), number in sorted(kinds.items()):
        sys.stderr.write(
            f"note: {counted(number, 'document')} of kind {printable(kind)} ({printable(api_version)})"
            f" {'was' if number == 1 else 'were'} passed over: no dialect reads that kind.\n"
        )


def remark_noted(workloads: Iterable[Workload]) -> None:
    """Say what is worth knowing about workloads that are valid nevertheless."""
    for workload in workloads:
        for note in workload.notes:
            sys.stderr.write(f"note: {title(workload.object)}: {printable(str(note))}\n")


@contextmanager
def refusing_invalid() -> Iterator[None]:
    """Turn invalid input into its problems on standard error and the exit status for it."""
    try:
        yield
    except InvalidError as error:
        complain(error.problems)
        raise typer.Exit(ExitStatus.INVALID) from error
