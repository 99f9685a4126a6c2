"""How messages name a value that has the wrong type."""

from __future__ import annotations

import pytest

from closeknit.dialects.wire.decoding import found


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("two", '"two", a string,', id="a string"),
        pytest.param(5, "5, a number,", id="a whole number"),
        pytest.param(1.5, "1.5, a number,", id="a fraction"),
        pytest.param(True, "true, a truth value,", id="a truth value"),
        pytest.param(["a"], "a list", id="a list"),
        pytest.param({"a": 1}, "a mapping", id="a mapping"),
        pytest.param(None, "nothing", id="null"),
    ],
)
def test_a_value_of_the_wrong_type(value: object, text: str) -> None:
    assert found(value) == text
