"""YAML read line by line: what is read so, what is left to the parser, and that both read the same."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.dialects.text import block
from closeknit.dialects.text import yaml as yaml_text

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
SCALARS: list[Any] = [
    *("a", "1", "yes", "", "a b", "x: y", "#c", "a #b", "-c", "--x", "-", "~", "null", "1e3", "0x1f", "a:"),
    *("http://a/b:c", "'q'", '"', "é", "*a", "&b", "[x]", "{}", "%y", "|", ">", "?", "...", "---", "1_000"),
    *("2024-01-01", "t" * 300, " lead", "trail ", "tab\tx", "two\nlines", "a:b", "::", "a,b", "<<", "@x"),
    *(1, -1, 1.5, True, None, [], {}),
]
KEYS = ("a", "b", "c-d", "e/f.g", "1", "true", "x y", "<<", "k:", "-", "f:g", "long" * 60)
LINES = (
    *("---", "", "  ", "# c", "  # c", "...", "- x", "a:", "  a: 1", "--- ", "---x", "--- a", "%YAML 1.1"),
    *("\t", "- ", "-", "- - a", "? a", "a: &x 1", "b: *x", "'a': 1", "a : 1", "a:  1", "a: 1 ", "a: !!str 1"),
    *(
        'a: ["b", "c"]',
        'a: ["b" , 1]',
        "a: [b]",
        "a: {b: 1}",
        "<<: {}",
        "a: 'it''s'",
        'a: "\\n"',
        "a: |",
        "   b",
    ),
)


def by_lines(text: str) -> list[Any]:
    return [read.content for read in block.load(text)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: 1\nb: x y\n", [{"a": 1, "b": "x y"}], id="entries"),
        pytest.param("a: 1", [{"a": 1}], id="the last line may end without a newline"),
        pytest.param(
            "l:\n- a\n- b: 1\n  c:\n  - d\n", [{"l": ["a", {"b": 1, "c": ["d"]}]}], id="lists in lists"
        ),
        pytest.param("l:\n  - a\nm: 1\n", [{"l": ["a"], "m": 1}], id="a list that is indented"),
        pytest.param("a: 1\n---\n---\nb: 2\n", [{"a": 1}, None, {"b": 2}], id="documents, one of them empty"),
        pytest.param("# x\n---\na: 1\n---\n", [{"a": 1}, None], id="a comment alone is no document"),
        pytest.param("---\na: 1\n", [{"a": 1}], id="dashes before the first document"),
        pytest.param(
            "a:\n  # x\n\n  b: 1\n", [{"a": {"b": 1}}], id="comments and empty lines are passed over"
        ),
        pytest.param("a:\nb: null\nc: [null]\n", [], id="brackets hold strings in quotes or nothing"),
        pytest.param("a:\nb: null\nc:\n- null\n", [{"c": [None]}], id="null leaves a field out"),
        pytest.param(
            'a: "x: #"\nb: \'1\'\nc: ["d", "e"]\nf: {}\ng: []\n',
            [{"a": "x: #", "b": "1", "c": ["d", "e"], "f": {}, "g": []}],
            id="strings in quotes, and a list of them",
        ),
        pytest.param("a:\n- -c\n- --x=1\n- -1\n", [{"a": ["-c", "--x=1", -1]}], id="dashes before a letter"),
        pytest.param("a: http://b:80/c\n", [{"a": "http://b:80/c"}], id="colons inside a word"),
        pytest.param(
            "a: 1\n---\nb: é\n---\nc: 1\n", [{"a": 1}], id="what follows another form is left as well"
        ),
        *(
            pytest.param(f"a: 1\n{line}\n", [], id=f"left to the parser: {name}")
            for name, line in {
                "a key that stands twice": "a: 2",
                "a value over two lines": "b: c\n  d",
                "a comment after a value": "b: c #d",
                "a colon after a value": "b: c: d",
                "a step back to no column": "b:\n    c: 1\n  d: 1",
                "an item among entries": "- b",
                "a mapping that is too far in": "  b: 1",
                "a tab": "b:\tc",
                "a letter outside ASCII": "b: é",
                "an escape": 'b: "\\n"',
                "a quote in quotes": "b: 'it''s'",
                "a literal text": "b: |\n  c",
                "brackets": "b: [c]",
                "braces": "b: {c: d}",
                "an anchor": "b: &c d",
                "an alias": "b: *c",
                "a tag": "b: !!str 1",
                "a merge": "<<: {}",
                "a key in quotes": '"b": 1',
                "a carriage return": "b: c\r",
                "a list in a list without a key": "b:\n- - c",
                "an item without a value": "b:\n-",
                "the end of a document": "...",
                "more than a thousand characters of a key": "b" * 1100 + ": 1",
            }.items()
        ),
    ],
)
def test_reads(text: str, want: list[Any]) -> None:
    assert by_lines(text) == want


def test_the_place_of_the_next_document_is_told() -> None:
    first, second, third = block.load("a: 1\n---\n# b\n---\n")

    assert (first.offset, first.line) == (5, 1)
    assert (second.offset, second.line) == (13, 3)
    assert (third.offset, third.line) == (17, 4)


def test_the_parser_goes_on_with_the_lines_counted_from_the_top() -> None:
    (_, _), (_, problems) = yaml_text.load("a: 1\nb: 2\n---\nc: 1\nc: 2\n")

    assert [problem.message for problem in problems] == [
        'The key "c" stands twice in one mapping, the second time on line 5, column 1. Keep one.'
    ]


def test_lists_and_mappings_near_the_limit_are_left_to_the_parser() -> None:
    def nested(depth: int) -> str:
        return "".join(f"{' ' * i}a:\n" for i in range(depth)) + " " * depth + "a: 1\n"

    assert len(by_lines(nested(90))) == 1
    assert by_lines(nested(100)) == []


def test_a_line_of_megabytes_takes_no_more_memory_than_itself() -> None:
    text = f"a: {'x ' * 2_000_000}y\n"
    tracemalloc.start()
    try:
        (found,) = by_lines(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(found["a"]) == 4_000_001
    assert most < 4 * len(text)


def texts(chance: random.Random) -> Iterator[str]:
    """Files of the examples and random ones, each with a few changes that may or may not break it."""
    files = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.rglob("*.yaml"))]
    for _ in range(500):
        if chance.random() < 0.3:
            text = chance.choice(files)[:5000]
        else:
            written = [{f"k{i}": _value(chance, 0) for i in range(4)} for _ in range(chance.randrange(1, 4))]
            text = yaml.safe_dump_all(written, sort_keys=False, width=1000)
        yield _changed(text, chance)


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.random()
    if depth > 3 or kind < 0.6:
        return chance.choice(SCALARS)
    inner = [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return inner if kind < 0.8 else {chance.choice(KEYS): value for value in inner}


def _changed(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(chance.randrange(4)):
        i = chance.randrange(len(lines))
        j = chance.randrange(len(lines[i]) + 1)
        match chance.randrange(7):
            case 0:
                lines.insert(i, chance.choice(LINES))
            case 1:
                lines.insert(i, lines[i])
            case 2:
                lines[i] = f"{chance.choice(' -')} {lines[i]}"
            case 3:
                lines[i] = lines[i][1:]
            case 4:
                lines[i] += chance.choice([" #x", "#x", " ", ":", ": a", "\r"])
            case _:
                mark = chance.choice(" :#-\"'[]{},&*!|>%@`~?\\a1\t\r")
                lines[i] = lines[i][:j] + mark + lines[i][j + chance.randrange(2) :]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_read_line_by_line_the_parser_reads_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = list(texts(random.Random(seed)))
    found = [repr(list(yaml_text.load(text))) for text in given]
    some = sum(bool(by_lines(text)) for text in given)
    monkeypatch.setattr(block, "load", lambda _: iter(()))

    for text, one in zip(given, found, strict=True):
        assert one == repr(list(yaml_text.load(text))), text
    assert some > len(given) / 5
