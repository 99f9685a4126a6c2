"""Names that are given out, each once."""

from __future__ import annotations

from closeknit.dialects.core.naming import UniqueNames


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
