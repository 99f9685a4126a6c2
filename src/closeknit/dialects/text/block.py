"""YAML as tools write it, one entry a line, read several times faster than by the parser.

Mappings and lists in block style, plain scalars of printable ASCII, strings in quotes without escapes,
and comments on lines of their own: most writers produce this, and the largest files consist of it.
Nothing here is a verdict. At the first document that has a line of any other form, or what
might be a mistake, reading stops, and the parser takes the text from there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from closeknit.dialects.text.scalars import resolved
from closeknit.dialects.text.tree import DEEPEST

# A colon goes on if a letter follows, and a space if a word follows: the parser reads it so outside of
# brackets. A key may have a thousand characters there. Repetitions give nothing back, which
# keeps a line of many megabytes from filling the memory.
_LINE = re.compile(
    r"""^(?:
        (\ *+)(-\ )?+                                           # how far in, and whether it is an item
        (?:
            ([A-Za-z0-9_][A-Za-z0-9_./-]{0,200}+):(?:\ (?=\S)|(?=\n))
            |(?<=-\ )
        )
        (
            (?:[A-Za-z0-9_./]|-(?=[A-Za-z0-9_./-]))[!"$-9;-~]*+(?:[ :][!"$-9;-~]++)*+
            |"[ !#-\[\]-~]*+"
            |'[ -&(-~]*+'
            |\{\}
            |\[(?:"[ !#-\[\]-~]*+"(?:,\ "[ !#-\[\]-~]*+")*+)?+\]
            |(?=\n)(?<=:)
        )
        |\ *+(?:\#[\t -~]*+)?+                                  # nothing, or a comment
    )\n""",
    re.MULTILINE | re.VERBOSE,
)
_DASHES = "---\n"
_BETWEEN = f"\n{_DASHES}"
_DEEPEST = DEEPEST - 4
"""How deep lists and mappings may nest here; near the limit the parser counts exactly."""


class Read(NamedTuple):
    """A document, and where the text goes on."""

    content: Any
    offset: int
    line: int
    """Counted from 0, as the offset; both stand at the dashes before the next document."""


class _OddError(Exception):
    """A document that is not of the form read here."""


def load(text: str) -> Iterator[Read]:
    """Yield documents from the first on, as long as they are of the form read here; None for an empty one."""
    whole = text if text.endswith("\n") else f"{text}\n"
    offset = line = 0
    words: dict[str, str] = {}
    while offset < len(whole):
        dashed = whole.startswith(_DASHES, offset)
        start = offset + len(_DASHES) if dashed else offset
        # The newline that dashes need before them may be the one after the dashes at the start.
        end = whole.find(_BETWEEN, max(start - 1, 0)) + 1 or len(whole)
        count = whole.count("\n", start, end)
        lines = _LINE.findall(whole, start, end)
        if len(lines) != count:
            return
        try:
            content = _content(lines, words)
        except _OddError:
            return
        offset, line = end, line + count + dashed
        # What stands before the first dashes is a document only if it says something.
        if dashed or content is not None:
            yield Read(content, offset, line)


def _content(lines: Sequence[tuple[str, str, str, str]], words: dict[str, str]) -> dict[str, Any] | None:
    """The mapping that these lines make up, None where they are empty; raises ``_OddError`` when in doubt.

    ``words`` are the keys met so far, so that all documents share them.
    """
    root: dict[str, Any] = {}
    outer: list[tuple[int, Any, bool]] = []
    # The innermost list or mapping that is open, and the key in it that waits for its value.
    at, is_list = 0, False
    top: Any = root
    waiting = ""
    absent: list[tuple[dict[str, Any], str]] = []
    for indent, dash, key, value in lines:
        if not dash and not key:
            continue
        column = len(indent)
        if waiting:
            if column > at or (dash and column == at):
                outer.append((at, top, is_list))
                at, is_list = column, bool(dash)
                top[waiting] = top = [] if dash else {}
            else:
                absent.append((top, waiting))
            waiting = ""
        while at > column or (is_list and at == column and not dash):
            at, top, is_list = outer.pop()
        if at != column or is_list is not bool(dash) or len(outer) > _DEEPEST:
            raise _OddError
        if dash:
            if not key:
                top.append(_value(value))
                continue
            outer.append((at, top, is_list))
            entry: dict[str, Any] = {}
            top.append(entry)
            at, top, is_list = column + len(dash), entry, False
        key = words.setdefault(key, key)  # noqa: PLW2901
        # The parser tells where a key stands twice.
        if key in top:
            raise _OddError
        if not value:
            waiting = key
            top[key] = None
        elif (meaning := _value(value)) is None:
            absent.append((top, key))
            top[key] = None
        else:
            top[key] = meaning
    if waiting:
        absent.append((top, waiting))
    empty = not root
    for mapping, key in absent:
        del mapping[key]
    return None if empty else root


def _value(written: str) -> Any:
    first = written[0]
    if first in "\"'":
        return written[1:-1]
    if first == "[":
        return json.loads(written)
    return {} if first == "{" else resolved(written)
