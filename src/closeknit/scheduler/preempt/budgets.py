"""PodDisruptionBudgets as values: how many more pods each lets go.

The eviction API is the judge, and answers only when it is asked in earnest: a dry run stores no decrement,
so it cannot say whether a whole set may go. So budgets are counted here, before the first eviction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from closeknit.hub.nodes import Requirement
from closeknit.scheduler.preempt.running import BoundPod


class Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget."""

    namespace: str
    name: str
    selector: tuple[Requirement, ...] | None
    """All must hold for a pod's labels. Empty selects every pod of the namespace, None selects no pod."""
    disruptions_allowed: int
    """``status.disruptionsAllowed``; 0 as long as the controller has not written a status."""

    def covers(self, pod: BoundPod) -> bool:
        """Whether the budget selects a pod."""
        if self.selector is None or pod.key.namespace != self.namespace:
            return False
        labels = dict(pod.labels)
        return all(requirement.holds(labels.get(requirement.key)) for requirement in self.selector)


class Budgets:
    """All budgets of a cluster at one moment."""

    def __init__(self, budgets: Iterable[Budget] = (), refused: AbstractSet[str] = frozenset()) -> None:
        """``refused`` are uids of pods of which the API server refused the eviction for good."""
        self._refused = refused
        self._by_namespace: dict[str, list[Budget]] = {}
        for budget in sorted(budgets, key=lambda budget: (budget.namespace, budget.name)):
            self._by_namespace.setdefault(budget.namespace, []).append(budget)
        self._covering: dict[BoundPod, tuple[Budget, ...]] = {}

    def without(self, refused: AbstractSet[str]) -> Budgets:
        """The same budgets, for pods of which these uids are not to be evicted."""
        if not refused:
            return self
        budgets = [budget for beside in self._by_namespace.values() for budget in beside]
        return Budgets(budgets, refused)

    def covering(self, pod: BoundPod) -> tuple[Budget, ...]:
        """The budgets that select a pod, by name."""
        beside = self._by_namespace.get(pod.key.namespace)
        if beside is None:
            return ()
        if (known := self._covering.get(pod)) is None:
            known = self._covering[pod] = tuple(budget for budget in beside if budget.covers(pod))
        return known

    def forbid(self, pod: BoundPod) -> bool:
        """Whether a pod cannot be evicted: it was refused, or has more than one budget, which is refused."""
        return pod.uid in self._refused or len(self.covering(pod)) > 1

    def exceeded(self, pods: Iterable[BoundPod], in_flight: Sequence[BoundPod] = ()) -> tuple[Budget, ...]:
        """The budgets that do not let all these pods go now, by namespace and name.

        ``in_flight`` are pods whose eviction was requested and not answered yet, so that
        ``status.disruptionsAllowed`` does not count them.
        """
        if not self._by_namespace:
            return ()
        wanted = Counter(budget for pod in pods for budget in self.covering(pod))
        if not wanted:
            return ()
        spent = Counter(budget for pod in in_flight for budget in self.covering(pod))
        return tuple(
            budget
            for budget in sorted(wanted, key=lambda budget: (budget.namespace, budget.name))
            if wanted[budget] > budget.disruptions_allowed - spent[budget]
        )

    def room_for(self, pods: Iterable[BoundPod], in_flight: Sequence[BoundPod] = ()) -> bool:
        """Whether all these pods may be evicted now."""
        pods = tuple(pods)
        return not any(self.forbid(pod) for pod in pods) and not self.exceeded(pods, in_flight)
