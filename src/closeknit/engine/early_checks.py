"""Checks that end a branch of the search early: whether there is room left for what was chosen."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.choices import Choices, Place
from closeknit.engine.compiled_request import GroupVar, Part
from closeknit.engine.component import component
from closeknit.engine.count_bounds import batches
from closeknit.engine.incumbent import Incumbent
from closeknit.engine.layout import Layouts
from closeknit.engine.memberships import Capacity, has_choice
from closeknit.engine.open_groups import OpenGroups
from closeknit.engine.rule_bounds import RuleBounds
from closeknit.engine.rules import Rules

_CHECKED = 64
"""Nodes up to which a domain is laid out as soon as pods are confined to it, and not only at the end."""


@dataclass(frozen=True, slots=True)
class EarlyChecks:
    """Asked after each choice, of the choices in force."""

    made: Choices
    incumbent: Incumbent
    layouts: Layouts
    steps: Steps
    rules: Rules
    bounds: RuleBounds | None
    """What counts say of rules among pods, where there are any."""

    def possible(self, place: Place) -> bool:
        """Whether counts leave room for all that must be placed."""
        made = self.made
        if not made.covered(place.level, place.domain):
            return False
        if len(made.compiled.tables) == 1 or not self.incumbent.drags_on():
            return True
        covered = not self.rules.resource_sums or made.fits_cluster_by_sum()
        return covered and made.pods_in(-1, 0) <= made.mixed.total

    def capacity(self, group: GroupVar, place: Place) -> Capacity:
        """What counts leave for a group in a domain, where that matters: if it can do with fewer members."""
        if not has_choice(group):
            return Capacity((), 0)
        by_shape = self.made.room(group, place)
        if len(by_shape) <= 1 or not self.incumbent.drags_on():
            return Capacity(by_shape, sum(by_shape))
        start, end = self.made.compiled.tree.bounds(place.level, place.domain)
        others = self.made.pods_in(place.level, place.domain) - group.size
        return Capacity(by_shape, int(self.made.mixed.fit[start:end].sum()) - others)

    def room_for(self, group: GroupVar, members: list[Part], place: Place) -> bool:
        """Whether a domain takes as many whole groups as the members chosen bring along."""
        return not self.rules.whole_groups or all(
            int(batch.takes(self.made.compiled, place.level)[place.domain]) >= batch.count
            for batch in batches(group, members)
            if batch.level >= place.level
        )

    def keeps_rules(self, open_groups: OpenGroups) -> bool:
        """Whether counts leave a way to keep the rules among all pods, those of groups that wait included."""
        return self.bounds is None or self.bounds.possible(self.made.contents.inside(-1, 0), open_groups)

    def lays_out(self, place: Place) -> bool:
        """Whether a domain that just got pods can lay out all that is confined to it, by itself."""
        compiled = self.made.compiled
        start, end = compiled.tree.bounds(place.level, place.domain)
        checked = self.rules.early_layout and place.level >= 0 and end - start <= _CHECKED
        if not checked or len(self.made.contents) == 1:
            return True
        inside = self.made.contents.inside(place.level, place.domain)
        try:
            laid_out = component(compiled, (place.level, place.domain), inside, self.made.colors)
            return self.layouts.fits(laid_out, self.steps)
        except OutOfBudgetError:
            if self.steps.used_up:
                raise
            return True
