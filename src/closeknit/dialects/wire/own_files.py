"""Files of a tool that stand together in one: the answer of a server, or the values of an installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from closeknit.hub.paths import within


def collected(content: dict[str, Any], way: Sequence[str], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what lies at the end of a way of keys, each with its path; lists on the way are gone through.

    At the end is a list of files, or a mapping of files by their names. There a file gets its name in
    the field of that name, unless it has one. What is no mapping is passed over.
    """
    reached: list[tuple[str, Any]] = [("", content)]
    for step in way:
        reached = [
            (within(path, step), outer[step])
            for path, outer in _spread(reached)
            if isinstance(outer, dict) and step in outer
        ]
    for path, outer in reached:
        if isinstance(outer, dict):
            for key, file in outer.items():
                if isinstance(file, dict):
                    yield within(path, key), file if file.get(name) else {**file, name: key}
        elif isinstance(outer, list):
            yield from ((at, file) for at, file in _spread([(path, outer)]) if isinstance(file, dict))


def _spread(reached: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for path, outer in reached:
        if isinstance(outer, list):
            yield from ((within(path, i), item) for i, item in enumerate(outer))
        else:
            yield path, outer
