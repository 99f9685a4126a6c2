"""How a command ends: its exit status, and what it says on standard error."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

import typer

from closeknit.dialects import Located, Reading, Skipped
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.workload import Workload
from closeknit.scheduler.wording import counted, printable, title

_MOST_REMARKS = 10
"""So many remarks on the objects of a cluster do not drown the rest."""


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


def tell(reading: Reading) -> None:
    """Say what is wrong with the files, and what is worth knowing about all that was read.

    An object that is in a cluster was accepted there. What is wrong with it is no fault of who only reads it.
    """
    complain(each for each in reading.problems if not each.live)
    remark(reading)


def remark(reading: Reading, *, most: int = _MOST_REMARKS) -> None:
    """Say what is worth knowing about all that was read; of the objects of a cluster, so many remarks."""
    remark_skipped(reading.skipped)
    if len(reading.replaced) > _MOST_REMARKS:
        number = counted(len(reading.replaced), "object")
        sys.stderr.write(
            f"note: {number} in the files are in the cluster too; those in the files are read.\n"
        )
    else:
        for each in reading.replaced:
            told = f"{title(each.object)} is in the cluster too; that of {each.by} is read."
            sys.stderr.write(f"note: {printable(told)}\n")
    of_files = [each for each in reading.notes if not each.live]
    remark_live(of_files, most=len(of_files))
    remark_live([each for each in (*reading.notes, *reading.problems) if each.live], most=most)


def remark_live(remarks: Sequence[Located], *, most: int = _MOST_REMARKS) -> None:
    """Say what is worth knowing about objects of a cluster."""
    sys.stderr.writelines(f"note: {printable(str(each))}\n" for each in remarks[:most])
    if len(remarks) > most:
        more = counted(len(remarks) - most, "more remark")
        told = f"{more} on objects in the cluster; closeknit validate without files lists them all."
        sys.stderr.write(f"note: {told}\n")


def faulty(reading: Reading) -> bool:
    """Whether anything is wrong with the files."""
    return any(not each.live for each in reading.problems)


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
