"""Manifests with damage: fields deleted, types changed, huge numbers, strange characters, deep nesting.

A mutant is the valid manifests of one folder with a few random changes. It is made from
its seed alone, so that a seed is enough to see it again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import yaml

from closeknit.text.documents import Source

Step: TypeAlias = str | int
Place: TypeAlias = tuple[Step, ...]

SEEDS = Path(__file__).parent / "seeds"
"""Valid manifests for what the examples do not show: fields that people seldom write, and what runs."""

_NODES_KEPT = 4
"""More nodes would only make every trial slower."""
_DEEP = "\ue000deep\ue000"
"""Stands for nesting in a document, because no JSON writer takes it."""
_DEPTHS = (20, 99, 100, 101, 5000)
_MEGABYTE = 2**20

_NUMBERS = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**63, 10**30, 1.5, -0.0, 1e308, float("inf"))
_WORDS = ("", " ", "a", "A_B", "-1", "1e999", "500m", "1Ei", "auto", "null", "0x10", "²", "١٢")
_NAMES = ("a/b/c", "kubernetes.io/hostname", "\U0001f600", "\u2028", "\u202e", "\x1b[31m", "\ud800")
_LONG = ("9" * 65, "9" * 5000, "x" * 64, "x" * 300, "é" * 40, "[" * 2000)
_JSON = ("{}", '{"nvidia.com/gpu": "1"}', '{"cpu": null, "memory": [1]}')
_LISTS: tuple[Any, ...] = ([], [[]], [None], [0], [{}], [{"name": "a"}, {"name": "a"}])
_MAPS: tuple[Any, ...] = ({}, {"": ""}, {"a": None}, {"\x1b[31m": "\x1b[31m"}, {"name": "a"})
ODD: tuple[Any, ...] = (
    *(None, True, False),
    *_NUMBERS,
    *(*_WORDS, *_NAMES, *_LONG, *_JSON),
    *(*_LISTS, *_MAPS),
)
"""Values that some field somewhere does not expect."""


_OFTEN = {"delete": 6, "odd": 8, "number": 4, "elsewhere": 5, "rename": 2, "repeat": 3, "wrap": 2}
_SELDOM = {"stringify": 2, "deep": 1, "long": 1}
_CHANGES = [change for change, times in (_OFTEN | _SELDOM).items() for _ in range(times)]


@dataclass(frozen=True, slots=True)
class Example:
    """The valid manifests of one folder."""

    name: str
    documents: tuple[Any, ...]


def examples(folder: Path) -> tuple[Example, ...]:
    """Every folder of examples below this one, with a few of its nodes."""
    inner = sorted(path for path in folder.rglob("*") if path.is_dir())
    found = (Example(path.relative_to(folder).as_posix(), tuple(_documents(path))) for path in inner)
    return tuple(example for example in found if example.documents)


def _documents(folder: Path) -> Iterator[Any]:
    nodes = 0
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.json")]):
        for document in yaml.load_all(path.read_bytes(), Loader=_PlainDates):
            if not isinstance(document, dict):
                continue
            nodes += document.get("kind") == "Node"
            if document.get("kind") != "Node" or nodes <= _NODES_KEPT:
                yield document


class _PlainDates(yaml.SafeLoader):
    """Takes dates for the strings that they are to Kubernetes."""


_PlainDates.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def mutant(rng: Random, corpus: Sequence[Example]) -> tuple[Source, ...]:
    """Sources that were valid before a few random changes."""
    example = rng.choice(corpus)
    documents = list(copy.deepcopy(example.documents))
    # Rough changes are refused at the door; those of a gentle kind get past it, into the rules.
    change = rng.choice((_change, _nudge))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        change(rng, documents)
    if rng.random() < 0.1:
        rng.shuffle(documents)
    # Values in a row are read as JSON, which is faster; with lines between them they are YAML.
    between = "\n---\n" if rng.random() < 0.15 else "\n"
    text = between.join(_written(rng, document) for document in documents)
    content = text.encode("utf-8", "surrogatepass")
    return (Source(example.name, _damaged(rng, content) if rng.random() < 0.1 else content),)


def _places(value: Any, above: Place = ()) -> Iterator[Place]:
    if above:
        yield above
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in inner:
        yield from _places(each, (*above, step))


def _open_to_change(rng: Random, documents: list[Any]) -> list[Place]:
    """All places, those of nodes seldom."""
    return [place for place in _places(documents) if not _is_of_node(documents, place) or rng.random() < 0.1]


def _nudge(rng: Random, documents: list[Any]) -> None:
    """Change one value to another of its type, drop a field, or repeat an item under a new name."""
    places = _open_to_change(rng, documents)
    kind = rng.choice((int, str, str, bool, list, object))
    fitting = [place for place in places if isinstance(_at(documents, place), kind)]
    if not fitting:
        return
    place = rng.choice(fitting)
    holder, last = _at(documents, place[:-1]), place[-1]
    inner = holder[last]
    if kind is object:
        del holder[last]
    elif isinstance(inner, bool):
        holder[last] = not inner
    elif isinstance(inner, int):
        holder[last] = rng.choice((inner + 1, max(inner - 1, 0), 0, 1, 2, 7, 63, 1000, 100_000, 2**31 - 1))
    elif isinstance(inner, str):
        alike = [_at(documents, each) for each in fitting if each[-1] == last]
        holder[last] = rng.choice((*alike, "fresh", f"{inner}-2", inner[:-1]))
    elif inner:
        item = copy.deepcopy(rng.choice(inner))
        if isinstance(item, dict) and "name" in item:
            item["name"] = f"{item['name']}-{len(inner)}"
        inner.insert(rng.randrange(len(inner) + 1), item)


def _change(rng: Random, documents: list[Any]) -> None:
    """Change anything to anything."""
    places = _open_to_change(rng, documents)
    if not places:
        return
    place = rng.choice(places)
    holder, last = _at(documents, place[:-1]), place[-1]
    inner = holder[last]
    match rng.choice(_CHANGES):
        case "delete":
            del holder[last]
        case "odd":
            holder[last] = copy.deepcopy(rng.choice(ODD))
        case "number":
            holder[last] = _number(rng, inner)
        case "elsewhere":
            holder[last] = copy.deepcopy(_at(documents, rng.choice(places)))
        case "rename" if isinstance(holder, dict):
            holder[rng.choice((f"{last}s", f"{last}".upper(), "", "\u202e", "x" * 300))] = holder.pop(last)
        case "repeat" if isinstance(holder, list):
            holder.extend(copy.deepcopy(inner) for _ in range(rng.choice((1, 1, 2, 70))))
        case "wrap":
            holder[last] = rng.choice(([inner], {"items": inner}))
        case "deep":
            holder[last] = f"{_DEEP}{rng.choice(_DEPTHS)}{_DEEP}"
        case "long":
            holder[last] = rng.choice(("x", "é", "1", "a.", "a/", "\U0001f600")) * _MEGABYTE
        case _:
            holder[last] = str(inner)


def _is_of_node(documents: list[Any], place: Place) -> bool:
    document = _at(documents, place[:1])
    return isinstance(document, dict) and document.get("kind") == "Node"


def _at(documents: list[Any], place: Place) -> Any:
    value: Any = documents
    for step in place:
        value = value[step]
    return value


def _number(rng: Random, inner: Any) -> Any:
    near = inner if isinstance(inner, int) else 3
    return rng.choice((near + 1, near - 1, 0, -near, 100_000, 2**31 - 1, 10**18, near + 0.5, f"{near}"))


def _written(rng: Random, document: Any) -> str:
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    for depth in _DEPTHS:
        for mark in (_DEEP, json.dumps(_DEEP)[1:-1]):
            text = text.replace(f'"{mark}{depth}{mark}"', "[" * depth + "]" * depth)
    return text


def _damaged(rng: Random, content: bytes) -> bytes:
    """The text with some bytes lost, changed or added."""
    text = bytearray(content)
    for _ in range(rng.randint(1, 10)):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(4):
            case 0:
                del text[at : at + rng.randrange(1, 20)]
            case 1:
                text[at:at] = rng.choice(
                    (b"\t", b"[", b"}", b"&a ", b"*a ", b"<<: ", b"\xff", b"!!", b"'", b"\n---\n")
                )
            case 2 if at < len(text):
                text[at] = rng.randrange(256)
            case _:
                text[at:at] = text[: rng.randrange(200)]
    return bytes(text)
