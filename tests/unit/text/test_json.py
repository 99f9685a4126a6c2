"""JSON is read by a reader of its own, which is faster, and means what it means to the reader of YAML."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.text import json as json_text
from closeknit.text import yaml as yaml_text

# A letter beyond U+FFFF is two escapes in JSON, which YAML has no word for; DEL is refused before either reads.
strings = st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF, exclude_characters="\x7f"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
)


@given(
    st.dictionaries(strings, values, max_size=4) | st.lists(values, max_size=4), st.sampled_from([None, 2])
)
def test_both_readers_agree(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    read = json_text.load(text)

    assert read is not None
    assert repr(read) == repr(list(yaml_text.load(text)))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1, "a": 2}', id="a key that stands twice"),
        pytest.param('{"a": NaN}', id="no number"),
        pytest.param('{"a": -Infinity}', id="an infinite number"),
        pytest.param('{"a": 1', id="JSON that breaks off"),
        pytest.param("{a: 1}", id="a key without quotes"),
        pytest.param('{"a": "\\ud83d"}', id="half of a letter"),
        pytest.param('{"a": ' + "[" * 100 + "]" * 100 + "}", id="lists that are nested too deep"),
        pytest.param("[" * 100_000, id="brackets without end"),
        pytest.param("a: 1", id="what begins with no bracket"),
        pytest.param("", id="nothing"),
    ],
)
def test_leaves_to_yaml(text: str) -> None:
    assert json_text.load(text) is None
