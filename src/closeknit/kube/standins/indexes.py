"""Completion indexes as Jobs write them: ``0-2,5``."""

from __future__ import annotations

from collections.abc import Iterable

from closeknit.kube.numbers import digits

MOST = 100_000
"""More indexes than any Job may have."""


def parse(text: str) -> set[int]:
    """The numbers that a text names; what cannot be read names none.

    Ranges that overlap are read once: a text of 3 MiB can name each index 300,000 times.
    """
    ranges: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        low, _, high = part.partition("-")
        first, last = digits(low), digits(high or low)
        if first is not None and last is not None:
            ranges.append((first, min(last, MOST)))
    numbers: set[int] = set()
    beyond = 0
    for first, last in sorted(ranges):
        numbers.update(range(max(first, beyond), last + 1))
        beyond = max(beyond, last + 1)
    return numbers


def written(numbers: Iterable[int]) -> str:
    """Numbers as text, ranges of three and more, and of two, drawn together."""
    parts: list[str] = []
    ordered = sorted(set(numbers))
    start = 0
    for position in range(1, len(ordered) + 1):
        if position == len(ordered) or ordered[position] != ordered[position - 1] + 1:
            first, last = ordered[start], ordered[position - 1]
            parts.append(
                str(first) if first == last else f"{first},{last}" if last == first + 1 else f"{first}-{last}"
            )
            start = position
    return ",".join(parts)
