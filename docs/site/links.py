"""Links that work in the repository, made to work in the site.

Files are named by their path from the root of the repository, pages by their path in the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()\s]+)\)")


def relinked(
    text: str, origin: str, page: str, pages: Mapping[str, str], exists: Callable[[str], bool]
) -> str:
    """The text of the file ``origin`` as the page ``page``, where ``pages`` tells the page of each file.

    A link to a file that has no page becomes plain text: the site does not hold the sources. A link to a
    file that does not exist stays as it is, for the generator to complain about.
    """

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        if not target or ":" in target:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        found = pages.get(file) or pages.get(f"{file}/README.md")
        if found is None:
            return match["text"][1:-1] if exists(file) else match[0]
        place = posixpath.relpath(found, posixpath.dirname(page) or ".")
        return f"{match['text']}({place}{'#' + anchor if anchor else ''})"

    parts = _FENCE.split(text)
    return "".join(part if i % 2 else _LINK.sub(link, part) for i, part in enumerate(parts))
