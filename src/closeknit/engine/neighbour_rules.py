"""Rules among the pods of one request, by role and by domain of a label, and whether a layout keeps them.

*Conflict*: roles that never share a domain. *Company*: roles that need others in their domain.
*Balance*: roles that go to no domain that has many more pods than the one with the fewest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from closeknit.engine.preferred_rules import Preference
from closeknit.engine.tree import Flags, Ints, Tree


@dataclass(slots=True)
class Conflict:
    """Roles that never share a domain; one may be in conflict with itself."""

    domains: Ints
    """By position; -1 where a node lacks the label, and so shares nothing."""
    foes: dict[int, set[int]] = field(default_factory=dict)


@dataclass(slots=True)
class Company:
    """Roles that need company in their domain."""

    domains: Ints
    subjects: frozenset[int]
    hosts: frozenset[int]
    """Roles of the request that are company enough, and do not need the same themselves."""
    hosted: Flags
    """By domain, whether somebody runs there who is company enough."""
    leaders: frozenset[int]
    """Subjects of which one may go first, so that one domain needs no other company.

    Those that are meant themselves, where nobody who is meant runs anywhere.
    """


@dataclass(slots=True)
class Balance:
    """A role that goes to no domain that has many more pods than the one with the fewest."""

    domains: Ints
    """By position; -1 where a node does not count."""
    subject: int
    counted: frozenset[int]
    running: Ints
    """By domain, the running pods that count."""
    real: Flags
    """By domain, whether any node of it counts."""
    skew: int
    few: bool
    """Whether there are too few domains, so that the fewest pods count as none."""

    @staticmethod
    def pods(value: int) -> int:
        """The new pods of a domain that count, of what is known of it as one number."""
        return value >> 1

    def least(self, counts: Ints) -> int:
        """The fewest pods of a domain."""
        return 0 if self.few else int(counts[self.real].min(initial=0 if not self.real.any() else 1 << 60))


OwnRule: TypeAlias = Conflict | Company | Balance | Preference
"""A rule among the pods of one request."""


@dataclass(slots=True)
class NeighbourRules:
    """The rules that a layout has to keep among the pods of one request."""

    conflicts: list[Conflict]
    company: list[Company]
    balances: list[Balance]
    preferred: list[Preference] = field(default_factory=list)
    """What they had better keep as well; empty where that does not count."""
    _looks: dict[tuple[int, int], object] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.conflicts or self.company or self.balances or self.preferred)

    def look(self, tree: Tree, position: int) -> tuple[object, ...]:
        """Equal for nodes that no rule tells apart, given that domains of the tree around them are alike."""
        rules: list[OwnRule] = [*self.conflicts, *self.company, *self.balances, *self.preferred]
        return tuple(self._seen_as(tree, i, rule, position) for i, rule in enumerate(rules))

    def _seen_as(self, tree: Tree, i: int, rule: OwnRule, position: int) -> object:
        domain = int(rule.domains[position])
        if domain < 0:
            return None
        if (i, domain) not in self._looks:
            inside = np.flatnonzero(rule.domains == domain)
            # A domain that is one of the tree looks like any other with the same pods in it.
            known: object = domain
            for level, around in enumerate(tree.dom):
                start, end = tree.bounds(level, int(around[inside[0]]))
                if end - start == len(inside) and start == inside[0] and end == inside[-1] + 1:
                    running: Ints | Flags | None = rule.hosted if isinstance(rule, Company) else None
                    running = rule.running if isinstance(rule, Balance | Preference) else running
                    known = ("whole", level, None if running is None else int(running[domain]))
            self._looks[i, domain] = known
        return self._looks[i, domain]

    def bind(self, role: int) -> bool:
        """Whether pods of one role, with no others of the request around, can break them."""
        return (
            any(role in rule.foes.get(role, ()) for rule in self.conflicts)
            or any(role in rule.subjects for rule in self.company)
            or any(role == rule.subject for rule in self.balances)
        )

    @property
    def kept_by_fewer(self) -> bool:
        """Whether what keeps them still does if pods are left out."""
        return not self.company and not self.balances

    def kept(self, takes: Sequence[tuple[int, Ints, Ints]]) -> bool:
        """Whether pods keep them: for each entry, a role, positions and counts."""
        return (
            all(_no_conflict(rule, takes) for rule in self.conflicts)
            and all(_in_company(rule, takes) for rule in self.company)
            and all(_balanced(rule, takes) for rule in self.balances)
        )


def _no_conflict(rule: Conflict, takes: Sequence[tuple[int, Ints, Ints]]) -> bool:
    present: dict[int, dict[int, int]] = {}
    for role, positions, counts in takes:
        if role in rule.foes:
            mine = present.setdefault(role, {})
            for domain, pods in zip(rule.domains[positions].tolist(), counts.tolist(), strict=True):
                if domain >= 0:
                    mine[domain] = mine.get(domain, 0) + pods
    for role, mine in present.items():
        for foe in rule.foes[role]:
            if foe == role and any(pods > 1 for pods in mine.values()):
                return False
            if foe != role and not mine.keys().isdisjoint(present.get(foe, {})):
                return False
    return True


def _in_company(rule: Company, takes: Sequence[tuple[int, Ints, Ints]]) -> bool:
    used: set[int] = set()
    led: set[int] = set()
    hosted: set[int] = set()
    for role, positions, _ in takes:
        there = rule.domains[positions].tolist()
        if role in rule.subjects:
            used.update(there)
        elif role in rule.hosts:
            hosted.update(there)
        if role in rule.leaders:
            led.update(there)
    alone = [domain for domain in used - hosted if domain < 0 or not rule.hosted[domain]]
    return len(alone) <= bool(rule.leaders) and led.issuperset(alone) and -1 not in used


def _balanced(rule: Balance, takes: Sequence[tuple[int, Ints, Ints]]) -> bool:
    counts = rule.running.copy()
    used: list[Ints] = []
    for role, positions, pods in takes:
        domains = rule.domains[positions]
        if role in rule.counted:
            counts += np.bincount(
                domains[domains >= 0], weights=pods[domains >= 0], minlength=len(counts)
            ).astype(np.int64)
        if role == rule.subject:
            used.append(domains)
    if not used or not len(at := np.concatenate(used)):
        return True
    return bool(at.min() >= 0) and int(counts[at].max()) - rule.least(counts) <= rule.skew
