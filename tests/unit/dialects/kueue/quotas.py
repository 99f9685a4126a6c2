"""Short ways to write quota, and to count whom it lets in."""

from __future__ import annotations

from typing import Any

from closeknit.hub.outcome import Placed
from closeknit.scheduler.planning import AnyVerdict
from tests.unit.dialects.kueue.kit import cluster_queue, node

NODES = (node("n1", "b", "r1"), node("n2", "b", "r2"), node("s1", "b", "r3", pool="spot"))


def at(quota: int, **spec: Any) -> str:
    return cluster_queue(quota={"nvidia.com/gpu": quota}, **spec)


def offered(**amounts: int) -> dict[str, Any]:
    """A group of resources with quota for GPUs of one flavor."""
    quota = {"name": "nvidia.com/gpu", **amounts}
    return {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "tas", "resources": [quota]}]}


def placed_pods(verdict: AnyVerdict) -> int:
    return len(verdict.outcome.assignments) if isinstance(verdict.outcome, Placed) else 0
