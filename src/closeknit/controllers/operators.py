"""The operators that there are, by family."""

from __future__ import annotations

from collections.abc import Collection

from closeknit.controllers import dynamo, osmo
from closeknit.controllers.grove.gang_status import GANG_STATUS
from closeknit.controllers.grove.operator import GROVE_OPERATOR
from closeknit.controllers.kueue.operator import KUEUE
from closeknit.controllers.runtime.controller import Operator

OPERATORS: dict[str, Operator] = {
    each.family: each for each in (dynamo.OPERATOR, GROVE_OPERATOR, KUEUE, osmo.OPERATOR)
}
"""By the family's name."""


BESIDE: dict[str, Operator] = {GANG_STATUS.family: GANG_STATUS}
"""By family, what its own operator leaves to the scheduler, and is done if that operator runs elsewhere."""


def managed(external: Collection[str] = ()) -> tuple[Operator, ...]:
    """The operators that run here: of external families, only what their own operator leaves to us."""
    own = (operator for family, operator in OPERATORS.items() if family not in external)
    return *own, *(operator for family, operator in BESIDE.items() if family in external)
