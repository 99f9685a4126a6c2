"""What tests ask of a workload of any type."""

from __future__ import annotations

from closeknit.hub.problems import Problem
from closeknit.hub.workload import PlaceableWorkload, Workload


def problems_of(workload: Workload) -> tuple[Problem, ...]:
    """What is wrong with a workload; nothing for one that can be placed."""
    return () if isinstance(workload, PlaceableWorkload) else workload.problems
