"""Completion indexes as Jobs write them: ``0-2,5``."""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100_000
"""More indexes than any Job may have."""


def parse(text: str) -> set[int]:
    """The numbers that a text names; what cannot be read names none."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), min(int(last or first), MOST) + 1))
    return found


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
