"""Keeps an eye on the rules among pods while an exact layout walks over nodes.

Every rule is about one domain at a time: which roles are in it, or how many pods. What is known of a domain
is part of the walk's state until its last node is behind; then it is judged and forgotten. For balance, the
fewest pods that any domain ends with are assumed beforehand; the caller tries all numbers that may be.
Rules that had better be kept are watched in the same way, and have a price instead of a judgement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias, TypeGuard

import numpy as np

from closeknit.engine.budget import OutOfBudgetError
from closeknit.engine.component import Item
from closeknit.engine.exact_nodes import LayoutNode, Pattern
from closeknit.engine.neighbour_rules import Balance, Company, Conflict, NeighbourRules, OwnRule
from closeknit.engine.preferred_rules import Preference

Seen: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]
"""By rule: what is known of each domain that was begun, as a number; -1 counts those without company."""
_MOST_FLOORS = 256
"""Ways to assume the fewest pods of a domain, over all rules of balance."""


def floors(
    rules: NeighbourRules, items: Sequence[Item], nodes: Sequence[LayoutNode]
) -> Iterator[tuple[int, ...]]:
    """What the domain with the fewest pods may end with, for every rule of balance.

    Raises ``OutOfBudgetError`` where there is too much of that.
    """
    ranges = []
    ways = 1
    for rule in _with_floor(rules):
        most = rule.running.copy()
        asked = sum(item.open for item in items if item.shape in rule.counted)
        for node in nodes:
            domain = int(rule.domains[node.position])
            if domain >= 0:
                counted = (
                    fit for item, fit in zip(items, node.fits, strict=True) if item.shape in rule.counted
                )
                most[domain] += sum(counted)
        lowest = rule.least(rule.running)
        number = max(int(rule.real.sum()), 1)
        even = (int(rule.running[rule.real].sum()) + asked) // number
        highest = 0 if rule.few else max(min(rule.least(most), even), lowest)
        # Even numbers of pods are the easiest to reach, so the highest floor is tried first.
        ranges.append(range(highest, lowest - 1, -1))
        ways *= len(ranges[-1])
    if ways > _MOST_FLOORS:
        raise OutOfBudgetError
    return product(*ranges)


def _with_floor(rules: NeighbourRules) -> list[Balance | Preference]:
    """Rules for which the fewest pods of a domain count."""
    return [*rules.balances, *(each for each in rules.preferred if each.balances)]


class RuleWatch:
    """The rules of a request, for one walk over nodes."""

    def __init__(
        self,
        rules: NeighbourRules,
        items: Sequence[Item],
        nodes: Sequence[LayoutNode],
        floors: tuple[int, ...],
        weight: int = 0,
    ) -> None:
        """``weight`` is what a distance of one from a preferred rule costs, for a rule of weight one."""
        self._weight = weight
        self._roles = [item.shape for item in items]
        self._watched: list[OwnRule] = [
            *rules.conflicts,
            *rules.company,
            *(each for each in rules.preferred if not each.balances),
            *_with_floor(rules),
        ]
        self._floors = [0] * (len(self._watched) - len(floors)) + list(floors)
        positions = np.array([node.position for node in nodes], dtype=np.int64)
        self._domains = [rule.domains[positions].tolist() for rule in self._watched]
        """By rule and node."""
        self._ending: list[list[list[int]]] = []
        """By rule and node, the domains that end there."""
        self._size: list[dict[int, int]] = []
        for domains in self._domains:
            last = {domain: i for i, domain in enumerate(domains) if domain >= 0}
            ends: list[list[int]] = [[] for _ in nodes]
            for domain, i in last.items():
                ends[i].append(domain)
            self._ending.append(ends)
            size: dict[int, int] = {}
            for domain in domains:
                size[domain] = size.get(domain, 0) + 1
            self._size.append(size)
        self._lacking = [
            self._deficits(rule, number) if _has_floor(rule) else []
            for number, rule in enumerate(self._watched)
        ]
        """By rule of balance and node: what domains lack at the least that end there or later."""
        counting = set[int]().union(
            *(rule.counted for rule in rules.balances), *(rule.hosts for rule in rules.company)
        )
        for rule in rules.company:
            # Whoever goes first is company for those who may not.
            counting |= rule.leaders if rule.leaders != rule.subjects else set()
        for preference in rules.preferred:
            counting |= {preference.subject, *preference.counted}
        concerned = set[int]().union(
            *(rule.foes.keys() for rule in rules.conflicts), *(rule.subjects for rule in rules.company)
        )
        concerned |= {rule.subject for rule in rules.balances}
        self.counting = frozenset(i for i, role in enumerate(self._roles) if role in counting)
        """Items of which any number on a node may be the right one."""
        self.wary = frozenset(i for i, role in enumerate(self._roles) if role in concerned) - self.counting
        """Items that may have to keep off a node, and otherwise use it as far as they can."""

    def _deficits(self, rule: Balance | Preference, number: int) -> list[int]:
        lacking = np.maximum(self._floors[number] - rule.running, 0)
        sums = [0]
        for ending in reversed(self._ending[number] if not rule.few else []):
            sums.append(sums[-1] + sum(int(lacking[domain]) for domain in ending))
        return sums[::-1]

    def begin(self) -> Seen | None:
        """What is known before the first node; None where the floors cannot be reached."""
        for number, rule in enumerate(self._watched):
            if _has_floor(rule):
                unreachable = rule.real & (rule.running < self._floors[number])
                reached = self._size[number]
                if not rule.few and any(
                    domain not in reached for domain in np.flatnonzero(unreachable).tolist()
                ):
                    return None
        return ((),) * len(self._watched)

    def alike(self, at: int) -> bool:
        """Whether a node and the next one are alike to every rule."""
        for number, rule in enumerate(self._watched):
            one, other = self._domains[number][at], self._domains[number][at + 1]
            if one == other:
                continue
            size = self._size[number]
            if min(one, other) < 0 or size[one] > 1 or size[other] > 1:
                return False
            if isinstance(rule, Company) and rule.hosted[one] != rule.hosted[other]:
                return False
            if isinstance(rule, Balance | Preference) and rule.running[one] != rule.running[other]:
                return False
        return True

    def after(
        self, seen: Seen, at: int, pattern: Pattern, following: int, remaining: Pattern
    ) -> tuple[int, Seen] | None:
        """What a node costs that takes a pattern, and what is known behind it, up to the next one.

        None for a broken rule. ``remaining`` are the pods still to be placed.
        """
        result = []
        price = 0
        for number, rule in enumerate(self._watched):
            known = seen[number]
            domain = self._domains[number][at]
            ends = self._ending[number]
            if not any(pattern) and not known and not _has_floor(rule):
                result.append(known)
                continue
            begun = dict(known)
            floor = self._floors[number]
            if isinstance(rule, Preference) and any(pattern):
                price += self._grown_price(rule, floor, domain, begun.get(domain, 0), pattern)
            if domain >= 0 and any(pattern):
                value = self._grown(rule, floor, domain, begun.get(domain, 0), pattern)
                if value is None:
                    return None
                if value:
                    begun[domain] = value
            for i in range(at, following):
                for ended in ends[i]:
                    judged = self._judged(rule, floor, ended, begun.pop(ended, 0), begun)
                    if judged is None:
                        return None
                    price += judged
            if _has_floor(rule) and not rule.few:
                lacking = self._lacking[number][following]
                for domain, value in begun.items() if lacking else ():
                    short = self._floors[number] - int(rule.running[domain])
                    lacking -= max(min(short, rule.pods(value)), 0)
                counted = zip(self._roles, remaining, strict=True)
                if lacking > sum(left for role, left in counted if role in rule.counted):
                    return None
            result.append(tuple(sorted(begun.items())))
        return price * self._weight, tuple(result)

    def ends(self, seen: Seen, at: int) -> int | None:
        """What it costs if no further pod is placed; None where that breaks a rule."""
        price = 0
        for number, rule in enumerate(self._watched):
            begun = dict(seen[number])
            if not begun and not _has_floor(rule):
                continue
            for ending in self._ending[number][at:]:
                for ended in ending:
                    judged = self._judged(rule, self._floors[number], ended, begun.pop(ended, 0), begun)
                    if judged is None:
                        return None
                    price += judged
        return price * self._weight

    def _grown_price(self, rule: Preference, floor: int, domain: int, value: int, pattern: Pattern) -> int:
        """What a pattern adds to the price of a domain, or costs outside of all domains."""
        if domain < 0:
            alone = zip(self._roles, pattern, strict=True)
            return rule.weight * rule.lost * sum(pods for role, pods in alone if role == rule.subject)
        grown = self._grown(rule, floor, domain, value, pattern) or 0
        before = rule.price(domain, value, floor, ended=False)
        return rule.price(domain, grown, floor, ended=False) - before

    def _grown(self, rule: OwnRule, floor: int, domain: int, value: int, pattern: Pattern) -> int | None:
        """What is known of a domain with a pattern more; None for a broken rule."""
        if isinstance(rule, Conflict):
            for role, pods in zip(self._roles, pattern, strict=True):
                foes = rule.foes.get(role)
                if not pods or foes is None:
                    continue
                if (role in foes and pods > 1) or any(value >> foe & 1 for foe in foes):
                    return None
                value |= 1 << role
            return value
        if isinstance(rule, Company):
            if rule.hosted[domain]:
                return 0
            for role, pods in zip(self._roles, pattern, strict=True):
                if pods:
                    value |= (role in rule.subjects) | (role in rule.hosts) << 1 | (role in rule.leaders) << 2
            return value
        if isinstance(rule, Preference):
            for role, pods in zip(self._roles, pattern, strict=True):
                value = rule.more(value, role, pods)
            return value
        # Twice the number of pods, and one more where the subject is among them.
        for role, pods in zip(self._roles, pattern, strict=True):
            if pods:
                value += 2 * pods * (role in rule.counted)
                value |= role == rule.subject
        if value & 1 and rule.running[domain] + (value >> 1) > floor + rule.skew:
            return None
        return value

    @staticmethod
    def _judged(rule: OwnRule, floor: int, domain: int, value: int, begun: dict[int, int]) -> int | None:
        """What a domain that gets no more pods costs beyond what was counted; None where it breaks a rule."""
        if isinstance(rule, Company):
            if value & 1 and not value & 2:
                begun[-1] = begun.get(-1, 0) + 1
                return 0 if value & 4 and begun[-1] <= 1 else None
            return 0
        if _has_floor(rule) and not rule.few and int(rule.running[domain]) + rule.pods(value) < floor:
            return None
        if isinstance(rule, Preference):
            paid = rule.price(domain, value, floor, ended=False)
            return rule.price(domain, value, floor, ended=True) - paid
        return 0


def _has_floor(rule: OwnRule) -> TypeGuard[Balance | Preference]:
    return isinstance(rule, Balance) or (isinstance(rule, Preference) and rule.balances)
