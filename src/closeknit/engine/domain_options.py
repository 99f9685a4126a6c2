"""The domains to try for a group, best first, from its preferred level up to its required one."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.engine.candidates import Candidates
from closeknit.engine.choices import Choices, Place
from closeknit.engine.compiled_request import Goal, GroupVar
from closeknit.engine.domain_costs import DomainCosts
from closeknit.engine.floor import Floor
from closeknit.engine.incumbent import Incumbent
from closeknit.engine.open_groups import OpenGroups, Waiting, needed_beside
from closeknit.engine.rules import Rules

_COMPARED = 64
"""Nodes up to which domains are compared with each other, node by node."""


class DomainOptions:
    """Lists domains for one group after another, as the choices in force leave them."""

    def __init__(self, made: Choices, incumbent: Incumbent, floor: Floor, rules: Rules) -> None:
        self._compiled = made.compiled
        self._made = made
        self._incumbent = incumbent
        self._rules = rules
        self._symmetry = Symmetry(made)
        choosing = sum(max(group.required, group.preferred) >= 0 for group in made.compiled.groups)
        self._guide = floor.guide() if rules.guide and choosing > 1 else None
        """Where several groups choose, a domain that could take them all in the fewest pieces."""
        self.examined = 0
        """How many domains were looked at one by one."""

    def of(self, task: Waiting, rest: OpenGroups) -> Iterator[Place]:
        """Domains to try for a group, best first."""
        group = task.group
        base = max(group.required, task.level)
        top = max(group.preferred, base)
        if self._names_nothing(group):
            # Compared as if it preferred the named level, though none is farther from it.
            top = max(self._compiled.named, base)
        stay = Place(task.level, task.level, task.domain, _distance(group, task.level))
        if top == task.level:
            yield stay
            return
        siblings = needed_beside(task, rest, len(self._compiled.tables))
        tried: list[tuple[int, int]] = []
        for level, candidates in self._by_level(task, base, top, siblings):
            yield from self._untried(task, candidates, level, tried)
        if base == task.level and self._incumbent.hopeful(group, stay.distance):
            yield stay

    def _names_nothing(self, group: GroupVar) -> bool:
        """Whether this is the root of a request of which no group names a level.

        Where rules tell pods apart, all are laid out together, and trying domains would only repeat that.
        Nodes are not tried as domains: a layout chooses among them.
        """
        compiled = self._compiled
        if group is not compiled.root or compiled.names_level or compiled.named == compiled.tree.depth:
            return False
        return compiled.goal is Goal.WISHES and compiled.neighbours is None

    def _by_level(
        self, task: Waiting, base: int, top: int, siblings: list[int]
    ) -> Iterator[tuple[int, Candidates]]:
        """Levels to try and their candidates: from the preferred one up to the required one."""
        group = task.group

        def candidates_at(level: int) -> Candidates:
            costs = DomainCosts(
                self._compiled,
                group,
                (task.level, task.domain),
                level,
                self._made.loads,
                self._made.used,
                siblings,
                self._guide,
                None if self._compiled.goal is not Goal.EVERYTHING else self._made.crowding,
            )
            candidates = Candidates(costs, whole_groups=self._rules.whole_groups)
            for domain in task.tried.get(level, ()):
                candidates.drop(domain)
            return candidates

        levels = range(top, max(base, task.level + 1) - 1, -1)
        if group.open == group.need:
            for level in levels:
                if self._incumbent.hopeful(group, _distance(group, level)):
                    yield level, candidates_at(level)
            return
        # A finer level is closer to the preference, but pods left out weigh more than any preference.
        found = [(level, candidates) for level in levels if len(candidates := candidates_at(level))]
        yield from sorted(found, key=lambda each: (each[1].least_left_out(), -each[0]))

    def _untried(
        self, task: Waiting, candidates: Candidates, level: int, tried: list[tuple[int, int]]
    ) -> Iterator[Place]:
        seen: set[object] | None = None
        distance = _distance(task.group, level)
        while True:
            self._incumbent.drop_hopeless(candidates, task.group, distance)
            domain = candidates.next()
            if domain is None:
                return
            self.examined += 1
            if tried and self._rules.symmetry:
                # Comparing looks costs more than most first tries, so it waits for the second.
                if seen is None:
                    seen = {(at, self._symmetry.of(task.level, at, before)) for at, before in tried}
                look = (level, self._symmetry.of(task.level, level, domain))
                if look in seen:
                    continue
                seen.add(look)
            tried.append((level, domain))
            yield Place(task.level, level, domain, distance)


def _distance(group: GroupVar, level: int) -> int:
    """How far a domain of a level is from what a group prefers."""
    return max(group.preferred - level, 0) if group.preferred >= 0 else 0


class Symmetry:
    """What domains look like. Of domains that look alike, a search need try only one."""

    def __init__(self, made: Choices) -> None:
        self._compiled = made.compiled
        self._made = made
        self._known: dict[tuple[int, int], object] = {}

    def of(self, above: int, level: int, domain: int) -> object:
        """Equal for domains that are alike and lie in domains that are alike, up to a coarser level."""
        around = self._compiled.tree.around(level, domain, above + 1)
        return tuple(self._look(*each) for each in around)

    def _look(self, level: int, domain: int) -> object:
        """What a domain looks like; its own number where it is in use or too large to compare."""
        if self._made.touches(level, domain):
            return domain
        key = (level, domain)
        known = self._known.get(key)
        if known is None:
            start, end = self._compiled.tree.bounds(level, domain)
            known = (domain,) if end - start > _COMPARED else ("like", self._content(level, domain))
            self._known[key] = known
        return known

    def _content(self, level: int, domain: int) -> object:
        compiled, tree = self._compiled, self._compiled.tree
        if level == tree.depth:
            slot = int(tree.slots[domain])
            fits = tuple(int(table.fit[domain]) for table in compiled.tables)
            prices = tuple(int(t.price[domain]) if t.price is not None else 0 for t in compiled.tables)
            looks = compiled.neighbours.look(tree, domain) if compiled.neighbours is not None else ()
            return (fits, prices, tuple(int(self._made.free[row, slot]) for row in compiled.rows), looks)
        first, last = tree.span(level, domain, level + 1)
        inner = sorted((self._content(level + 1, child) for child in range(first, last)), key=repr)
        return (bool(tree.real[level][domain]), tuple(inner))
