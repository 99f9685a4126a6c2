"""Placing pods one after another so that rules among them are kept: fast, and not always found.

What finds no place here may still have one; whether it has is for an exact layout to say.
"""

from __future__ import annotations

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component
from closeknit.engine.neighbour_rules import NeighbourRules
from closeknit.engine.tree import Flags, Ints

_MOST_WORK = 40_000_000
"""Nodes looked at, over all pods."""


def ruled(
    compiled: CompiledRequest, free: Ints, component: Component, rules: NeighbourRules
) -> list[tuple[Ints, Ints]] | None:
    """Positions and counts of each item of a component; None where what is needed was not placed."""
    for turn in range(4):
        placing = _Placing(compiled, free, component, rules, turn)
        if placing.done():
            return placing.takes()
    return None


class _Placing:
    """One try."""

    def __init__(
        self, compiled: CompiledRequest, free: Ints, component: Component, rules: NeighbourRules, turn: int
    ) -> None:
        self._compiled, self._rules, self._items = compiled, rules, component.items
        self._turn = turn
        tree = compiled.tree
        self._start, end = tree.bounds(component.level, component.domain)
        self._size = end - self._start
        self._left = free[compiled.rows][:, tree.slots[self._start : end]].clip(0)
        self._at = slice(self._start, end)
        self._counts = np.zeros((len(self._items), self._size), dtype=np.int64)
        self._used = np.zeros(self._size, dtype=np.bool_)
        self._levels = [tree.dom[level][self._at] for level in range(tree.depth)]
        self._used_domains = [np.zeros(tree.count(level), dtype=np.bool_) for level in range(tree.depth)]
        self._present: list[dict[int, Flags]] = [{} for _ in rules.conflicts]
        """By conflict and role, the domains that it is in."""
        self._hosted = [rule.hosted.copy() for rule in rules.company]
        self._first = [bool(rule.leaders) for rule in rules.company]
        self._balance = [rule.running.copy() for rule in rules.balances]
        self._work = 0

    def done(self) -> bool:
        """Place all that is needed, then what else fits; False where something needed has no place."""
        order = sorted(range(len(self._items)), key=self._urgency)
        if self._turn % 2:
            order.reverse()
        for needed in (True, False):
            for i in order:
                item = self._items[i]
                left = item.need if needed else item.open - item.need
                while left:
                    taken = self._place(i, left)
                    if not taken:
                        break
                    left -= taken
                if needed and left:
                    return False
        takes = self.takes()
        return self._rules.kept([(item.shape, *take) for item, take in zip(self._items, takes, strict=True)])

    def takes(self) -> list[tuple[Ints, Ints]]:
        """Positions and counts by item."""
        return [(np.flatnonzero(row) + self._start, row[row > 0]) for row in self._counts]

    def _urgency(self, i: int) -> tuple[int, int, float, int]:
        """Whoever gives others company goes first, then the most confined, then the bulkiest."""
        item = self._items[i]
        needs_company = sum(
            (item.shape in rule.subjects) + (item.shape in rule.subjects - rule.leaders)
            for rule in self._rules.company
        )
        bulk = item.open / max(self._compiled.tables[item.shape].total, 1)
        return (needs_company, item.last - item.first, -bulk, i)

    def _place(self, i: int, most: int) -> int:
        """Put pods of an item on the best node for them; returns how many."""
        item, compiled = self._items[i], self._compiled
        self._work += self._size
        if self._work > _MOST_WORK:
            return 0
        table = compiled.tables[item.shape]
        room = table.fit[self._at].copy()
        room[: item.first - self._start] = 0
        room[item.last - self._start :] = 0
        for row, units in enumerate(compiled.demand[item.shape]):
            if units:
                np.minimum(room, self._left[row] // units, out=room)
        one = self._close(item.shape, room)
        if not room.any():
            return 0
        at = self._best(item.shape, room, most)
        taken = 1 if one else min(int(room[at]), most)
        self._take(i, at, taken)
        return taken

    def _close(self, role: int, room: Ints) -> bool:
        """Close nodes to a role; returns whether its pods go one by one."""
        one = False
        for rule, present in zip(self._rules.conflicts, self._present, strict=True):
            for foe in rule.foes.get(role, ()):
                one |= foe == role
                if foe in present:
                    domains = rule.domains[self._at]
                    room[(domains >= 0) & present[foe][domains]] = 0
        for number, company in enumerate(self._rules.company):
            if role in company.subjects and not (self._first[number] and role in company.leaders):
                room[~self._hosted[number][company.domains[self._at]]] = 0
        for balance, counts in zip(self._rules.balances, self._balance, strict=True):
            one |= role in balance.counted or role == balance.subject
            if role == balance.subject:
                more = counts + (role in balance.counted)
                least = balance.least(counts)
                if role in balance.counted and not balance.few and balance.real.any():
                    # The pod itself raises the fewest where it goes to the only domain that has so few.
                    lowest = np.flatnonzero(balance.real & (counts == least))
                    if len(lowest) == 1:
                        others = np.delete(counts[balance.real], np.flatnonzero(balance.real) == lowest[0])
                        more[lowest[0]] -= min(int(others.min(initial=least + 1)) - least, 1)
                domains = balance.domains[self._at]
                room[(domains < 0) | (more[domains] - least > balance.skew)] = 0
        return one

    def _best(self, role: int, room: Ints, most: int) -> int:
        """The node with the least crowded domain by rules of balance, then in use, then roomiest."""
        able = np.flatnonzero(room)
        keys: list[Ints] = [np.arange(len(able)), -np.minimum(room[able], most)]
        keys.append((~self._used[able]).astype(np.int64))
        for used, domains in zip(reversed(self._used_domains), reversed(self._levels), strict=True):
            keys += [(~used[domains[able]]).astype(np.int64)]
        for number, company in enumerate(self._rules.company):
            if role in company.leaders and self._first[number]:
                domains = company.domains[self._at]
                inside = domains >= 0
                sums = np.bincount(domains[inside], weights=room[inside], minlength=len(company.hosted))
                order = np.argsort(-sums, kind="stable")
                rank = np.empty_like(order)
                rank[order] = np.arange(len(order))
                keys.append((rank[domains[able]] - self._turn // 2) % max(len(order), 1))
        for balance, counts in zip(self._rules.balances, self._balance, strict=True):
            if role in balance.counted:
                domains = balance.domains[self._at][able]
                keys.append(np.where(domains >= 0, counts[domains], 0))
        return int(able[np.lexsort(keys)[0]])

    def _take(self, i: int, at: int, taken: int) -> None:
        item, position = self._items[i], at + self._start
        self._counts[i, at] += taken
        for row, units in enumerate(self._compiled.demand[item.shape]):
            self._left[row, at] -= units * taken
        self._used[at] = True
        for level, domains in enumerate(self._levels):
            self._used_domains[level][domains[at]] = True
        for conflict, present in zip(self._rules.conflicts, self._present, strict=True):
            domain = int(conflict.domains[position])
            if item.shape in conflict.foes and domain >= 0:
                size = int(conflict.domains.max()) + 1
                present.setdefault(item.shape, np.zeros(size, dtype=np.bool_))[domain] = True
        for number, company in enumerate(self._rules.company):
            domain = int(company.domains[position])
            if domain < 0:
                continue
            if item.shape in company.hosts:
                self._hosted[number][domain] = True
            elif item.shape in company.subjects and not self._hosted[number][domain]:
                self._hosted[number][domain] = True
                self._first[number] = False
        for balance, counts in zip(self._rules.balances, self._balance, strict=True):
            domain = int(balance.domains[position])
            if item.shape in balance.counted and domain >= 0:
                counts[domain] += taken
