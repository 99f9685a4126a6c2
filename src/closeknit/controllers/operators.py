"""The operators that there are, by family."""

from __future__ import annotations

from collections.abc import Collection

from closeknit.controllers.runtime.controller import Operator

OPERATORS: dict[str, Operator] = {}
"""By the family's name."""


def managed(external: Collection[str] = ()) -> tuple[Operator, ...]:
    """The operators of all families but those that somebody else looks after."""
    return tuple(operator for family, operator in OPERATORS.items() if family not in external)
