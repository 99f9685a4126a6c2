"""Names that are given out, each once."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.core.naming import UniqueNames, all_match
from closeknit.dialects.osmo.naming import all_folded, folded


def test_a_number_that_was_added_is_a_name_that_is_taken() -> None:
    names = UniqueNames(253)

    assert [names.take(name) for name in ("a", "a", "a-2", "a")] == ["a", "a-2", "a-2-2", "a-3"]


class Counted(dict[str, int]):
    """Counts how often it is asked for a name."""

    asked = 0

    def __contains__(self, name: object) -> bool:
        self.asked += 1
        return super().__contains__(name)


def test_thousands_that_want_one_name_get_numbers_without_searching() -> None:
    names = UniqueNames(15, digits=3)
    names._next = taken = Counted()

    given = [names.take("a-b") for _ in range(1000)]

    assert given[:3] == ["a-b", "a-b-2", "a-b-3"]
    assert len(set(given)) == 1000
    assert taken.asked <= 3 * 1000


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        pytest.param([], True, id="none at all"),
        pytest.param(["a", "b-c"], True, id="all of them"),
        pytest.param(["a", "B"], False, id="the last does not"),
        pytest.param(["B", "a"], False, id="the first does not"),
        pytest.param(["a", ""], False, id="an empty one"),
        pytest.param(["a\nb"], False, id="one of two lines that would match by themselves"),
        pytest.param(["a\n"], False, id="one that ends a line"),
        pytest.param(["a-"], False, id="one of which only the beginning matches"),
    ],
)
def test_whether_all_texts_match(texts: list[str], match: bool) -> None:
    assert all_match(re.compile("[a-z](?:[-a-z]*[a-z])?"), texts) is match


@given(st.lists(st.text(alphabet="aB1-_\n İΣσ")))
def test_names_are_folded_together_as_one_by_one(texts: list[str]) -> None:
    assert all_folded(texts) == [folded(text) for text in texts]
