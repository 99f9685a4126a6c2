"""Kubernetes quantities, parsed without losing a digit.

A quantity such as ``100m``, ``1.5Gi`` or ``1e3`` is an exact decimal number.
Every resource is counted in whole units of its own: CPU in billionths of a
core, the finest step that Kubernetes can write, everything else in ones.
"""

from __future__ import annotations

import re
from enum import Enum
from fractions import Fraction

from closeknit.hub.problems import InvalidError, shown
from closeknit.hub.sentences import hub as sentences

LARGEST = 2**63 - 1
"""The largest amount, in units: what fits a signed 64-bit integer."""

_SUFFIXES = {
    **{suffix: Fraction(1000) ** (i - 3) for i, suffix in enumerate(("n", "u", "m", "", *"kMGTPE"))},
    **{f"{letter}i": Fraction(1024) ** i for i, letter in enumerate("KMGTPE", start=1)},
}
"""What the number before a suffix is multiplied by."""
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>\d+\.?\d*|\.\d+)"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE]?)|[eE](?P<exponent>[+-]?\d{1,3}))",
    re.ASCII,
)


class Rounding(Enum):
    """Which way a fraction of a unit goes; either way a node is never overcommitted."""

    UP = "up"
    """For what a pod asks."""
    DOWN = "down"
    """For what a node offers."""


def parse(text: str | int | float) -> Fraction:
    """Return the exact number that a quantity stands for.

    Raises ``InvalidError`` for anything that is not one.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise InvalidError([sentences.NOT_A_QUANTITY.at((), value=shown(text))])
    written = text if isinstance(text, str) else repr(text)
    if len(written) > 64:
        raise InvalidError([sentences.QUANTITY_TOO_LONG.at((), value=written)])
    match = _QUANTITY.fullmatch(written)
    if match is None:
        raise InvalidError([sentences.UNKNOWN_SUFFIX.at((), value=written)])
    number = Fraction(match["number"])
    exponent = match["exponent"]
    scale = Fraction(10) ** int(exponent) if exponent is not None else _SUFFIXES[match["suffix"]]
    return -number * scale if match["sign"] == "-" else number * scale


def units(resource: str) -> int:
    """How many units make one of this resource."""
    return 10**9 if resource == "cpu" else 1


def amount(resource: str, text: str | int | float, rounding: Rounding = Rounding.UP) -> int:
    """Parse a quantity of a resource into whole units.

    Raises ``InvalidError`` for a negative, overflowing or malformed one.
    """
    exact = parse(text) * units(resource)
    if exact < 0:
        raise InvalidError([sentences.NEGATIVE.at((), value=text)])
    whole = -(-exact.numerator // exact.denominator) if rounding is Rounding.UP else int(exact)
    if whole > LARGEST:
        largest = LARGEST // units(resource)
        raise InvalidError([sentences.TOO_LARGE.at((), value=text, most=largest)])
    return whole


def written(resource: str, amount_in_units: int) -> str:
    """Write an amount the way Kubernetes would, exactly."""
    exact = Fraction(amount_in_units, units(resource))
    if exact.denominator == 1:
        whole = exact.numerator
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            scale = _SUFFIXES[suffix].numerator
            if resource != "cpu" and whole and whole % scale == 0:
                return f"{whole // scale}{suffix}"
        return str(whole)
    for suffix in ("m", "u"):
        scaled = exact / _SUFFIXES[suffix]
        if scaled.denominator == 1:
            return f"{scaled.numerator}{suffix}"
    return f"{(exact / _SUFFIXES['n']).numerator}n"
