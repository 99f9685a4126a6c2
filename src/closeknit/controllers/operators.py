"""The operators that there are, by family."""

from __future__ import annotations

from collections.abc import Collection

from closeknit.controllers import dynamo, osmo
from closeknit.controllers.grove.operator import GROVE_OPERATOR
from closeknit.controllers.kueue.operator import KUEUE
from closeknit.controllers.runtime.controller import Operator

OPERATORS: dict[str, Operator] = {
    each.family: each for each in (dynamo.OPERATOR, GROVE_OPERATOR, KUEUE, osmo.OPERATOR)
}
"""By the family's name."""


def managed(external: Collection[str] = ()) -> tuple[Operator, ...]:
    """The operators of all families but those that somebody else looks after."""
    return tuple(operator for family, operator in OPERATORS.items() if family not in external)
