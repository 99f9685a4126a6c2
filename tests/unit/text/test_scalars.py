"""What plain scalars mean, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.hub.sentences import text as messages
from tests.kit.problems import Finding, finding
from tests.unit.text.parsed import contents, reported, typed


@pytest.mark.parametrize(
    ("text", "want"),
    [
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
    ],
)
def test_understands(text: str, want: list[Any]) -> None:
    assert typed(contents(text)) == typed(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "x: !!python/object/apply:os.system [ls]",
            finding(
                messages.UNSUPPORTED_TAG,
                "1:x",
                tag="tag:yaml.org,2002:python/object/apply:os.system",
                at="line 1, column 4",
            ),
            id="a tag that would run code is refused",
        ),
        pytest.param(
            "x: !!binary aGk=",
            finding(
                messages.BAD_SCALAR,
                "1:x",
                problem=messages.UNSUPPORTED_SCALAR_TAG.at(),
                at="line 1, column 4",
            ),
            id="a tag that is not needed is refused",
        ),
        pytest.param(
            "x: !!int five",
            finding(
                messages.BAD_SCALAR, "1:x", problem=messages.VALUE_MISFITS_TAG.at(), at="line 1, column 4"
            ),
            id="a value must fit its tag",
        ),
        pytest.param(
            "x: [1, .inf]",
            finding(
                messages.BAD_SCALAR,
                "1:x[1]",
                problem=messages.NO_JSON_NUMBER.at(value=".inf"),
                at="line 1, column 8",
            ),
            id="an infinite number is refused",
        ),
        pytest.param(
            "x:\n  1.10: a",
            finding(
                messages.BAD_SCALAR,
                '1:x["1.10"]',
                problem=messages.KEY_NO_STRING.at(key="1.10"),
                at="line 2, column 3",
            ),
            id="a decimal number is no key",
        ),
        pytest.param(
            "~: a",
            finding(
                messages.BAD_SCALAR,
                '1:["~"]',
                problem=messages.KEY_NO_STRING.at(key="~"),
                at="line 1, column 1",
            ),
            id="null is no key",
        ),
    ],
)
def test_refuses(text: str | bytes, want: Finding) -> None:
    assert reported(text) == [want]
