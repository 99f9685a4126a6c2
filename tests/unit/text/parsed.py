"""Short ways to parse a text."""

from __future__ import annotations

from typing import Any

from closeknit.hub.sentences import text as messages
from closeknit.text.documents import Document, Source, parse
from tests.kit.problems import Finding, finding, findings

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)


def contents(text: str | bytes) -> list[Any]:
    found = list(parse(Source("f", text if isinstance(text, bytes) else text.encode())))
    assert all(isinstance(result, Document) for result in found), [str(result) for result in found]
    return [result.content for result in found if isinstance(result, Document)]


def reported(text: str | bytes) -> list[Finding]:
    """The problems of the documents that cannot be read."""
    results = parse(Source("f", text if isinstance(text, bytes) else text.encode()))
    return findings(result for result in results if not isinstance(result, Document))


def too_deep(where: str) -> Finding:
    return finding(messages.NESTED_TOO_DEEP, where, most=100)


def typed(value: Any) -> Any:
    """The same value with the type of every scalar, because 1, 1.0 and true are equal."""
    if isinstance(value, dict):
        return {key: typed(inner) for key, inner in value.items()}
    return [typed(inner) for inner in value] if isinstance(value, list) else (type(value), value)
