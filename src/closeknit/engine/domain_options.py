"""The domains to try for a group, best first, from its preferred level up to its required one."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.engine.candidates import Candidates
from closeknit.engine.choices import Choices, Place
from closeknit.engine.compiled_request import CompiledRequest, GroupVar
from closeknit.engine.floor import Floor
from closeknit.engine.incumbent import Incumbent
from closeknit.engine.open_groups import OpenGroups, Waiting, needed_beside
from closeknit.engine.rules import Rules
from closeknit.engine.symmetry import Symmetry
from closeknit.engine.tree import Ints


class DomainOptions:
    """Lists domains for one group after another, as the choices in force leave them."""

    def __init__(
        self,
        compiled: CompiledRequest,
        free: Ints,
        *,
        made: Choices,
        incumbent: Incumbent,
        floor: Floor,
        rules: Rules,
    ) -> None:
        self._compiled = compiled
        self._made = made
        self._incumbent = incumbent
        self._rules = rules
        self._symmetry = Symmetry(compiled, free, made)
        choosing = sum(max(group.required, group.preferred) >= 0 for group in compiled.groups)
        self._guide = floor.guide() if rules.guide and choosing > 1 else None
        """Where several groups choose, a domain that could take them all in the fewest pieces."""
        self.examined = 0
        """How many domains were looked at one by one."""

    def of(self, task: Waiting, rest: OpenGroups) -> Iterator[Place]:
        """Domains to try for a group, best first."""
        group = task.group
        base = max(group.required, task.level)
        top = max(group.preferred, base)
        stay = Place(task.level, task.level, task.domain, _distance(group, task.level))
        if top == task.level:
            yield stay
            return
        siblings = needed_beside(task, rest, len(self._compiled.tables))
        tried: list[tuple[int, int]] = []
        for level, stream in self._ladder(task, base, top, siblings):
            yield from self._drain(task, stream, level, tried)
        if base == task.level and self._incumbent.hopeful(group, stay.distance):
            yield stay

    def _ladder(
        self, task: Waiting, base: int, top: int, siblings: list[int]
    ) -> Iterator[tuple[int, Candidates]]:
        """Levels to try and their candidates: from the preferred one up to the required one."""
        group = task.group

        def rung(level: int) -> Candidates:
            inside = (task.level, task.domain)
            stream = Candidates(
                self._compiled,
                group,
                inside,
                level,
                loads=self._made.loads,
                used=self._made.used,
                siblings=siblings,
                guide=self._guide,
                whole_groups=self._rules.whole_groups,
            )
            for struck in task.struck.get(level, ()):
                stream.strike(struck)
            return stream

        levels = range(top, max(base, task.level + 1) - 1, -1)
        if group.open == group.need:
            for level in levels:
                if self._incumbent.hopeful(group, _distance(group, level)):
                    yield level, rung(level)
            return
        # A finer level is closer to the preference, but pods left out weigh more than any preference.
        rungs = [(level, stream) for level in levels if len(stream := rung(level))]
        yield from sorted(rungs, key=lambda rung: (rung[1].least_left_out(), -rung[0]))

    def _drain(
        self, task: Waiting, stream: Candidates, level: int, tried: list[tuple[int, int]]
    ) -> Iterator[Place]:
        seen: set[object] | None = None
        distance = _distance(task.group, level)
        while True:
            self._incumbent.strike_hopeless(stream, task.group, level, distance)
            domain = stream.next()
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
