"""Placing pods one after another so that rules among them are kept: fast, and not always found.

What finds no place here may still have one; whether it has is for an exact layout to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from closeknit.engine.budget import Steps
from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Component
from closeknit.engine.neighbour_rules import NeighbourRules
from closeknit.engine.tree import Flags, Ints
from closeknit.hub.neighbours import Near

_MOST_WORK = 40_000_000
"""Nodes looked at, over all pods."""
_NODES_A_STEP = 4096
"""Looking at so many nodes weighs as much as a step of the search."""
_TURNS = 8
_TRIED = 4
"""Domains to which company is tried to be brought, for one pod."""


def ruled(
    compiled: CompiledRequest, free: Ints, component: Component, rules: NeighbourRules, steps: Steps
) -> list[tuple[Ints, Ints]] | None:
    """Positions and counts of each item of a component; None where what is needed was not placed.

    Whatever found no place in one turn goes earlier in later ones. All it took is counted as steps.
    """
    failures = Counter[int]()
    for turn in range(_TURNS):
        placing = _Placing(compiled, free, component, rules, turn=turn, failures=failures)
        stuck = placing.stuck()
        steps.count(placing.work // _NODES_A_STEP)
        if stuck is None:
            return placing.takes()
        failures[stuck] += 1
        if placing.work > _MOST_WORK or steps.used_up:
            break
    return None


class _Placing:
    """One try."""

    def __init__(
        self,
        compiled: CompiledRequest,
        free: Ints,
        component: Component,
        rules: NeighbourRules,
        *,
        turn: int,
        failures: Mapping[int, int],
    ) -> None:
        self._compiled, self._rules, self._items = compiled, rules, component.items
        self._turn, self._failures = turn, failures
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
        self._preferred = [(each.running.copy(), np.zeros_like(each.running)) for each in rules.preferred]
        """By preferred rule and domain, the pods that count, and the new ones that have the rule."""
        self._open = [item.need for item in self._items]
        """By item, the pods still to be placed: those needed, later the others."""
        self.work = 0

    def stuck(self) -> int | None:
        """Place all that is needed, then what else fits; the item that is in the way, None where none is."""
        order = sorted(range(len(self._items)), key=self._urgency)
        for needed in (True, False):
            for i in order:
                while self._open[i] and (self._place(i) or (needed and self._bring(i))):
                    pass
                if needed and self._open[i]:
                    return i
            self._open = [item.open - item.need for item in self._items]
        takes = self.takes()
        kept = self._rules.kept([(item.shape, *take) for item, take in zip(self._items, takes, strict=True)])
        return None if kept else order[-1]

    def takes(self) -> list[tuple[Ints, Ints]]:
        """Positions and counts by item."""
        return [(np.flatnonzero(row) + self._start, row[row > 0]) for row in self._counts]

    def _urgency(self, i: int) -> tuple[int, int, int, float, int]:
        """Whoever failed, then whoever gives others company, then the most confined, then the bulkiest.

        In every second pair of turns those that need company go first, and bring it along.
        """
        item = self._items[i]
        needs_company = sum(
            (item.shape in rule.subjects) + (item.shape in rule.subjects - rule.leaders)
            for rule in self._rules.company
        )
        bulk = item.open / max(self._compiled.tables[item.shape].total, 1)
        rank = (-needs_company if self._turn & 2 else needs_company, item.last - item.first, -bulk, i)
        if self._turn & 1:
            rank = (-rank[0], -rank[1], -rank[2], -rank[3])
        return (-self._failures.get(i, 0) if self._turn >= 4 else 0, *rank)

    def _place(self, i: int) -> bool:
        """Put pods of an item on the best node for them; False where there is none."""
        room = self._room(i)
        one = self._close(self._items[i].shape, room)
        if not room.any():
            return False
        role, left = self._items[i].shape, self._open[i]
        ranked = self._ranked(role, room, left)
        if one or not self._prefers(role):
            self._take(i, int(ranked[0]), 1 if one else min(int(room[ranked[0]]), left))
            return True
        for at in self._at_once(role, ranked)[:left].tolist():
            self._take(i, at, 1)
        return True

    def _bring(self, i: int) -> bool:
        """Put one pod that is company for an item where the item has room; False where that cannot be."""
        role = self._items[i].shape
        room = self._room(i)
        self._close(role, room, alone=True)
        lonely = [number for number, rule in enumerate(self._rules.company) if role in rule.subjects]
        if not lonely or not room.any():
            return False
        tried = set[tuple[int, ...]]()
        for at in self._ranked(role, room, self._open[i]):
            position = int(at) + self._start
            domains = tuple(int(self._rules.company[number].domains[position]) for number in lonely)
            if domains in tried:
                continue
            tried.add(domains)
            if len(tried) > _TRIED:
                break
            for number, domain in zip(lonely, domains, strict=True):
                if not self._hosted[number][domain] and self._accompany(i, int(at), number, domain):
                    return True
        return False

    def _accompany(self, i: int, at: int, number: int, domain: int) -> bool:
        """Put one pod that is company by a rule into a domain, on a node if it leaves an item room there."""
        rule, demand = self._rules.company[number], self._compiled.demand
        for j, other in enumerate(self._items):
            if other.shape not in rule.hosts or not self._open[j]:
                continue
            room = self._room(j)
            self._close(other.shape, room)
            room[rule.domains[self._at] != domain] = 0
            both = np.array(demand[self._items[i].shape]) + np.array(demand[other.shape])
            if room[at] and bool((self._left[:, at] >= both).all()):
                self._take(j, at, 1)
                return True
            room[at] = 0
            if room.any():
                self._take(j, int(self._ranked(other.shape, room, 1)[0]), 1)
                return True
        return False

    def _room(self, i: int) -> Ints:
        """By node, how many pods of an item it takes, rules aside."""
        item, compiled = self._items[i], self._compiled
        self.work += _NODES_A_STEP + self._size
        room = compiled.tables[item.shape].fit[self._at].copy()
        room[: item.first - self._start] = 0
        room[item.last - self._start :] = 0
        if self.work > _MOST_WORK:
            room[:] = 0
        for row, units in enumerate(compiled.demand[item.shape]):
            if units:
                np.minimum(room, self._left[row] // units, out=room)
        return room

    def _close(self, role: int, room: Ints, *, alone: bool = False) -> bool:
        """Close nodes to a role, those without company unless ``alone``; whether its pods go one by one."""
        one = False
        for rule, present in zip(self._rules.conflicts, self._present, strict=True):
            for foe in rule.foes.get(role, ()):
                one |= foe == role
                if foe in present:
                    domains = rule.domains[self._at]
                    room[(domains >= 0) & present[foe][domains]] = 0
        for number, company in enumerate(self._rules.company):
            if role in company.subjects and not self._leads(role, number) and not alone:
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
                full = np.append(more - least > balance.skew, True)
                room[full[balance.domains[self._at]]] = 0
        return one

    def _leads(self, role: int, number: int) -> bool:
        """Whether a pod of a role may go where it has no company by a rule, as the first to need some."""
        return self._first[number] and role in self._rules.company[number].leaders

    def _prefers(self, role: int) -> bool:
        """Whether preferred rules have to do with a role."""
        return any(role == each.subject or role in each.counted for each in self._rules.preferred)

    def _ranked(self, role: int, room: Ints, most: int) -> Ints:
        """Nodes with room: first the least crowded domain by rules of balance, then in use, then roomiest."""
        able = np.flatnonzero(room)
        keys: list[Ints] = [np.arange(len(able)), -np.minimum(room[able], most)]
        keys.append((~self._used[able]).astype(np.int64))
        for used, domains in zip(reversed(self._used_domains), reversed(self._levels), strict=True):
            keys += [(~used[domains[able]]).astype(np.int64)]
        for number, company in enumerate(self._rules.company):
            if self._leads(role, number):
                domains = company.domains[self._at]
                inside = domains >= 0
                sums = np.bincount(domains[inside], weights=room[inside], minlength=len(company.hosted))
                order = np.argsort(-sums, kind="stable")
                rank = np.empty_like(order)
                rank[order] = np.arange(len(order))
                keys.append((rank[domains[able]] - self._turn // 2) % max(len(order), 1))
        for balance, counts in zip(self._rules.balances, self._balance, strict=True):
            if role in balance.counted:
                # Nodes that do not count have the number -1, which stands for the last entry.
                keys.append(np.append(counts, 0)[balance.domains[self._at][able]])
        if self._rules.preferred:
            keys.append(self._prices(role, able))
        return np.asarray(able[np.lexsort(keys)])

    def _prices(self, role: int, able: Ints) -> Ints:
        """By node, what one more pod of a role costs there by preferred rules."""
        prices = np.zeros(len(able), dtype=np.int64)
        for rule, (counts, subjects) in zip(self._rules.preferred, self._preferred, strict=True):
            if role == rule.subject or role in rule.counted:
                # Nodes outside of all domains have the number -1, which stands for the last entry.
                outside = rule.weight * rule.lost * (role == rule.subject)
                more = np.append(rule.one_more(role, counts, subjects), outside)
                prices += more[rule.domains[self._at][able]]
        return prices

    def _at_once(self, role: int, ranked: Ints) -> Ints:
        """Of nodes with room, best first, those that take one pod each without a difference to each other."""
        concerning = [each for each in self._rules.preferred if role == each.subject or role in each.counted]
        leads = any(self._leads(role, number) for number in range(len(self._first)))
        if leads or any(isinstance(each.rule, Near) for each in concerning):
            # Where the first pod goes makes a difference to all others.
            return ranked[:1]
        prices = self._prices(role, ranked)
        alike = ranked[prices == prices[0]]
        for rule in concerning:
            domains = rule.domains[self._at][alike]
            first = np.unique(domains, return_index=True)[1]
            alike = alike[np.union1d(first, np.flatnonzero(domains < 0))]
        return np.asarray(alike)

    def _take(self, i: int, at: int, taken: int) -> None:
        item, position = self._items[i], at + self._start
        self._counts[i, at] += taken
        self._open[i] -= taken
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
        for preference, (counts, subjects) in zip(self._rules.preferred, self._preferred, strict=True):
            domain = int(preference.domains[position])
            if domain >= 0:
                counts[domain] += taken * (item.shape in preference.counted)
                subjects[domain] += taken * (item.shape == preference.subject)
