"""Whether pods of other queues may be taken back for a waiting unit: to the fair split, and no further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from closeknit.hub.accounts import Accounts
from closeknit.hub.keys import Key
from closeknit.hub.quota import Account
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from closeknit.scheduler.preempt.eligibility import sides
from closeknit.scheduler.preempt.fair_share import FairShares
from closeknit.scheduler.preempt.running import RunningUnit, Victim


@dataclass(frozen=True)
class Reclaim:
    """What a unit asks for, and what queues use and deserve at the moment."""

    workload: PlaceableWorkload
    asked: Resources
    """What it would use more than now."""
    shares: FairShares
    accounts: Accounts
    now: float

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The resources that are compared: those it asks for that its queue takes part in sharing.

        That is where the queue and all queues above it have a quota or a weight. A queue that divides GPUs
        and leaves CPU and memory open would else have a share of zero in these, and could reclaim nothing.
        """
        if not self.workload.accounts:
            return ()
        path = self.workload.accounts[0].around[:-1]
        return tuple(
            name
            for name in path[0].weights
            if self.asked.get(name, 0) > 0 and all(_takes_part(queue, name) for queue in path)
        )

    def is_due(self) -> bool:
        """Whether the unit's own queue stays within its fair share with it."""
        resources = self.resources
        return bool(resources) and self._within_share(self.workload.accounts[0], resources)

    def may_lose(self, unit: RunningUnit) -> bool:
        """Whether the queue of a running unit uses so much now that something may be taken from it."""
        own, other = sides(self.workload, unit.workload)
        return self._may_lose(own, other, {})

    def allows(self, victims: Sequence[Victim]) -> bool:
        """Whether all these victims may be taken back together.

        They are counted one after the other, lowest priority first, then least lost work, then by name:
        surplus pods one by one, and what is left of a unit as a whole. Before each, its queue must still use
        too much.
        """
        freed: dict[tuple[str, ...], Resources] = {}
        siblings: dict[tuple[str, ...], Account] = {}
        for victim in sorted(victims, key=self._turn):
            own, other = sides(self.workload, victim.unit.workload)
            for resources in self._steps(victim):
                if not self._may_lose(own, other, freed):
                    return False
                for queue in victim.unit.workload.accounts[0].around:
                    freed[queue.name] = freed.get(queue.name, Resources()) + resources
                    siblings[queue.name] = queue
        return all(
            self._stays_below(queue, siblings, freed) for queue in self.workload.accounts[0].around[1:-1]
        )

    def _turn(self, victim: Victim) -> tuple[int, float, str]:
        lost = sum(pod.seconds_run(self.now) for pod in victim.pods)
        return victim.unit.workload.priority, lost, victim.holder

    def _steps(self, victim: Victim) -> list[Resources]:
        """What becomes free step by step: each surplus pod alone, youngest first, and the minimum at once."""
        steps: list[Resources] = []
        gone: set[Key] = set()
        rest = list(victim.pods)
        for pod in sorted(victim.pods, key=lambda pod: (-pod.started, pod.key)):
            if victim.unit.keeps_minimum({*gone, pod.key}):
                gone.add(pod.key)
                rest.remove(pod)
                steps.append(pod.holding.resources)
        if rest:
            steps.append(sum((pod.holding.resources for pod in rest), Resources()))
        return steps

    def _may_lose(self, own: Account, other: Account, freed: dict[tuple[str, ...], Resources]) -> bool:
        def used(name: str) -> int:
            return self.accounts.used(other, name) - freed.get(other.name, Resources()).get(name, 0)

        resources = self.resources
        if any(used(name) > self.shares.of(other, name) for name in resources):
            return True
        return self._within_quota(own, resources) and any(
            used(name) > other.quota.get(name, 0) for name in resources
        )

    def _within_share(self, queue: Account, resources: Sequence[str]) -> bool:
        return all(self._with_unit(queue, name) <= self.shares.of(queue, name) for name in resources)

    def _within_quota(self, queue: Account, resources: Sequence[str]) -> bool:
        return all(self._with_unit(queue, name) <= queue.quota.get(name, 0) for name in resources)

    def _with_unit(self, queue: Account, name: str) -> int:
        return self.accounts.used(queue, name) + self.asked.get(name, 0)

    def _stays_below(
        self,
        queue: Account,
        involved: dict[tuple[str, ...], Account],
        freed: dict[tuple[str, ...], Resources],
    ) -> bool:
        """Whether a queue above the unit uses a smaller part of its share than siblings that lose pods."""
        for sibling in involved.values():
            if sibling.name == queue.name or not _beside(sibling, queue):
                continue
            for name in self.resources:
                mine = self._with_unit(queue, name) - freed.get(queue.name, Resources()).get(name, 0)
                theirs = self.accounts.used(sibling, name) - freed[sibling.name].get(name, 0)
                share = self.shares.of(queue, name)
                if mine > share and _part(mine, share) >= _part(theirs, self.shares.of(sibling, name)):
                    return False
        return True


def _takes_part(queue: Account, resource: str) -> bool:
    """Whether a queue has a quota or a weight in a resource."""
    return queue.quota.get(resource, 0) > 0 or queue.weights.get(resource, 0.0) > 0


def _beside(queue: Account, other: Account) -> bool:
    return (queue.within and queue.within.name) == (other.within and other.within.name)


def _part(used: int, share: int) -> float:
    """Usage divided by the fair share; a share of zero makes it infinite."""
    return used / share if share > 0 else inf
