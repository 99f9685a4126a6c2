"""The order in which people expect names with numbers in them."""

from __future__ import annotations

import re
from typing import TypeAlias

Key: TypeAlias = tuple[list[tuple[int, int, str]], str]
_NUMBERS = re.compile(r"([0-9]{1,18})")


def natural(name: str) -> Key:
    """A sorting key under which rack-2 comes before rack-10."""
    parts = [part for part in _NUMBERS.split(name) if part]
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name


class NaturalKeys(dict[str, Key]):
    """The keys of many names, of which most come often: each is worked out once."""

    def __missing__(self, name: str) -> Key:
        key = self[name] = natural(name)
        return key
