"""Whole numbers in the text of labels and annotations."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"([+-]?)0*([0-9]+)", re.ASCII)
_DIGITS = 18


def whole(written: str) -> int | None:
    """The number that a text is, None where it is none; one of too many digits is only known to be vast."""
    matched = _WHOLE.fullmatch(written)
    if matched is None:
        return None
    sign, digits = matched.groups()
    number = int(digits) if len(digits) <= _DIGITS else 10**_DIGITS
    return -number if sign == "-" else number
