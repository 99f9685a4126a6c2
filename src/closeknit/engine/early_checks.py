"""Checks that end a branch of the search early: whether there is room left for what was chosen."""

from __future__ import annotations

from closeknit.engine.batches import batches
from closeknit.engine.budget import OutOfBudgetError, Steps
from closeknit.engine.choices import Choices, Place
from closeknit.engine.compiled_request import CompiledRequest, GroupVar, Part
from closeknit.engine.component import component
from closeknit.engine.incumbent import Incumbent
from closeknit.engine.layout import Layouts
from closeknit.engine.memberships import Capacity, has_choice
from closeknit.engine.mixed_bound import MixedBound
from closeknit.engine.rules import Rules

_CHECKED = 64
"""Nodes up to which a domain is laid out as soon as pods are confined to it, and not only at the end."""


class EarlyChecks:
    """Asked after each choice, of the choices in force."""

    def __init__(
        self,
        compiled: CompiledRequest,
        *,
        made: Choices,
        mixed: MixedBound,
        incumbent: Incumbent,
        layouts: Layouts,
        steps: Steps,
        rules: Rules,
    ) -> None:
        self._compiled = compiled
        self._tree = compiled.tree
        self._made = made
        self._mixed = mixed
        self._incumbent = incumbent
        self._layouts = layouts
        self._steps = steps
        self._rules = rules

    def sums_fit(self, place: Place) -> bool:
        """Whether the free amounts of a domain cover all that is confined to it."""
        return not self._rules.resource_sums or self._made.fits_by_sum(place)

    def possible(self, place: Place) -> bool:
        """Whether counts leave room for all that must be placed."""
        if not self._made.covered(place.level, place.domain):
            return False
        return (
            len(self._compiled.tables) == 1
            or not self._incumbent.drags_on()
            or self._made.fits_in(self._mixed)
        )

    def capacity(self, group: GroupVar, place: Place) -> Capacity:
        """What counts leave for a group in a domain, where that matters: if it can do with fewer members."""
        if not has_choice(group):
            return Capacity((), 0)
        by_shape = self._made.room(group, place)
        if len(by_shape) <= 1 or not self._incumbent.drags_on():
            return Capacity(by_shape, sum(by_shape))
        start, end = self._tree.bounds(place.level, place.domain)
        others = self._made.pods_in(place.level, place.domain) - group.size
        return Capacity(by_shape, int(self._mixed.fit[start:end].sum()) - others)

    def room_for(self, group: GroupVar, members: list[Part], place: Place) -> bool:
        """Whether a domain takes as many whole groups as the members chosen bring along."""
        return not self._rules.whole_groups or all(
            int(batch.room(self._compiled, place.level)[place.domain]) >= batch.count
            for batch in batches(group, members)
            if batch.level >= place.level
        )

    def lays_out(self, place: Place) -> bool:
        """Whether a domain that just got pods can lay out all that is confined to it, by itself."""
        start, end = self._tree.bounds(place.level, place.domain)
        checked = self._rules.early_layout and place.level >= 0 and end - start <= _CHECKED
        if not checked or len(self._made.contents) == 1:
            return True
        inside = self._made.contents.inside(place.level, place.domain)
        try:
            laid_out = component(self._compiled, (place.level, place.domain), inside, self._made.colors)
            return self._layouts.fits(laid_out, self._steps)
        except OutOfBudgetError:
            if self._steps.used_up:
                raise
            return True
