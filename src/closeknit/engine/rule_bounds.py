"""Counts that show early that the pods confined so far cannot keep the rules among them.

Every rule is about the domains of a label, so what counts is how many pods of a role each of these takes.
Groups that wait for a domain are known to stay inside that of the group around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest
from closeknit.engine.component import Content
from closeknit.engine.count_bounds import fewest
from closeknit.engine.neighbour_rules import Balance, Company, Conflict, NeighbourRules, OwnRule
from closeknit.engine.open_groups import Waiting
from closeknit.engine.tree import Ints


@dataclass(frozen=True, slots=True)
class _Part:
    """Pods of a role between two nodes."""

    role: int
    need: int
    open: int
    first: int
    last: int


_Parts: TypeAlias = Sequence[Sequence[_Part]]
"""By role."""


def _together(parts: Sequence[_Part]) -> list[_Part]:
    """All pods of a role as one part; none where there are none."""
    if not parts:
        return []
    first, last = min(part.first for part in parts), max(part.last for part in parts)
    need, most = sum(part.need for part in parts), sum(part.open for part in parts)
    return [_Part(parts[0].role, need, most, first, last)]


class RuleBounds:
    """Asked after each choice of a search, of all that is confined to domains by then."""

    def __init__(self, compiled: CompiledRequest, rules: NeighbourRules) -> None:
        self._compiled = compiled
        self._rules = rules
        self._sums: dict[tuple[int, int, int, int], Ints] = {}

    def possible(self, contents: Iterable[Content], waiting: Iterable[Waiting]) -> bool:
        """Whether counts leave a way to keep every rule, by pods confined to domains and groups that wait."""
        rules, bounds = self._rules, self._compiled.tree.bounds
        parts: list[list[_Part]] = [[] for _ in self._compiled.tables]
        for each in contents:
            pods = each.pod_set
            parts[pods.shape].append(
                _Part(pods.shape, pods.need, pods.open, *bounds(each.level, each.domain))
            )
        for task in waiting:
            first, last = bounds(task.level, task.domain)
            for role, (need, most) in enumerate(zip(task.group.need, task.group.open, strict=True)):
                if most:
                    parts[role].append(_Part(role, task.count * need, task.count * most, first, last))
        whole = [_together(mine) for mine in parts]
        return (
            all(self._apart(i, rule, parts, whole) for i, rule in enumerate(rules.conflicts))
            and all(self._near(i, rule, parts, whole) for i, rule in enumerate(rules.company))
            and all(self._even(i, rule, parts, whole) for i, rule in enumerate(rules.balances))
        )

    def _takes(self, kind: int, rule: OwnRule, part: _Part) -> Ints:
        """By domain of a rule, how many pods of a part it takes; last, what nodes without a domain take."""
        key = (kind, part.role, part.first, part.last)
        if key not in self._sums:
            domains = rule.domains[part.first : part.last]
            fit = self._compiled.tables[part.role].fit[part.first : part.last]
            # Nodes without a domain have the number -1, which stands for the last entry.
            size = int(rule.domains.max(initial=-1)) + 2
            sums = np.bincount(np.where(domains < 0, size - 1, domains), weights=fit, minlength=size)
            self._sums[key] = sums.astype(np.int64)
        return self._sums[key]

    def _forced(self, kind: int, rule: OwnRule, parts: _Parts) -> dict[int, dict[int, int]]:
        """By domain and role, the pods that have no other domain to go to."""
        forced: dict[int, dict[int, int]] = {}
        for role, mine in enumerate(parts):
            for part in mine:
                able = np.flatnonzero(self._takes(kind, rule, part))
                if part.need and len(able) == 1:
                    by_role = forced.setdefault(int(able[0]), {})
                    by_role[role] = by_role.get(role, 0) + part.need
        forced.pop(int(rule.domains.max(initial=-1)) + 1, None)
        return forced

    def _apart(self, number: int, rule: Conflict, parts: _Parts, whole: _Parts) -> bool:
        """Whether roles that all keep apart find as many domains as they need at the least."""
        kind = 3 * number
        usable: dict[int, Ints] = {}
        pieces: dict[int, int] = {}
        for role, foes in rule.foes.items():
            for part in (*parts[role], *whole[role]):
                takes = self._takes(kind, rule, part)
                caps = np.minimum(takes[:-1], 1) if role in foes else takes[:-1]
                usable[role] = caps
                lacking = part.need - int(takes[-1])
                if int(caps.sum()) < lacking:
                    return False
                pieces[role] = max(pieces.get(role, 0), fewest(caps, lacking))
        for by_role in self._forced(kind, rule, parts).values():
            for role in by_role.keys() & rule.foes.keys():
                if by_role[role] > 1 and role in rule.foes[role]:
                    return False
                if not rule.foes[role].isdisjoint(by_role.keys() - {role}):
                    return False
        for role in pieces:
            together = [role]
            for other in sorted(pieces):
                if all(other in rule.foes[each] for each in together if each != other) and other != role:
                    together.append(other)
            room = np.any([usable[each] > 0 for each in together], axis=0)
            if sum(pieces[each] for each in together) > int(room.sum()):
                return False
        return True

    def _near(self, number: int, rule: Company, parts: _Parts, whole: _Parts) -> bool:
        """Whether there is company for as many domains as those who need it use at the least."""
        kind = 3 * number + 1
        hosts = [part for role in rule.hosts for part in parts[role]]
        pods = sum(part.open for part in hosts)
        size = int(rule.domains.max(initial=-1)) + 1
        reached = np.zeros(size, dtype=np.bool_)
        for part in hosts:
            reached |= self._takes(kind, rule, part)[:-1] > 0
        hosted = rule.hosted[:size]
        for part in (part for role in rule.subjects for part in (*parts[role], *whole[role])):
            takes = self._takes(kind, rule, part)[:-1]
            alone = np.sort(takes[reached & ~hosted])[::-1]
            room = int(takes[hosted].sum()) + int(alone[:pods].sum())
            if rule.leaders:
                room += int(takes[~hosted].max(initial=0))
            if part.need > room:
                return False
        return True

    def _even(self, number: int, rule: Balance, parts: _Parts, whole: _Parts) -> bool:
        """Whether domains take all pods, none with many more than the emptiest one can have."""
        kind = 3 * number + 2
        if not parts[rule.subject] or not rule.real.any():
            return True
        size = int(rule.domains.max(initial=-1)) + 1
        running = rule.running[:size]
        most, pods = running.copy(), 0
        for part in (part for role in rule.counted for part in parts[role]):
            most += np.minimum(self._takes(kind, rule, part)[:-1], part.open)
            pods += part.open
        real = rule.real[:size]
        floor = 0
        if not rule.few:
            floor = min(int(most[real].min()), (int(running[real].sum()) + pods) // int(real.sum()))
        caps = np.maximum(floor + rule.skew - running, -1)
        for part in (*parts[rule.subject], *whole[rule.subject]):
            takes = self._takes(kind, rule, part)[:-1]
            room = np.minimum(takes, caps.clip(0)) if rule.subject in rule.counted else takes[caps >= 0]
            if part.need > int(room.sum()):
                return False
        return all(
            sum(need for role, need in by_role.items() if role in rule.counted) <= caps[domain]
            for domain, by_role in self._forced(kind, rule, parts).items()
            if rule.subject in by_role
        )
