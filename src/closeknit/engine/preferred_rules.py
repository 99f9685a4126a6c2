"""Rules that the pods of one request had better keep among each other, and how far a placement is from that.

Each pod has a *distance* from every such rule that it has, which is 0 where the rule is kept. Criterion 3
adds up the distances of all new pods, each times the weight of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from closeknit.engine.tree import Flags, Ints
from closeknit.hub.neighbours import Apart, Near, PodRule, Spread, weight_of

Take: TypeAlias = tuple[int, Ints, Ints]
"""A role, positions, and how many of its pods go to each."""
_SHIFT = 24
"""Bits for the pods that have the rule; those that count are in the bits above."""


@dataclass(slots=True)
class Preference:
    """A preferred rule of one role, about pods of which some are in the same request."""

    rule: PodRule
    subject: int
    """The role that has the rule."""
    counted: frozenset[int]
    """The roles that the rule selects."""
    domains: Ints
    """By position; -1 where a node lacks the label, or does not count for spreading."""
    running: Ints
    """By domain, the running pods that the rule selects."""
    real: Flags
    """By domain, whether any node of it counts."""
    few: bool = False
    """Whether there are too few domains to spread over, so that the fewest pods of a domain count as none."""

    @property
    def weight(self) -> int:
        """What one pod's distance of one costs."""
        return weight_of(self.rule)

    @property
    def balances(self) -> bool:
        """Whether distances depend on the domain with the fewest pods."""
        return isinstance(self.rule, Spread)

    @property
    def lost(self) -> int:
        """The distance of a pod outside of all domains."""
        return int(not isinstance(self.rule, Apart))

    def least(self, counts: Ints) -> int:
        """The fewest pods of a domain."""
        return 0 if self.few or not self.real.any() else int(counts[self.real].min())

    def distances(self, takes: Sequence[Take]) -> Ints:
        """By domain, how far a pod is there that has the rule; last, how far it is outside of all domains."""
        counts = self.running.copy()
        for role, positions, pods in takes:
            if role in self.counted:
                domains = self.domains[positions]
                inside = domains >= 0
                there = np.bincount(domains[inside], weights=pods[inside], minlength=len(counts))
                counts += there.astype(np.int64)
        return np.append(self._distances(counts, self.least(counts)), self.lost)

    def _distances(self, counts: Ints, least: int) -> Ints:
        """By domain, how far a pod is there that has the rule and is counted if it counts."""
        if isinstance(self.rule, Spread):
            return np.maximum(counts - least - self.rule.skew, 0)
        others = np.maximum(counts - (self.subject in self.counted), 0)
        return (others == 0).astype(np.int64) if isinstance(self.rule, Near) else others

    def one_more(self, role: int, counts: Ints, subjects: Ints) -> Ints:
        """By domain, what one more pod of a role costs there.

        ``counts`` and ``subjects`` are the pods that count and the new ones that have the rule so far.
        """
        least = self.least(counts)
        after = self._distances(counts + (role in self.counted), least)
        before = self._distances(counts, least)
        return self.weight * (after * (subjects + (role == self.subject)) - before * subjects)

    def cost(self, takes: Sequence[Take]) -> int:
        """What pods cost that are placed so."""
        distances = self.distances(takes)
        mine = (take for take in takes if take[0] == self.subject)
        return self.weight * sum(int((distances[self.domains[at]] * pods).sum()) for _, at, pods in mine)

    # ---- one domain at a time ----

    def more(self, value: int, role: int, pods: int) -> int:
        """What is known of a domain, as one number, with so many pods of a role more."""
        return (
            value + (pods if role == self.subject else 0) + ((pods << _SHIFT) if role in self.counted else 0)
        )

    def pods(self, value: int) -> int:
        """The new pods of a domain that count."""
        return value >> _SHIFT

    def price(self, domain: int, value: int, floor: int, *, ended: bool) -> int:
        """What the pods of a domain cost at least, or exactly once no more come.

        ``floor`` is the fewest pods that any domain ends with.
        """
        subjects = value & ((1 << _SHIFT) - 1)
        if not subjects:
            return 0
        count = self.running.item(domain) + (value >> _SHIFT)
        if isinstance(self.rule, Spread):
            distance = max(count - floor - self.rule.skew, 0)
        else:
            distance = count - (self.subject in self.counted)
            if isinstance(self.rule, Near):
                distance = int(distance <= 0 and ended)
        return self.weight * subjects * distance


def cost(preferred: Sequence[Preference], takes: Sequence[Take]) -> int:
    """What pods cost that are placed so, by all rules."""
    return sum(each.cost(takes) for each in preferred)
