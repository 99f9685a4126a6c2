"""How deep a text may nest, and how much of it a parser sees where it nests deeper."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.problems import InvalidError
from closeknit.text import json as json_text
from closeknit.text import yaml
from closeknit.text.nesting import DEEPEST, is_deeper

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='[]{}"\\:,a'),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[]{}"\\:a'), inner, max_size=4)
    ),
    max_leaves=40,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(TREES)
def test_the_depth_is_that_of_the_value(value: Any) -> None:
    raw, depth = json.dumps(value).encode(), depth_of(value)

    assert not is_deeper(raw, depth)
    assert depth == 0 or is_deeper(raw, depth - 1)


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param(b"[" * 101, True, id="101 brackets"),
        pytest.param(b"[" * 100, False, id="100 brackets"),
        pytest.param(b'"' + b"[" * 1_000, False, id="brackets in a string without an end"),
        pytest.param(b'"\\' + b"[" * 1_000 + b"\\", False, id="a string that ends in half an escape"),
        pytest.param(b"[]" * 1_000, False, id="lists side by side"),
        pytest.param(b"]" * 500 + b"[" * 101, False, id="more ends than starts, which is no JSON"),
    ],
)
def test_texts_that_are_no_json_are_counted_too(raw: bytes, want: bool) -> None:
    assert is_deeper(raw) is want


def test_json_that_nests_too_deep_is_not_given_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr(json_text, "_decode", parsed.append)

    with pytest.raises(InvalidError):
        json_text.decode(b"[" * 100_000)

    assert parsed == []


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_the_parser_of_yaml_stops_where_a_text_nests_too_deep(
    opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Any] = []

    class Counted(yaml.Events):  # type: ignore[name-defined,misc]
        def get_event(self) -> Any:
            events.append(event := super().get_event())
            return event

    monkeypatch.setattr(yaml, "Events", Counted)

    with pytest.raises(InvalidError):
        yaml.decode(opening * 100_000)

    # A level of a mapping has its start and a key.
    assert len(events) <= 2 * DEEPEST + 10


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "".join(f"%TAG !a{number}! x\n" for number in range(1_000)) + "---\na: 1\n", id="directives"
        ),
        pytest.param("a: &a [1]\nb: *a\n", id="aliases"),
        pytest.param("a: 1\n---\nb: 1\n", id="documents"),
        pytest.param("a: [", id="no end"),
    ],
)
def test_what_may_cost_more_than_was_sent_is_refused_in_what_clients_send(text: str) -> None:
    with pytest.raises(InvalidError):
        yaml.decode(text)


def test_nulls_and_the_last_of_repeated_keys_are_kept_in_what_clients_send() -> None:
    content, repeated = yaml.decode("a: null\nb: {c: 1, c: 2}\nd: 2024-01-01\n")

    assert content == {"a": None, "b": {"c": 2}, "d": "2024-01-01"}
    assert [problem.path for problem in repeated] == [("b", "c")]


def test_a_document_names_its_first_thousand_problems() -> None:
    _, repeated = yaml.decode("a: 1\n" * 5_000)

    assert len(repeated) == 1_000


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param(b'{"a":1,"b":{"a":1}}', [], id="none"),
        pytest.param(b'{"a":":","b":"\\u003a"}', [], id="colons in strings"),
        pytest.param(b'{"a":1,"a":2}', [("a",)], id="one"),
        pytest.param(b'{"a":1,"a":2,"a":3}', [("a",)], id="three times is named once"),
        pytest.param(b'{"a":{"b":1,"b":"\\u003a"}}', [("a", "b")], id="hidden by an escaped colon"),
        pytest.param(b'{"x":[{},{"k":1,"k":2}]}', [("x", 1, "k")], id="in a list"),
        pytest.param(b'{"a":{"b":1,"b":2},"a":{}}', [("a",)], id="not those in what is dropped"),
        pytest.param(b'{"a":' + b"9" * 5_000 + b"e-4900" + b',"a":2}', [("a",)], id="beside a huge number"),
    ],
)
def test_repeated_keys_of_json_are_named_by_their_paths(raw: bytes, want: list[tuple[Any, ...]]) -> None:
    assert json_text.decode(raw)[1] == want


@given(TREES)
def test_json_is_read_as_by_pythons_own_reader(value: Any) -> None:
    content, repeated = json_text.decode(json.dumps(value).encode())

    assert (content, repeated) == (value, [])
