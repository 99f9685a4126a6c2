"""What a YAML scalar means to kubectl: a string, a number, a boolean or null, and as a key always a string.

kubectl turns YAML into JSON by ``sigs.k8s.io/yaml`` and reads numbers from there, so ``1.0`` and ``1e3`` are
the integers 1 and 1000. Dates and times of day (``2024-01-01``, ``22:30``) are strings.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TypeAlias

from closeknit.hub.problems import Problem
from closeknit.hub.sentences import text as sentences

Scalar: TypeAlias = "str | int | float | bool | None"

_CORE = "tag:yaml.org,2002:"
_KINDS = {f"{_CORE}int": int, f"{_CORE}float": float, f"{_CORE}bool": bool, f"{_CORE}null": type(None)}

_WORDS: dict[str, bool | None] = {
    written: meaning
    for words, meaning in (
        (("y", "yes", "true", "on"), True),
        (("n", "no", "false", "off"), False),
        (("null",), None),
    )
    for word in words
    for written in (word, word.capitalize(), word.upper())
} | {"~": None, "": None}
_LONGEST_WORD = max(map(len, _WORDS))

_NUMBER_STARTS = frozenset("+-.0123456789")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# Decimal digits stop where no integer of 64 bits has more. A sign after 0b is an oddity of the library.
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)|0[bB](?P<binary>[01]+)"
    r"|(?P<decimal>0|[1-9][0-9]{0,19}))|0b(?P<odd>[-+][01]+)"
)
_BASES = {"hex": 16, "octal": 8, "binary": 2, "decimal": 10, "odd": 2}
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]+(?:_[0-9]+)*|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")


class ScalarError(ValueError):
    """A scalar that has no meaning in JSON, or does not fit its tag."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def resolved(value: str) -> Scalar:
    """The meaning of a scalar without quotes and without a tag; raises ``ScalarError``."""
    if len(value) <= _LONGEST_WORD and value in _WORDS:
        return _WORDS[value]
    return value if value[0] not in _NUMBER_STARTS else _as_in_json(_number(value))


def tagged(value: str, tag: str) -> Scalar:
    """The meaning of a scalar with a tag; raises ``ScalarError``."""
    return _as_in_json(_fitting(value, tag))


def key(value: str, tag: str | None) -> str:
    """The string that a scalar without quotes, or with a tag, is as a key; raises ``ScalarError``."""
    meaning = _meaning(value) if tag is None else _fitting(value, tag)
    if type(meaning) is bool:
        return "true" if meaning else "false"
    if type(meaning) is str or (type(meaning) is int and meaning < 2**63):
        return str(meaning)
    raise ScalarError(sentences.KEY_NO_STRING.at((), key=value))


def _meaning(value: str) -> Scalar:
    if value in _WORDS:
        return _WORDS[value]
    return _number(value) if value[0] in _NUMBER_STARTS else value


def _fitting(value: str, tag: str) -> Scalar:
    if tag in ("!", f"{_CORE}str"):
        return value
    wanted = _KINDS.get(tag)
    if wanted is None:
        raise ScalarError(sentences.UNSUPPORTED_SCALAR_TAG.at())
    meaning = _meaning(value)
    if wanted is float and type(meaning) is int and meaning < 2**63:
        meaning = float(meaning)
    if type(meaning) is not wanted:
        raise ScalarError(sentences.VALUE_MISFITS_TAG.at())
    return meaning


def _number(value: str) -> int | float | str:
    """The number that a scalar is, or the scalar itself where it is none."""
    if _NOT_FINITE.fullmatch(value):
        raise ScalarError(sentences.NO_JSON_NUMBER.at((), value=value))
    # A leading point keeps its underscores, which Python and Go allow between digits alone.
    plain = value if value[0] == "." else value.replace("_", "")
    if found := _INTEGER.fullmatch(plain):
        base = str(found.lastgroup)
        whole = int(f"{found['sign'] or ''}{found[base]}", _BASES[base])
        if -(2**63) <= whole < (2**63 if plain[0] in "+-" else 2**64):
            return whole
    if not _DECIMAL.fullmatch(plain):
        return value
    number = float(plain)
    return number if math.isfinite(number) else value


def _as_in_json(meaning: Scalar) -> Scalar:
    """A float without a fraction is an integer in the JSON that the library writes, below 10 to the 21st."""
    if type(meaning) is float and meaning.is_integer() and abs(meaning) < 1e21:
        return int(Decimal(repr(meaning)))
    return meaning
