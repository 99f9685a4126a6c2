"""Keys, nesting, aliases and merges: what is understood, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.sentences import text as messages
from tests.kit.problems import Finding, finding
from tests.unit.text.parsed import BOMB, contents, reported, too_deep, typed


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
            finding(messages.KEY_TWICE, "1:m.a", key="a", second="line 4, column 3"),
            id="a key that stands twice is named with its line",
        ),
        pytest.param(
            "l:\n- {x: ~, x: ~}\n",
            finding(messages.KEY_TWICE, "1:l[0].x", key="x", second="line 2, column 10"),
            id="a key stands twice even if both are null",
        ),
        pytest.param(
            '{"a": {"b/c": 1,\n "b/c": 2}}',
            finding(messages.KEY_TWICE, '1:a["b/c"]', key="b/c", second="line 2, column 2"),
            id="a key that stands twice in JSON is named with its line",
        ),
        pytest.param(
            BOMB,
            finding(messages.TOO_MANY_ALIASED, "1:line 6, column 36", most=1_000_000),
            id="an alias bomb is refused",
        ),
        pytest.param(
            "a: &a [*a]",
            finding(messages.ALIAS_IN_ANCHOR, "1:line 1, column 8", anchor="a"),
            id="an alias inside its own anchor is refused",
        ),
        pytest.param(
            "a: *b",
            finding(messages.UNKNOWN_ANCHOR, "1:line 1, column 4", anchor="b"),
            id="an alias without an anchor is refused",
        ),
        pytest.param(
            "[" * 10_000,
            too_deep("1:line 1, column 101"),
            id="ten thousand open lists are refused",
        ),
        pytest.param(
            "[" * 10_000 + "]" * 10_000,
            too_deep("1:line 1, column 101"),
            id="ten thousand nested lists are refused",
        ),
        pytest.param(
            '{"a":' * 10_000 + "1" + "}" * 10_000,
            too_deep("1:line 1, column 501"),
            id="ten thousand nested JSON objects are refused",
        ),
        pytest.param(
            "- " * 10_000,
            too_deep("1:line 1, column 201"),
            id="ten thousand dashes are refused",
        ),
        pytest.param(
            '{"a": ' + "[" * 100 + "]" * 100 + "}",
            too_deep("1:line 1, column 106"),
            id="a hundred and one levels of JSON are refused",
        ),
        pytest.param(
            "a: " + "[" * 100 + "]" * 100,
            too_deep("1:line 1, column 103"),
            id="a hundred and one levels of YAML are refused",
        ),
        pytest.param(
            "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60,
            too_deep("1:line 2, column 64"),
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
            too_deep("1:line 3, column 44"),
            id="depth that hides behind two aliases counts",
        ),
        pytest.param(
            "? [a]\n: b",
            finding(messages.COLLECTION_AS_KEY, "1:line 1, column 3"),
            id="a list cannot be a key",
        ),
        pytest.param(
            "a: &a [1]\n*a : 2",
            finding(messages.ALIAS_AS_KEY, "1:line 2, column 1"),
            id="an alias of a list cannot be a key",
        ),
        pytest.param(
            "a: {<<: [1]}",
            finding(messages.BAD_MERGE, '1:a["<<"]'),
            id="a merge takes mappings only",
        ),
        pytest.param(
            "01: a\n'1': b",
            finding(messages.KEY_TWICE, '1:["1"]', key="1", second="line 2, column 1"),
            id="keys that are written differently and mean the same stand twice",
        ),
        pytest.param(
            "a: &x {p: 0}\nb: {p: 1, <<: *x, p: 2}",
            finding(messages.KEY_TWICE, "1:b.p", key="p", second="line 2, column 19"),
            id="a key stands twice even if a merge stands between",
        ),
        pytest.param(
            "a: &x [{p: 1}]\nb: {<<: *x}",
            finding(messages.BAD_MERGE, '1:b["<<"]'),
            id="a merge takes no alias of a list",
        ),
    ],
)
def test_refuses(text: str | bytes, want: Finding) -> None:
    assert reported(text) == [want]


def test_what_an_alias_stands_for_is_counted_with_all_that_is_in_it() -> None:
    inner = f"[{', '.join(['1'] * 99)}]"
    text = f"a: &a [{', '.join([inner] * 100)}]\nb: [{{}}]\n"  # 10,001 values stand under a

    assert reported(text.format(", ".join(["*a"] * 99))) == []
    assert reported(text.format(", ".join(["*a"] * 100))) == [
        finding(messages.TOO_MANY_ALIASED, "1:line 2, column 401", most=1_000_000)
    ]


def test_what_an_alias_stands_for_counts_towards_the_nesting() -> None:
    def nested(depth: int) -> str:
        return f"a: &a {'[' * 50}{']' * 50}\nb: {'[' * depth}*a{']' * depth}\n"

    assert reported(nested(49)) == []
    assert reported(nested(50)) == [too_deep("1:line 2, column 54")]


def test_all_keys_that_stand_twice_are_told_at_once() -> None:
    assert len(reported("a: 1\na: 2\nb: {c: 1, c: 2}\nb: 3\n")) == 3
