"""Keys, nesting, aliases and merges: what is understood, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dialects.text.parsed import BOMB, DEEP, contents, problems, typed


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "x: &a {p: 1}\nz: *a\n", [{"x": {"p": 1}, "z": {"p": 1}}], id="an alias repeats its anchor"
        ),
        pytest.param("x: &a k\n*a : 1\n", [{"x": "k", "k": 1}], id="an alias of a string may be a key"),
        pytest.param(
            "x: &a {p: 1, q: 2}\nz: {<<: *a, q: 3}\n",
            [{"x": {"p": 1, "q": 2}, "z": {"p": 1, "q": 3}}],
            id="what follows a merge counts",
        ),
        pytest.param(
            "x: &a {p: 1, q: 2, r: ~}\nz: {q: 3, r: 4, <<: *a}\n",
            [{"x": {"p": 1, "q": 2}, "z": {"p": 1, "q": 2}}],
            id="a merge takes the place of what precedes it",
        ),
        pytest.param(
            "a: {'<<': {p: 1}}",
            [{"a": {"<<": {"p": 1}}}],
            id="a merge in quotes is a key like any other",
        ),
        pytest.param(
            "x: &a {p: 1}\nw: &b {p: 2, q: 2}\nz: {<<: [*a, *b], q: ~}\n",
            [{"x": {"p": 1}, "w": {"p": 2, "q": 2}, "z": {"p": 1}}],
            id="of several merges the first wins, and null takes a field away",
        ),
        pytest.param("a: " + "[" * 99 + "]" * 99, None, id="a hundred levels of YAML are fine"),
        pytest.param('{"a": ' + "[" * 99 + "]" * 99 + "}", None, id="a hundred levels of JSON are fine"),
    ],
)
def test_understands(text: str, want: list[Any] | None) -> None:
    found = contents(text)

    assert want is None or typed(found) == typed(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "m:\n  a: 1\n  b: 2\n  a: 3\n",
            'f:1:m.a: The key "a" stands twice in one mapping, the second time on line 4, column 3. Keep one.',
            id="a key that stands twice is named with its line",
        ),
        pytest.param(
            "l:\n- {x: ~, x: ~}\n",
            'f:1:l[0].x: The key "x" stands twice in one mapping, the second time on line 2, column 10. Keep one.',
            id="a key stands twice even if both are null",
        ),
        pytest.param(
            '{"a": {"b/c": 1,\n "b/c": 2}}',
            'f:1:a["b/c"]: The key "b/c" stands twice in one mapping, the second time on line 2, column 2.'
            " Keep one.",
            id="a key that stands twice in JSON is named with its line",
        ),
        pytest.param(
            BOMB,
            "f:1:line 6, column 36: The aliases stand for more than 1000000 values. Write fewer of them.",
            id="an alias bomb is refused",
        ),
        pytest.param(
            "a: &a [*a]",
            'f:1:line 1, column 8: The alias "a" stands inside its own anchor.',
            id="an alias inside its own anchor is refused",
        ),
        pytest.param(
            "a: *b",
            'f:1:line 1, column 4: There is no anchor "b" before this alias.',
            id="an alias without an anchor is refused",
        ),
        pytest.param(
            "[" * 10_000, f"f:1:line 1, column 101: {DEEP}", id="ten thousand open lists are refused"
        ),
        pytest.param(
            "[" * 10_000 + "]" * 10_000,
            f"f:1:line 1, column 101: {DEEP}",
            id="ten thousand nested lists are refused",
        ),
        pytest.param(
            '{"a":' * 10_000 + "1" + "}" * 10_000,
            f"f:1:line 1, column 501: {DEEP}",
            id="ten thousand nested JSON objects are refused",
        ),
        pytest.param("- " * 10_000, f"f:1:line 1, column 201: {DEEP}", id="ten thousand dashes are refused"),
        pytest.param(
            '{"a": ' + "[" * 100 + "]" * 100 + "}",
            f"f:1:line 1, column 106: {DEEP}",
            id="a hundred and one levels of JSON are refused",
        ),
        pytest.param(
            "a: " + "[" * 100 + "]" * 100,
            f"f:1:line 1, column 103: {DEEP}",
            id="a hundred and one levels of YAML are refused",
        ),
        pytest.param(
            "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60,
            f"f:1:line 2, column 64: {DEEP}",
            id="depth that hides behind an alias counts",
        ),
        pytest.param(
            "a: &a "
            + "[" * 40
            + "]" * 40
            + "\nb: &b "
            + "[" * 40
            + "*a"
            + "]" * 40
            + "\nc: "
            + "[" * 40
            + "*b"
            + "]" * 40,
            f"f:1:line 3, column 44: {DEEP}",
            id="depth that hides behind two aliases counts",
        ),
        pytest.param(
            "? [a]\n: b",
            "f:1:line 1, column 3: A list or mapping is used as a key. Keys are strings.",
            id="a list cannot be a key",
        ),
        pytest.param(
            "a: &a [1]\n*a : 2",
            "f:1:line 2, column 1: An alias is used as a key. Write the key itself.",
            id="an alias of a list cannot be a key",
        ),
        pytest.param(
            "a: {<<: [1]}",
            'f:1:a["<<"]: A merge takes a mapping or a list of mappings, by their aliases.',
            id="a merge takes mappings only",
        ),
        pytest.param(
            "01: a\n'1': b",
            'f:1:["1"]: The key "1" stands twice in one mapping, the second time on line 2, column 1. Keep one.',
            id="keys that are written differently and mean the same stand twice",
        ),
        pytest.param(
            "a: &x {p: 0}\nb: {p: 1, <<: *x, p: 2}",
            'f:1:b.p: The key "p" stands twice in one mapping, the second time on line 2, column 19. Keep one.',
            id="a key stands twice even if a merge stands between",
        ),
        pytest.param(
            "a: &x [{p: 1}]\nb: {<<: *x}",
            'f:1:b["<<"]: A merge takes a mapping or a list of mappings, by their aliases.',
            id="a merge takes no alias of a list",
        ),
    ],
)
def test_refuses(text: str | bytes, want: str) -> None:
    assert problems(text) == [want]


def test_what_an_alias_stands_for_is_counted_with_all_that_is_in_it() -> None:
    inner = f"[{', '.join(['1'] * 99)}]"
    text = f"a: &a [{', '.join([inner] * 100)}]\nb: [{{}}]\n"  # 10,001 values stand under a

    assert problems(text.format(", ".join(["*a"] * 99))) == []
    assert problems(text.format(", ".join(["*a"] * 100))) == [
        "f:1:line 2, column 401: The aliases stand for more than 1000000 values. Write fewer of them."
    ]


def test_what_an_alias_stands_for_counts_towards_the_nesting() -> None:
    def nested(depth: int) -> str:
        return f"a: &a {'[' * 50}{']' * 50}\nb: {'[' * depth}*a{']' * depth}\n"

    assert problems(nested(49)) == []
    assert problems(nested(50)) == [f"f:1:line 2, column 54: {DEEP}"]


def test_all_keys_that_stand_twice_are_told_at_once() -> None:
    assert len(problems("a: 1\na: 2\nb: {c: 1, c: 2}\nb: 3\n")) == 3
