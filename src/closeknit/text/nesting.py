"""How deep JSON text nests, counted before a parser sees it.

A parser in C takes part of the stack for each level, and so does everything that walks its result. The count
is one pass over the bytes, and most texts have too few brackets to need it.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

DEEPEST: Final = 100
"""How deep lists and mappings may nest, in YAML and in JSON."""

# A string that never ends reaches to the end of the text, so that no quote in it is tried again.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = [1 if byte in b"[{" else -1 for byte in range(256)]


def is_deeper(raw: bytes, most: int = DEEPEST) -> bool:
    """Whether lists and mappings of a JSON text nest deeper than ``most``. Linear, whatever the text is."""
    if raw.count(b"[") + raw.count(b"{") <= most:
        return False
    brackets = _STRING.sub(b"", raw).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > most
