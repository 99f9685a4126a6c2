"""Runs a case where Closeknit carries it out: in the scheduler, or in Kueue's operator."""

from __future__ import annotations

from tests.peers import harness, kueue_harness
from tests.peers.records import Case, Outcome


def run(case: Case) -> Outcome:
    """What becomes of the units of a case."""
    if any(unit.kind == "kueue" for unit in case.units):
        return kueue_harness.run(case)
    return harness.run(case)
