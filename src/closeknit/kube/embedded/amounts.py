"""Quantities in the one spelling that the server keeps: ``1000m`` is ``1``, ``2048Mi`` is ``2Gi``."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from closeknit.hub import quantities

_DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_LARGEST: Final = Fraction(2**63 - 1)
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


@lru_cache(maxsize=8192)
def value_of(quantity: str | int | float) -> Fraction:
    """A quantity as an exact number; one that is longer than any machine has is the largest there is."""
    try:
        return quantities.parse(quantity)
    except ValueError:
        return _LARGEST


@lru_cache(maxsize=8192)
def canonical(quantity: str | int | float) -> str:
    """A quantity in the spelling that is kept."""
    text = str(quantity)
    value = min(value_of(quantity), _LARGEST)
    if text.endswith("i") and abs(value) >= 1024 and value.denominator == 1:
        power = 0
        while power < 6 and value % 1024 == 0:
            value /= 1024
            power += 1
        return f"{value.numerator}{_BINARY[power]}"
    # Nothing below a billionth is kept; what is smaller is rounded up.
    nanos = -((-value * 10**9) // 1)
    power = 0
    while nanos and power < 9 and nanos % 1000 == 0:
        nanos //= 1000
        power += 1
    if re.search(r"[0-9][eE][+-]?[0-9]", text):
        exponent = 3 * (power - 3)
        return f"{nanos}e{exponent}" if exponent else f"{nanos}"
    return f"{nanos}{_DECIMAL[power]}" if nanos else "0"
