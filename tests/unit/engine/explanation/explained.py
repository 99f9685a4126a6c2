"""Short ways to ask why."""

from __future__ import annotations

from closeknit.engine import Engine
from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import (
    Change,
    Shortfall,
    Unplaceable,
)
from closeknit.hub.request import Request
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import parse


def racks(*counts: int, required: str | None = None, minimum: int | None = None) -> Request:
    """Groups ``a``, ``b`` and so on of so many pods, each in one rack."""
    named = zip("abc", counts, strict=False)
    groups = (group(name, pods(f"{name}w", count), required="rack") for name, count in named)
    return request("t", *groups, required=required, minimum=minimum)


def shortfalls(cluster: Cluster, asked: Request) -> tuple[Shortfall, ...]:
    outcome = Engine(cluster).solve(asked)
    assert isinstance(outcome, Unplaceable)
    return outcome.shortfalls


def only(cluster: Cluster, asked: Request) -> Shortfall:
    (shortfall,) = shortfalls(cluster, asked)
    return shortfall


def changes(shortfall: Shortfall) -> list[tuple[Change, ...]]:
    return [relaxation.changes for relaxation in shortfall.relaxations]


TWO_RACKS = parse("""
    b1
      r1
        x1: 4
        x2: 4
      r2
        x3: 4
""")
