"""What a YAML scalar means: the rules by which Kubernetes' own tools read it.

Words for truth values and null, and numbers, are recognised where they stand
without quotes. Dates and times of day (``2024-01-01``, ``22:30``) stay strings.
"""

from __future__ import annotations

import math
import re

_CORE = "tag:yaml.org,2002:"

_WORDS: dict[str, bool | None] = {
    written: meaning
    for words, meaning in (
        (("true", "yes", "on"), True),
        (("false", "no", "off"), False),
        (("null",), None),
    )
    for word in words
    for written in (word, word.capitalize(), word.upper())
} | {"~": None, "": None}

_LONGEST_WORD = max(map(len, _WORDS))
_NUMBER_STARTS = frozenset("+-.0123456789")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|0[bB][01_]+)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_LONGEST_NUMBER = 64


class TagError(ValueError):
    """A tag that plain documents have no use for, or a scalar that does not fit its tag."""


def scalar(value: str, tag: str) -> str | int | float | bool | None:
    """The meaning of a scalar with a tag.

    Raises ``TagError`` with a complete sentence.
    """
    if tag in ("!", f"{_CORE}str"):
        return value
    meaning = resolved(value)
    wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(tag.removeprefix(_CORE))
    if wanted is None:
        raise TagError("The tag is not supported. Leave it out, or use !!str, !!int, !!float or !!bool.")
    if wanted is float and type(meaning) is int:
        return float(meaning)
    if type(meaning) is not wanted:
        raise TagError("The value does not fit its tag. Leave the tag out, or change the value.")
    return meaning


def resolved(value: str) -> str | int | float | bool | None:
    """The meaning of a scalar that stands without quotes and without a tag."""
    if len(value) <= _LONGEST_WORD and value in _WORDS:
        return _WORDS[value]
    if value[0] not in _NUMBER_STARTS or len(value) > _LONGEST_NUMBER:
        return value
    if _INT.fullmatch(value):
        return _whole(value.replace("_", ""))
    if _FLOAT.fullmatch(value):
        number = float(value.replace("_", ""))
        return number if math.isfinite(number) else value
    return value


def _whole(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    bare = digits.lstrip("+-").lower()
    if len(bare) > 1 and bare[0] == "0" and bare[1].isdigit():
        return sign * int(bare, 8)
    return sign * int(bare, 0)
