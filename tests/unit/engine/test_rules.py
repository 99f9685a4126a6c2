"""Every rule of the search saves at least half of the steps on its family of instances, and changes no answer."""

from __future__ import annotations

from dataclasses import fields
from random import Random

import pytest

from bench.search_rules import FAMILIES, saving, searched
from closeknit.engine import criteria
from closeknit.engine.rules import ALL, Rules
from closeknit.hub.copying import replace

NAMES = [rule.name for rule in fields(Rules)]


@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_at_least_halves_the_steps_of_its_family(rule: str) -> None:
    found = saving(rule, instances=1)

    assert found.without >= 2 * found.steps
    assert found.without > 0


@pytest.mark.parametrize("rule", NAMES)
def test_a_search_that_ends_without_a_rule_comes_to_the_same(rule: str) -> None:
    instance = FAMILIES[rule](Random(0))
    usual, without = (searched(instance, each) for each in (ALL, replace(ALL, **{rule: False})))

    assert usual.complete
    if without.complete:
        # A search proves criteria 1 to 4; those after them may differ.
        proven = [found.wishes and criteria.fields(found.wishes) for found in (usual, without)]
        assert proven[0] == proven[1]


def test_every_rule_has_a_family_and_every_family_shows_a_rule() -> None:
    assert list(FAMILIES) == NAMES
