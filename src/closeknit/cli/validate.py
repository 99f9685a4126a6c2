"""``closeknit validate``: everything that is wrong in the files, without placing anything."""

from __future__ import annotations

import sys

from closeknit.cli import loading, options
from closeknit.cli.exits import ExitStatus, complain, finish, refusing_invalid, remark_noted, remark_skipped
from closeknit.cli.wording import counted, listed, printable
from closeknit.dialects import Reading


def validate(files: options.Files, *, lenient: options.Lenient = False) -> None:
    """List all problems of all files; place nothing.

    One a line on standard error: file, document, path and message.
    """
    with refusing_invalid():
        reading = loading.load(files, lenient=lenient)
    complain(reading.problems)
    remark_skipped(reading.skipped)
    remark_noted(reading.workloads)
    if reading.problems:
        sys.stderr.write(f"{counted(len(reading.problems), 'problem')} found.\n")
        finish(ExitStatus.INVALID)
    sys.stdout.write(f"{_summary(reading)}\n")


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
