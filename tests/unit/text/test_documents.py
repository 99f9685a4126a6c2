"""Bytes of files as plain documents: what is understood, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from closeknit.hub.sentences import text as messages
from closeknit.text import documents
from closeknit.text import yaml as yaml_text
from closeknit.text.documents import Document, Source, parse
from tests.counting import calls
from tests.kit.problems import Finding, finding
from tests.unit.text.parsed import BOMB, contents, reported, too_deep, typed

TEMPLATE = " This looks like a template. Fill it in first, and give what comes out of it."


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
            "a: 'x\u00e9\U0001f600\x85'", [{"a": "x\u00e9\U0001f600 "}], id="letters of all scripts are fine"
        ),
        pytest.param('{"a": "\\ud83d\\ude00"}', [{"a": "\U0001f600"}], id="a pair of escapes is one letter"),
    ],
)
def test_understands(text: str, want: list[Any]) -> None:
    assert typed(contents(text)) == typed(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "a:\n\tb: 1\n",
            finding(
                messages.NOT_YAML,
                "1:line 2, column 1",
                reason="while scanning for the next token, found character that cannot start any token",
                remedy=" A tab stands here. Indent with spaces.",
            ),
            id="a tab is named with line and column",
        ),
        pytest.param(
            "a: 1\nb: {{c}}\n",
            finding(
                messages.GAVE_UP,
                "1:line 2, column 5",
                problem=messages.COLLECTION_AS_KEY.at(("line 2, column 5",)),
                remedy=TEMPLATE,
            ),
            id="a template in place of a value",
        ),
        pytest.param(
            "a:\n{% for i in range(3) %}\n- b\n{% endfor %}\n",
            finding(
                messages.NOT_YAML,
                "1:line 2, column 2",
                reason="while scanning for the next token, found character that cannot start any token",
                remedy=TEMPLATE,
            ),
            id="a template with a loop",
        ),
        pytest.param(
            b"a: 1\nb: x\xff\n",
            finding(messages.NOT_UTF8, "0:line 2, column 5", byte="0xff"),
            id="bad UTF-8 is named with line and column",
        ),
        pytest.param(
            "a: 1\n\nbb: \x1b[31m",
            finding(messages.UNPRINTABLE, "0:line 3, column 5", character="U+001B"),
            id="a control character is named with line and column",
        ),
        pytest.param(
            "a: 1".encode("utf-16"),
            finding(messages.NOT_UTF8, "0:line 1, column 1", byte="0xff"),
            id="another encoding is not guessed",
        ),
        pytest.param(
            '{"a": "\\ud800"}',
            finding(
                messages.NOT_YAML,
                "1:line 1, column 10",
                reason="while parsing a quoted scalar, found invalid Unicode character escape code",
                remedy="",
            ),
            id="half a letter in JSON is refused",
        ),
        pytest.param(
            '{"a": 1',
            finding(
                messages.NOT_YAML,
                "1:line 2, column 1",
                reason="while parsing a flow mapping, did not find expected ',' or '}'",
                remedy="",
            ),
            id="JSON that breaks off is refused",
        ),
    ],
)
def test_refuses(text: str | bytes, want: Finding) -> None:
    assert reported(text) == [want]


def test_a_document_that_cannot_be_readtyped_the_others_readable() -> None:
    text = "a: b: c\n---\nk: 1\n---\n- [\n---\nkind: {w: 1, w: 2}\n---\nz: 1\n"
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
        (4, "kind.w"),
    ]


def test_after_a_hundred_documents_that_cannot_be_read_the_rest_is_left() -> None:
    broken = reported("a: b: c\n---\n" * 100_000)

    assert len(broken) == 101
    assert broken[-1] == finding(messages.TOO_MANY_BROKEN, "101:line 200, column 1", most=100)


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGEST", 10)

    assert reported("a: 1234567\n") == [finding(messages.FILE_TOO_LARGE, "0:-", most=10)]
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
    assert calls(lambda: reported(text)) < 10_000


def test_the_parser_in_python_yields_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "Events", yaml.BaseLoader)

    assert contents("a: &x [1, 'b', ~]\nc: *x\n---\n{d: yes}\n") == [
        {"a": [1, "b", None], "c": [1, "b", None]},
        {"d": True},
    ]
    assert reported("[" * 10_000) == [too_deep("1:line 1, column 101")]
    assert reported("a: 1\na: 2\n") == [
        finding(messages.KEY_TWICE, "1:a", key="a", second="line 2, column 1")
    ]
