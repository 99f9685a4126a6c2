"""What is wrong with something a person wrote, as data.

A problem is a path, a code and facts. Its sentence is made from the code's template when somebody reads
it: the command line prints lines, a webhook joins them into a denial, a condition carries them. All
templates stand in ``closeknit.hub.sentences``. Since paths are tuples of steps, a problem of an object that
was made from another is moved to the field that its author wrote by a function on tuples.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from itertools import islice
from typing import Any, Final, TypeAlias

from closeknit.hub.copying import replace
from closeknit.hub.nearest import MANY, beside, nearest
from closeknit.hub.paths import Path, text_of


class Severity(Enum):
    """What follows from it."""

    PROBLEM = "problem"
    """The object is refused."""
    UNPLACED = "unplaced"
    """The object is valid, and passed on; what it asks for cannot be placed here."""
    NOTE = "note"
    """It is worth knowing, and no reason to refuse anything."""


class Category(Enum):
    """What can resolve a problem. Code that reacts to a problem asks for this, never for its message code."""

    INVALID = "invalid"
    """Only a change of the object itself."""
    SKIPPABLE = "skippable"
    """A reader that skips it, such as an unknown field or a repeated key, can still use the rest."""
    UNRESOLVED_REFERENCE = "unresolved-reference"
    """The object that it names, once that exists and is valid.

    An object that describes something, such as a queue, is admitted and waits for it. A workload is refused.
    """
    WAITING = "waiting"
    """Another object, which may be created or corrected at any time. Even a workload waits for it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A fact: another field of the same object, written as its path."""

    path: Path


@dataclass(frozen=True, slots=True)
class OneOf:
    """A fact: what was found, and what would be allowed instead. Written as the remedy."""

    found: str
    allowed: tuple[str, ...]
    more: int | None = 0
    """How many are allowed besides, which are neither near nor among the first; None where nobody looked."""

    @classmethod
    def among(cls, found: str, allowed: Iterable[str]) -> OneOf:
        """The same of any collection of names."""
        return Choices(allowed).instead_of(found)


class Choices:
    """Names that are allowed, sorted once for all fields that name another one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known = frozenset(names)
        self._first: dict[frozenset[str], tuple[tuple[str, ...], int]] = {}
        """The first names that are left without some, and how many are."""

    def __contains__(self, name: object) -> bool:
        return name in self._known

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted(self._known))

    def nearest(self, found: str) -> str | None:
        """The name that was most likely meant, if one is close."""
        return nearest(found, beside(found, self._names))

    def instead_of(self, found: str, *, but: frozenset[str] = frozenset()) -> OneOf:
        """The remedy for a name that is none of them; what cannot be meant is left out.

        Of very many, only those are kept that can be told, so that thousands of problems stay small.
        """
        names = self._names
        if len(names) <= MANY:
            return OneOf(found, names if not but else tuple(name for name in names if name not in but))
        if but not in self._first:
            left = (name for name in names if name not in but)
            self._first[but] = tuple(islice(left, _LISTED + 1)), len(names) - len(but & self._known)
        first, count = self._first[but]
        allowed = tuple(sorted({*first, *beside(found, names)} - but))
        return OneOf(found, allowed, count - len(allowed))


@dataclass(frozen=True, slots=True)
class Meant:
    """A fact: a word that is none of those that are known. Written as the one that was likely meant; where
    none is near, as the remedy.
    """

    found: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """A fact: the least and the most that is allowed. Written as the remedy."""

    least: int
    most: int


_LISTED: Final = 8
"""How many allowed names a remedy lists."""
_MOST_NAMED: Final = 100
"""How many names of a fact a sentence lists."""

Fact: TypeAlias = "str | int | float | tuple[str, ...] | Field | OneOf | Meant | Range | Problem"
"""A text is quoted in the sentence unless its template says ``:raw``; several are listed."""


