"""The order in which people expect names with numbers in them."""

from __future__ import annotations

import re


def natural(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """A sorting key under which rack-2 comes before rack-10."""
    parts = [part for part in re.split(r"([0-9]{1,18})", name) if part]
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name
