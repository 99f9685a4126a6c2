"""Whole numbers in what a client wrote: the one parser of parameters, resource versions and indexes."""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 18
"""More than the largest resource version has; the next power would not fit 64 bits."""


def digits(text: str) -> int | None:
    """The number that ASCII digits stand for, and None for any other text.

    ``str.isdigit`` holds for ``²`` as well, which ``int`` refuses, and ``int`` reads the digits of every
    script.
    """
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        return int(text)
    return None


def signed(text: str) -> int | None:
    """The same, with a minus before it at most."""
    value = digits(text.removeprefix("-"))
    return -value if value is not None and text.startswith("-") else value
