"""Bytes of files as plain documents: what is understood, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from closeknit.dialects.text import documents
from closeknit.dialects.text import yaml as yaml_text
from closeknit.dialects.text.documents import Document, Source, parse
from tests.counting import calls
from tests.unit.dialects.text.parsed import BOMB, DEEP, contents, problems, typed


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
    ],
)
def test_refuses(text: str | bytes, want: str) -> None:
    assert problems(text) == [want]


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
    found = problems("a: b: c\n---\n" * 100_000)

    assert len(found) == 101
    assert found[-1] == (
        "f:101:line 200, column 1: 100 documents before this one cannot be read. The rest of the file was left."
    )


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGEST", 10)

    assert problems("a: 1234567\n") == [
        "f:0:-: There are more than 10 bytes here, and no more are read of one file. Split it."
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
