"""Bytes of files as plain documents: what is understood, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from closeknit.dialects.text import documents, tree
from closeknit.dialects.text import yaml as yaml_text
from closeknit.dialects.text.documents import Document, Source, parse
from tests.counting import calls


def contents(text: str | bytes) -> list[Any]:
    found = list(parse(Source("f", text if isinstance(text, bytes) else text.encode())))
    assert all(isinstance(result, Document) for result in found), [str(result) for result in found]
    return [result.content for result in found if isinstance(result, Document)]


def problems(text: str | bytes) -> list[str]:
    found = parse(Source("f", text if isinstance(text, bytes) else text.encode()))
    return [str(result) for result in found if not isinstance(result, Document)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="documents are told apart by dashes"),
        pytest.param('{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}], id="JSON values may follow each other"),
        pytest.param('{"a": 1}\n1 "b"', [{"a": 1}, 1, "b"], id="after a JSON mapping anything may follow"),
        pytest.param('[{"a": 1}]', [[{"a": 1}]], id="a JSON list is one document"),
        pytest.param("{a: 1, b: [x]}", [{"a": 1, "b": ["x"]}], id="braces without quotes are YAML"),
        pytest.param('{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}], id="JSON between dashes is YAML"),
        pytest.param("", [], id="an empty file has no documents"),
        pytest.param("# nothing\n---\n---\na: 1\n", [{"a": 1}], id="empty documents are passed over"),
        pytest.param(
            "%YAML 1.1\n---\na: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}], id="directives are fine"
        ),
        pytest.param("\ufeffa: 1\n", [{"a": 1}], id="a byte order mark is passed over"),
        pytest.param("a:\nb: ~\nc: 1\n", [{"c": 1}], id="a field without a value is absent"),
        pytest.param(
            '{"a": null, "b": [null]}', [{"b": [None]}], id="null in a list stays, in a mapping not"
        ),
        pytest.param(
            "a: 2024-01-31T00:00:00Z", [{"a": "2024-01-31T00:00:00Z"}], id="a timestamp stays a string"
        ),
        pytest.param("a: 22:30\n", [{"a": "22:30"}], id="a time of day stays a string"),
        pytest.param(
            "a: [1, -2, 0x1F, 017, 0b11, 1_000]", [{"a": [1, -2, 31, 15, 3, 1000]}], id="whole numbers"
        ),
        pytest.param("a: [1.5, .5, -2.5e+3]", [{"a": [1.5, 0.5, -2500]}], id="decimal numbers"),
        pytest.param(
            "a: [1.0, 1e3, 08, -0.0]",
            [{"a": [1, 1000, 8, 0]}],
            id="a decimal number without a fraction is a whole number",
        ),
        pytest.param(
            '{"a": [1.0, 1e3, -0.0, 0.5, 18446744073709551616]}',
            [{"a": [1, 1000, 0, 0.5, 18446744073709552000]}],
            id="numbers of JSON mean what they mean in YAML",
        ),
        pytest.param(
            "a: [1e400, 0x, 0x_, 0b_, 1.2.3, +]",
            [{"a": ["1e400", "0x", "0x_", "0b_", "1.2.3", "+"]}],
            id="what is no plain number stays a string",
        ),
        pytest.param(
            "a: [yes, No, TRUE, off, y, N]",
            [{"a": [True, False, True, False, True, False]}],
            id="words for truth values",
        ),
        pytest.param(
            "a: ['yes', \"1\", '~', !!str 5, ! 6]",
            [{"a": ["yes", "1", "~", "5", "6"]}],
            id="what stands in quotes or is tagged as one is a string",
        ),
        pytest.param(
            "a: [!!int '5', !!float 5, !!bool 'no', !!null '']",
            [{"a": [5, 5, False, None]}],
            id="other tags of the core schema are obeyed",
        ),
        pytest.param(f"a: {'9' * 70}", [{"a": 1e70}], id="a number of more than 64 bits is rounded"),
        pytest.param(
            "017: a\nyes: b\n'y': c\n",
            [{"15": "a", "true": "b", "y": "c"}],
            id="keys are strings after their meaning",
        ),
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
        pytest.param(
            "a: 'x\u00e9\U0001f600\x85'", [{"a": "x\u00e9\U0001f600 "}], id="letters of all scripts are fine"
        ),
        pytest.param('{"a": "\\ud83d\\ude00"}', [{"a": "\U0001f600"}], id="a pair of escapes is one letter"),
        pytest.param("a: " + "[" * 99 + "]" * 99, None, id="a hundred levels of YAML are fine"),
        pytest.param('{"a": ' + "[" * 99 + "]" * 99 + "}", None, id="a hundred levels of JSON are fine"),
    ],
)
def test_understands(text: str, want: list[Any] | None) -> None:
    found = contents(text)

    assert want is None or found == want
    assert want is None or [[type(value) for value in _leaves(x)] for x in found] == [
        [type(value) for value in _leaves(x)] for x in want
    ]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key])]
    return [leaf for inner in value for leaf in _leaves(inner)] if isinstance(value, list) else [value]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)
DEEP = f"Lists and mappings are nested more than {tree.DEEPEST} deep. Nothing that is read here needs that."


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
            "a:\n\tb: 1\n",
            "f:1:line 2, column 1: This is not YAML: while scanning for the next token,"
            " found character that cannot start any token. A tab stands here. Indent with spaces.",
            id="a tab is named with line and column",
        ),
        pytest.param(
            "a: 1\nb: {{c}}\n",
            "f:1:line 2, column 5: A list or mapping is used as a key. Keys are strings."
            " This looks like a template. Fill it in first, and give what comes out of it.",
            id="a template in place of a value",
        ),
        pytest.param(
            "a:\n{% for i in range(3) %}\n- b\n{% endfor %}\n",
            "f:1:line 2, column 2: This is not YAML: while scanning for the next token,"
            " found character that cannot start any token."
            " This looks like a template. Fill it in first, and give what comes out of it.",
            id="a template with a loop",
        ),
        pytest.param(
            b"a: 1\nb: x\xff\n",
            "f:0:line 2, column 5: The byte 0xff is not UTF-8. Save the file as UTF-8.",
            id="bad UTF-8 is named with line and column",
        ),
        pytest.param(
            "a: 1\n\nbb: \x1b[31m",
            "f:0:line 3, column 5: The character U+001B is not allowed. Remove it.",
            id="a control character is named with line and column",
        ),
        pytest.param(
            "a: 1".encode("utf-16"),
            "f:0:line 1, column 1: The byte 0xff is not UTF-8. Save the file as UTF-8.",
            id="another encoding is not guessed",
        ),
        pytest.param(
            '{"a": "\\ud800"}',
            "f:1:line 1, column 10: This is not YAML: while parsing a quoted scalar,"
            " found invalid Unicode character escape code.",
            id="half a letter in JSON is refused",
        ),
        pytest.param(
            '{"a": 1',
            "f:1:line 2, column 1: This is not YAML: while parsing a flow mapping,"
            " did not find expected ',' or '}'.",
            id="JSON that breaks off is refused",
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
            "x: !!python/object/apply:os.system [ls]",
            'f:1:x: The tag "tag:yaml.org,2002:python/object/apply:os.system" on line 1, column 4'
            " is not supported. Leave it out.",
            id="a tag that would run code is refused",
        ),
        pytest.param(
            "x: !!binary aGk=",
            "f:1:x: The tag is not supported. Leave it out,"
            " or use !!str, !!int, !!float or !!bool. It stands on line 1, column 4.",
            id="a tag that is not needed is refused",
        ),
        pytest.param(
            "x: !!int five",
            "f:1:x: The value does not fit its tag. Leave the tag out, or change the value."
            " It stands on line 1, column 4.",
            id="a value must fit its tag",
        ),
        pytest.param(
            "x: [1, .inf]",
            'f:1:x[1]: ".inf" is no number in JSON. Write a finite one, or put it in quotes.'
            " It stands on line 1, column 8.",
            id="an infinite number is refused",
        ),
        pytest.param(
            "x:\n  1.10: a",
            'f:1:x["1.10"]: The key "1.10" stands without quotes and is no string. Write it in quotes.'
            " It stands on line 2, column 3.",
            id="a decimal number is no key",
        ),
        pytest.param(
            "~: a",
            'f:1:["~"]: The key "~" stands without quotes and is no string. Write it in quotes.'
            " It stands on line 1, column 1.",
            id="null is no key",
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


def test_a_document_that_cannot_be_read_leaves_the_others_readable() -> None:
    text = "a: b: c\n---\nk: 1\n---\n- [\n---\nx: {w: 1, w: 2}\n---\nz: 1\n"
    found = list(parse(Source("f", text.encode())))

    assert [(result.number, result.content) for result in found if isinstance(result, Document)] == [
        (2, {"k": 1}),
        (5, {"z": 1}),
    ]
    assert [
        (result.document, result.problem.where) for result in found if not isinstance(result, Document)
    ] == [
        (1, "line 1, column 5"),
        (3, "line 6, column 1"),
        (4, "x.w"),
    ]


def test_after_a_hundred_documents_that_cannot_be_read_the_rest_is_left() -> None:
    found = problems("a: b: c\n---\n" * 100_000)

    assert len(found) == 101
    assert found[-1] == (
        "f:101:line 200, column 1: 100 documents before this one cannot be read. The rest of the file was left."
    )


def test_all_keys_that_stand_twice_are_told_at_once() -> None:
    assert len(problems("a: 1\na: 2\nb: {c: 1, c: 2}\nb: 3\n")) == 3


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGEST", 10)

    assert problems("a: 1234567\n") == [
        "f:0:-: There are 11 bytes here. At most 10 are read; split the file."
    ]
    assert contents("a: 123456\n") == [{"a": 123456}]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BOMB, id="aliases of aliases"),
        pytest.param("[" * 1_000_000, id="lists in lists"),
        pytest.param('{"a":' * 200_000, id="mappings in mappings"),
        pytest.param("- " * 500_000, id="lists in lists, one a dash"),
        pytest.param("&a " * 1000 + "x", id="anchors"),
        pytest.param("*" * 100_000, id="asterisks"),
        *(
            pytest.param(f"a: {start}{'1' * 1_000_000}", id=f"a million digits after '{start}'")
            for start in ("", "0", "0x", "0b", "1.", ".", "1e", "+", "1_")
        ),
    ],
)
def test_hostile_input_costs_little(text: str) -> None:
    assert calls(lambda: problems(text)) < 10_000


def test_the_parser_in_python_yields_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "Events", yaml.BaseLoader)

    assert contents("a: &x [1, 'b', ~]\nc: *x\n---\n{d: yes}\n") == [
        {"a": [1, "b", None], "c": [1, "b", None]},
        {"d": True},
    ]
    assert problems("[" * 10_000) == [f"f:1:line 1, column 101: {DEEP}"]
    assert problems("a: 1\na: 2\n")[0].startswith("f:1:a: The key")
