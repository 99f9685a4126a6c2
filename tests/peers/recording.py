"""Writes the page of the docs: ``python -m tests.peers.recording``; ``--record`` runs all cases and records them first.

Recording writes what Closeknit does into every case whose outcome has changed. One that now agrees with the peer
becomes ``same``; one that differs in another way than before gets the cause ``unreviewed``, which a test refuses:
``--show unreviewed`` prints these, for whoever writes verdict and cause into their files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from closeknit.hub.copying import replace
from tests.peers import page, records
from tests.peers.comparing import as_expected, same
from tests.peers.records import PEERS, UNREVIEWED, Case, Outcome
from tests.peers.running import run


def main(arguments: list[str]) -> int:
    """Record if asked to, and write the page."""
    parser = argparse.ArgumentParser(prog="tests.peers.recording", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write outcomes and verdicts that changed")
    parser.add_argument("--show", metavar="CAUSE", help="print the cases that differ for this cause")
    options = parser.parse_args(arguments)
    if options.record:
        for peer in PEERS:
            for line in record(peer):
                sys.stdout.write(f"{line}\n")
    for peer in PEERS if options.show else ():
        for file, case in records.cases(peer):
            if case.cause == options.show:
                sys.stdout.write(f"\n{file.parent.name}/{file.name}\n{records.written_case(case)}\n")
    page.PAGE.write_text(page.written(), encoding="utf-8")
    return 0


def record(peer: str) -> Iterator[str]:
    """Record the cases of a peer; a line for each verdict or outcome that changed."""
    for file in records.files(peer):
        table = records.read(file)
        cases = [judged(case, run(case)) for case in table.cases]
        if cases != table.cases:
            records.write(file, replace(table, cases=cases))
        for before, after in zip(table.cases, cases, strict=True):
            if before != after:
                yield _line(file, before, after)


def judged(case: Case, outcome: Outcome) -> Case:
    """A case with this outcome recorded."""
    if as_expected(case, outcome):
        return replace(case, verdict="same", cause="", reason="", closeknit=None)
    if case.closeknit is not None and same(case, case.closeknit, outcome):
        return case
    if case.verdict != "same" and case.closeknit is None:
        # It was judged before it was first recorded.
        return replace(case, closeknit=outcome)
    return replace(case, verdict="different", cause=UNREVIEWED, reason="", closeknit=outcome)


def _line(file: Path, before: Case, after: Case) -> str:
    verdict = after.verdict if before.verdict == after.verdict else f"{before.verdict} -> {after.verdict}"
    return f"{file.parent.name}/{file.name}: {before.id}: {verdict} {after.cause}".rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
