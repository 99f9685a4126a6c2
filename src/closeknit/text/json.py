"""Read JSON text, one value or several in a row. Its numbers mean what they mean in YAML.

``load`` reads files and ``decode`` what a client sent, which is one value, and has to be fast.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, NoReturn

import msgspec

from closeknit.hub.paths import Path
from closeknit.hub.problems import InvalidError, Problem, shown
from closeknit.hub.sentences import text as sentences
from closeknit.text.nesting import DEEPEST, is_deeper
from closeknit.text.scalars import resolved

_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def load(text: str) -> list[tuple[Any, tuple[Problem, ...]]] | None:
    """The documents, none of which has a problem; or None for what is not clean JSON.

    None is no verdict: the caller goes on to read the text as YAML, which
    contains JSON, and which tells what is wrong with line and column.
    """
    start = _past_space(text, 0)
    if text[start : start + 1] not in ("{", "["):
        return None
    if is_deeper(text.encode("utf-8", "surrogatepass")):
        return None
    decoder = json.JSONDecoder(
        object_pairs_hook=_mapping, parse_constant=_refuse, parse_int=resolved, parse_float=resolved
    )
    found: list[tuple[Any, tuple[Problem, ...]]] = []
    while start < len(text):
        try:
            content, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return None
        found.append((content, ()))
        start = _past_space(text, end)
    if _SURROGATE.search(text) and not all(_encodable(content) for content, _ in found):
        return None
    return found


def _past_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("A key stands twice.")
    if None in mapping.values():
        return {key: value for key, value in mapping.items() if value is not None}
    return mapping


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON.")


def _encodable(content: Any) -> bool:
    """Whether all strings can be written again: half of a surrogate pair cannot."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def decode(raw: bytes) -> tuple[Any, list[Path]]:
    """The one value of a JSON text with nulls kept, and the paths of keys that a mapping has repeatedly.

    The last of equal keys counts. Raises ``InvalidError`` for text that is no JSON or nests too deep,
    before any of it is parsed.
    """
    if is_deeper(raw):
        raise InvalidError([sentences.NESTED_TOO_DEEP.at((), most=DEEPEST)])
    try:
        content = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidError([sentences.NOT_JSON.at((), reason=shown(str(error)))]) from None
    # A key that is dropped takes its colon along, so without a repeated key both have equally many. Encoding
    # costs as much as decoding, and reading pairs in Python ten times as much.
    if _encode(content).count(b":") == raw.count(b":") and not _ESCAPED_COLON.search(raw):
        return content, []
    return content, _repeated(raw)


def _repeated(raw: bytes) -> list[Path]:
    """The paths of the keys that a mapping has repeatedly; those in a value that is dropped are passed
    over.
    """
    twice: dict[int, tuple[dict[str, Any], list[str]]] = {}
    """By the id of a mapping, which is kept so that no other one gets its id."""

    def mapping_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            counted = Counter(key for key, _ in pairs)
            twice[id(mapping)] = mapping, [key for key, count in counted.items() if count > 1]
        return mapping

    # No number is looked at, and one of thousands of digits would cost much.
    content = json.loads(raw, object_pairs_hook=mapping_of, parse_int=len, parse_float=len)
    paths: list[Path] = []
    rest: list[tuple[Path, Any]] = [((), content)] if twice else []
    while rest:
        path, value = rest.pop()
        if type(value) is dict:
            _, keys = twice.get(id(value), (None, ()))
            paths.extend((*path, key) for key in keys)
            rest.extend(((*path, key), inner) for key, inner in reversed(value.items()))
        elif type(value) is list:
            rest.extend(((*path, index), inner) for index, inner in reversed(list(enumerate(value))))
    return paths
