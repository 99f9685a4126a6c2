"""PodDisruptionBudgets as the scheduler reads them from a cluster."""

from __future__ import annotations

from closeknit.apis.policy_v1 import PodDisruptionBudget
from closeknit.dialects.core.neighbours import requirements
from closeknit.dialects.family import Described, Family
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.problems import Problem
from closeknit.scheduler.preempt.budgets import Budget

DISRUPTION_BUDGETS = Family(
    name="disruption-budgets",
    kinds=(Kind("policy", "PodDisruptionBudget", ("v1",), PodDisruptionBudget, optional=True),),
    topologies=lambda _: Described(),
)
"""What a scheduler reads besides workloads: how many pods of a selection may be evicted."""


def budget_of(stored: Stored[PodDisruptionBudget]) -> Budget:
    """A budget as a value.

    A selector with a mistake selects nothing here; the API server rejects such an object.
    """
    budget, found = stored.content, list[Problem]()
    written = budget.spec.selector
    selector = tuple(requirements(written, ("spec", "selector"), found)) if written is not None else None
    return Budget(
        stored.namespace,
        stored.name,
        None if found else selector,
        budget.status.disruptions_allowed,
    )