@dataclass(frozen=True)
class Code:
    """A kind of problem: its name for programs, and its sentence for people."""

    name: str
    """Lower-case words with dashes; scripts rely on it."""
    sentence: str
    """A template with the names of the facts in braces."""
    severity: Severity = Severity.PROBLEM
    category: Category = Category.INVALID

    @cached_property
    def fields(self) -> frozenset[str]:
        """The facts that the sentence needs."""
        return frozenset(name for _, name, _, _ in string.Formatter().parse(self.sentence) if name)

    def at(self, path: Path = (), /, **facts: Fact) -> Problem:
        """A problem of this kind. Exactly the facts of the sentence must be given."""
        if facts.keys() != self.fields:
            raise TypeError(f"{self.name} needs the facts {sorted(self.fields)}, not {sorted(facts)}.")
        return Problem(path, self, tuple(facts.items()))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong or worth knowing, at the field a user would change."""

    path: Path
    code: Code
    facts: tuple[tuple[str, Fact], ...] = ()
    object: str = ""
    """Whose field it is, as in ``Pod trainer-0``; empty for the object that the problem is reported for."""

    @property
    def where(self) -> str:
        """The path as a user would type it."""
        text = text_of(self.path)
        return ": ".join(filter(None, (self.object, text)))

    @property
    def message(self) -> str:
        """The sentence, made from the facts."""
        return _FORMATTER.vformat(self.code.sentence, (), dict(self.facts))

    @property
    def severity(self) -> Severity:
        """What follows from it."""
        return self.code.severity

    @property
    def category(self) -> Category:
        """What can resolve it."""
        return self.code.category

    def moved(self, new: Callable[[Path], Path]) -> Problem:
        """The same problem, reported at another field; so are the fields that its facts name."""
        facts = tuple((name, _moved(fact, new)) for name, fact in self.facts)
        return replace(self, path=new(self.path), facts=facts)

    def under(self, *prefix: str | int) -> Problem:
        """The problem of an object that stands at this path of a larger one."""
        return self.moved(lambda path: (*prefix, *path))

    def as_note(self) -> Problem:
        """The same, as something worth knowing that is no reason to refuse anything."""
        return replace(self, code=_as_note(self.code))

    def as_waiting(self) -> Problem:
        """The same problem in the category ``WAITING``, for an object that may always be created later."""
        return replace(self, code=_as_waiting(self.code))

    def of(self, kind: str, name: str) -> Problem:
        """The problem of one object, reported for another."""
        return replace(self, object=f"{kind} {name}")

    def __str__(self) -> str:
        return f"{where}: {self.message}" if (where := self.where) else self.message


@cache
def _as_note(code: Code) -> Code:
    return replace(code, severity=Severity.NOTE)


@cache
def _as_waiting(code: Code) -> Code:
    return replace(code, category=Category.WAITING)


def parted(found: Iterable[Problem]) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """What keeps something from being placed, and the notes."""
    every = tuple(found)
    notes = tuple(each for each in every if each.severity is Severity.NOTE)
    return tuple(each for each in every if each.severity is not Severity.NOTE), notes


class InvalidError(ValueError):
    """Raised once for a value, carrying every problem found in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


def _moved(fact: Fact, new: Callable[[Path], Path]) -> Fact:
    match fact:
        case Field(path):
            return Field(new(path))
        case Problem():
            return fact.moved(new)
        case _:
            return fact


class _Sentences(string.Formatter):
    """Writes each fact as its type asks for."""

    def format_field(self, value: Any, format_spec: str) -> str:
        match value:
            case str():
                return value if format_spec == "raw" else shown(value)
            case Field(path):
                return text_of(path)
            case OneOf(found, allowed, more):
                return suggestion(found, allowed, more)
            case Meant(found, known):
                near = nearest(found, known)
                return f"Did you mean {shown(near)}?" if near is not None else suggestion(found, known)
            case Range(least, most):
                return between(least, most)
            case Problem():
                return value.message
            case tuple():
                listed = ", ".join(self.format_field(each, format_spec) for each in value[:_MOST_NAMED])
                rest = len(value) - _MOST_NAMED
                return f"{listed} and {rest} more" if rest > 0 else listed
            case _:
                return str(value)


_FORMATTER = _Sentences()


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


def suggestion(found: str, allowed: Iterable[str], more: int | None = 0) -> str:
    """Word the remedy for an unknown name: the nearest valid one, and all of them when few."""
    if more is None:
        return "Create it, or name one that is there."
    choices = sorted(set(allowed))
    if not choices:
        return "None is given; add it, or name none."
    listed = ", ".join(shown(choice) for choice in choices[:_LISTED])
    if rest := max(len(choices) - _LISTED, 0) + more:
        listed += f" and {rest} more"
    near = nearest(found, choices)
    meant = f"Did you mean {shown(near)}? " if near is not None else ""
    return f"{meant}Allowed: {listed}."
