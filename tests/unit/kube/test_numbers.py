from __future__ import annotations

import pytest

from closeknit.kube.numbers import digits, signed
from closeknit.kube.standins import indexes


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0),
        ("007", 7),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1_0", None),
        ("1e3", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_a_whole_number_is_ascii_digits_and_nothing_else(text: str, want: int | None) -> None:
    assert digits(text) == want


@pytest.mark.parametrize(("text", "want"), [("-5", -5), ("5", 5), ("--5", None), ("-", None), ("-²", None)])
def test_a_signed_number_has_one_sign(text: str, want: int | None) -> None:
    assert signed(text) == want


def test_indexes_that_are_named_again_and_again_are_read_once() -> None:
    assert indexes.parse("0-3,2,²,1-٣,5-4,x") == {0, 1, 2, 3}
    assert len(indexes.parse(",".join(["0-100000"] * 300_000))) == 100_001
