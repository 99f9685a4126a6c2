"""``closeknit validate``: everything that is wrong in the files or in a cluster, without placing anything."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from closeknit.cli import loading, options
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid, remark, remark_noted
from closeknit.cli.loading import Given
from closeknit.dialects import Reading, Update, compare
from closeknit.hub.copying import replace
from closeknit.hub.paths import Verbatim
from closeknit.hub.problems import InvalidError
from closeknit.hub.sentences import cli as sentences
from closeknit.scheduler.wording import counted, listed, printable


def validate(
    files: options.Files = [],  # noqa: B006 (Typer copies it)
    *,
    context: options.Context = "",
    kubeconfig: options.Kubeconfig = "",
    old: Annotated[
        list[str] | None,
        typer.Option(
            "--old",
            metavar="PATH",
            help="Files as they were before: tell also what may not change from there. May repeat.",
        ),
    ] = None,
    settings: options.Settings = [],  # noqa: B006 (Typer copies it)
    lenient: options.Lenient = False,
) -> None:
    """List all problems of all files; place nothing.

    One a line on standard error: file, document, path and message. With --context or --kubeconfig, what the
    files name is looked up in that cluster, and what may not change from there is told; without files, what
    is wrong with the objects of the cluster.
    """
    with refusing_invalid():
        given = loading.given(files, context, kubeconfig, settings=settings)
        update = _compared(old, files, settings, given, lenient=lenient)
        existing = update.shared if update is not None else ()
        reading = loading.reading_of(given, lenient=lenient, partial=True, existing=existing)
    # Without files, it is the cluster that is to be validated.
    problems = [each for each in reading.problems if not (given.files and each.live)]
    if update is not None:
        problems += (*update.problems, *(each for each in update.unread if not each.live))
    complain(problems)
    if given.files:
        remark(reading)
    else:
        remark(replace(reading, problems=()), most=len(reading.notes))
    remark_noted(each for each in reading.workloads if not (given.files and each.key in reading.live))
    if old and update is not None and not update.shared:
        sys.stderr.write("note: No object stands in both the old and the new files.\n")
    if problems:
        sys.stderr.write(f"{counted(len(problems), 'problem')} found.\n")
        finish(ExitStatus.INVALID)
    sys.stdout.write(f"{_summary(reading)}\n")


def _compared(
    old: Sequence[str] | None, new: Sequence[str], settings: Sequence[str], given: Given, *, lenient: bool
) -> Update | None:
    """What changes from the old files, or else from what is in the cluster."""
    if old and loading.STANDARD_INPUT in (*old, *new):
        raise InvalidError([sentences.OLD_FROM_STDIN.at((Verbatim("--old"),))])
    if old:
        return compare(loading.sources_of(old, settings), given.sources, lenient=lenient)
    if given.files and given.cluster is not None:
        return compare([given.cluster], given.sources, lenient=lenient)
    return None


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
