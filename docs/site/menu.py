"""The menu of the site: what readers come for, in the order in which they need it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Entry: TypeAlias = "str | dict[str, list[Entry]]"

SECTIONS = {
    "tutorial": "Tutorial",
    "how-to": "How to",
    "explanation": "Explanation",
    "reference": "Reference",
    "decisions": "Decisions",
}
"""The folders, each a part of the menu."""

FIRST = (
    "tutorial/first-plan.md",
    "how-to/install.md",
    "how-to/read-a-pending-reason.md",
    "reference/semantics.md",
    "reference/commands.md",
    "reference/cli.md",
    "decisions/README.md",
)
"""Pages that come first in their part; the others follow by name."""


def menu(pages: Iterable[str]) -> list[Entry]:
    """Every page once, named by its path in the site."""
    left = set(pages)
    entries: list[Entry] = ["index.md"]
    for folder, title in SECTIONS.items():
        found = sorted(each for each in left if each.startswith(f"{folder}/"))
        inner = sorted({each.split("/")[1] for each in found if each.count("/") > 1})
        here: list[Entry] = [each for each in FIRST if each in found]
        here += [each for each in found if each.count("/") == 1 and each not in FIRST]
        for name in inner:
            under = f"{folder}/{name}/"
            here.append({name.capitalize(): [each for each in found if each.startswith(under)]})
        if here:
            entries.append({title: here})
        left -= set(found)
    return [*entries, *sorted(left - {"index.md"})]
