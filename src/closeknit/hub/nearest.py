"""Which of the words that are allowed was most likely meant."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

MANY: Final = 128
"""Of more words than this, only those are compared that stand near in the order of the alphabet."""
_BESIDE: Final = 32
_CLOSE: Final = 0.6


def nearest(found: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed word that was most likely meant, if one is close."""
    # The similarity of two words costs their lengths' product, and users can send megabytes.
    if len(found) > 256:
        return None
    choices = beside(found, sorted(allowed))
    folded = {choice.casefold(): choice for choice in reversed(choices)}
    if (same := folded.get(found.casefold())) is not None:
        return same
    close = difflib.get_close_matches(found, choices, n=1, cutoff=_CLOSE)
    return close[0] if close else None


def beside(found: str, choices: Sequence[str]) -> Sequence[str]:
    """Of sorted words, those worth a comparison: all where they are few, or else the neighbours of a word."""
    if len(choices) <= MANY:
        return choices
    places = {bisect_left(choices, word) for word in (found, found.casefold())}
    near = {
        word: None for place in sorted(places) for word in choices[max(0, place - _BESIDE) : place + _BESIDE]
    }
    return list(near)
