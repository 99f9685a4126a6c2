"""What is wrong with something a person wrote, as data.

A problem names the place and says what was found, what is allowed and, where
one is near, the value that was probably meant. Readers do the wording around
it: the command line prints lines, a webhook joins them into a denial.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong, at the path a user would type to reach it."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidError(ValueError):
    """Raised once for a value, carrying every problem found in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


def nearest(found: str, allowed: Iterable[str]) -> str | None:
    """Return the allowed word that was most likely meant, if one is close."""
    # The similarity of two words costs their lengths' product, and users can send megabytes.
    if len(found) > 256:
        return None
    choices = sorted(allowed)
    folded = {choice.casefold(): choice for choice in reversed(choices)}
    if (same := folded.get(found.casefold())) is not None:
        return same
    close = difflib.get_close_matches(found, choices, n=1, cutoff=0.6)
    return close[0] if close else None


def shown(value: object, *, limit: int = 80) -> str:
    """Quote a value from a user for a message, cut so that it cannot flood a terminal."""
    # Cutting before quoting keeps a megabyte string from being escaped in full.
    text = value[: limit + 1] if isinstance(value, str) else value
    quoted = f'"{text}"' if isinstance(text, str) and text.isprintable() else repr(text)
    if len(quoted) <= limit + 2:
        return quoted
    return f"{quoted[:limit]}…{quoted[0] if isinstance(text, str) else ''}"


def between(least: int, most: int) -> str:
    """Word the remedy for a number that is out of range, which may be empty."""
    if least > most:
        return "No number is possible here; leave it out."
    return f"Write {least}." if least == most else f"Allowed are {least} to {most}."


def suggestion(found: str, allowed: Iterable[str]) -> str:
    """Word the remedy for an unknown name: the nearest valid one, and all of them when few."""
    choices = sorted(set(allowed))
    if not choices:
        return "None is given; add it, or name none."
    listed = ", ".join(shown(choice) for choice in choices[:8])
    if len(choices) > 8:
        listed += f" and {len(choices) - 8} more"
    near = nearest(found, choices)
    meant = f"Did you mean {shown(near)}? " if near is not None else ""
    return f"{meant}Allowed: {listed}."
