from __future__ import annotations

import pytest

from closeknit.hub.many_problems import MOST_OF_A_RULE, first_of
from closeknit.hub.nearest import nearest
from closeknit.hub.problems import (
    Choices,
    Code,
    Field,
    InvalidError,
    Meant,
    OneOf,
    Range,
    Severity,
    between,
    shown,
    suggestion,
)

LEVELS = ["block", "rack", "zone"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param("racks", "rack", id="a letter too many"),
        pytest.param("ZONE", "zone", id="another case"),
        pytest.param("continent", None, id="nothing close"),
        pytest.param("rack" * 100, None, id="a text too long to compare"),
    ],
)
def test_the_nearest_word(found: str, expected: str | None) -> None:
    assert nearest(found, LEVELS) == expected


def test_a_text_of_many_letters_is_not_compared_at_all() -> None:
    assert nearest("A" * 257, ["a" * 257]) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("rack", '"rack"', id="a word is quoted"),
        pytest.param(7, "7", id="a number is not"),
        pytest.param("a\nb", "'a\\nb'", id="control characters are escaped"),
        pytest.param("x" * 100, '"' + "x" * 79 + '…"', id="a long text is cut, and its quotes are closed"),
        pytest.param("\n" * 100, "'" + ("\\n" * 40)[:79] + "…'", id="so is one with control characters"),
        pytest.param(10**100, "1" + "0" * 79 + "…", id="a long number has no quotes to close"),
        pytest.param("x" * 80, '"' + "x" * 80 + '"', id="a text that just fits is whole"),
    ],
)
def test_what_a_user_wrote_is_shown_safely(value: object, expected: str) -> None:
    assert shown(value) == expected


@pytest.mark.parametrize(
    ("found", "allowed", "expected"),
    [
        pytest.param(
            "racks",
            LEVELS,
            'Did you mean "rack"? Allowed: "block", "rack", "zone".',
            id="the nearest word, and all of them",
        ),
        pytest.param("x", LEVELS, 'Allowed: "block", "rack", "zone".', id="all of them where none is near"),
        pytest.param("x", [], "None is given; add it, or name none.", id="nothing to choose from"),
        pytest.param(
            "x",
            [f"level-{i}" for i in range(10)],
            "Allowed: " + ", ".join(f'"level-{i}"' for i in range(8)) + " and 2 more.",
            id="long lists are cut",
        ),
        pytest.param("q", ["x", "y", "x"], 'Allowed: "x", "y".', id="what stands twice is told once"),
    ],
)
def test_suggestions(found: str, allowed: list[str], expected: str) -> None:
    assert suggestion(found, allowed) == expected


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        pytest.param(4, "Allowed are 1 to 4.", id="several numbers"),
        pytest.param(1, "Write 1.", id="a single one"),
    ],
)
def test_a_range_of_numbers(most: int, expected: str) -> None:
    assert between(1, most) == expected


def test_an_error_carries_every_problem_and_reads_as_one_line() -> None:
    error = InvalidError([Code("first", "First.").at(("a", "b")), Code("second", "Second.").at()])

    assert [problem.where for problem in error.problems] == ["a.b", ""]
    assert str(error) == "a.b: First.; Second."


PLAIN = Code("plain", "{name} has {count} of {names}; see {field}. {remedy} {range} {kind:raw} {inner}")


def test_a_sentence_is_made_from_facts_by_their_type() -> None:
    problem = PLAIN.at(
        ("spec", "levels", 2, "example.com/rack"),
        name="a",
        count=3,
        names=("x", "y"),
        field=Field(("spec", "b", 0)),
        remedy=OneOf.among("zzz", ["rack", "y"]),
        range=Range(1, 4),
        kind="Pod",
        inner=Code("inner", "Inside {what}.").at((), what="it"),
    )

    assert problem.where == 'spec.levels[2]["example.com/rack"]'
    assert problem.message == (
        '"a" has 3 of "x", "y"; see spec.b[0]. Allowed: "rack", "y". Allowed are 1 to 4. Pod Inside "it".'
    )


def test_a_problem_needs_exactly_the_facts_of_its_sentence() -> None:
    with pytest.raises(TypeError, match="inner needs the facts"):
        Code("inner", "Inside {what}.").at((), who="it")


def test_a_problem_moves_with_the_fields_that_its_facts_name() -> None:
    problem = Code("twice", "It stands at {field} too.").at(("spec", "b", 1), field=Field(("spec", "b", 0)))

    moved = problem.moved(lambda path: ("spec", "services", *path[2:])).under("items", 4)

    assert str(moved) == "items[4].spec.services[1]: It stands at items[4].spec.services[0] too."


def test_a_problem_of_a_pod_says_whose_it_is() -> None:
    problem = Code("wrong", "It is wrong.").at(("spec",))

    assert str(problem.of("Pod", "trainer-0")) == "Pod trainer-0: spec: It is wrong."


def test_a_sentence_lists_the_first_of_very_many_names() -> None:
    told = Code("named", "There are {names:raw}.").at((), names=tuple(map(str, range(103))))

    assert told.message.endswith("98, 99 and 3 more.")


@pytest.mark.parametrize("found", ["worker-0500x", "WORKER-0500"])
def test_of_very_many_names_the_nearest_is_told_as_of_few(found: str) -> None:
    names = [f"worker-{i:04}" for i in range(5_000)]

    many, few = (OneOf.among(found, each) for each in (names, names[480:520]))
    told = [Code("one", "{remedy}").at((), remedy=each).message for each in (many, few)]
    assert [each.partition("Allowed")[0] for each in told] == ['Did you mean "worker-0500"? '] * 2
    assert told[0].endswith('"worker-0007" and 4992 more.')
    assert len(many.allowed) < 200


def test_what_cannot_be_meant_is_left_out_of_the_choices() -> None:
    assert Choices(["a", "b"]).instead_of("c", but=frozenset({"a"})) == OneOf("c", ("b",))
    assert OneOf.among("x", map(str, range(1_000))).more == 1_000 - len(
        OneOf.among("x", map(str, range(1_000))).allowed
    )


def test_of_very_many_choices_those_are_listed_and_counted_that_can_be_meant() -> None:
    names = [f"n{i:03}" for i in range(1_000)]
    first = frozenset(names[:20])

    remedy = Choices(names).instead_of("n5000", but=first)

    assert suggestion("n5000", remedy.allowed, remedy.more).startswith('Did you mean "n500"? Allowed: "n020"')
    assert first.isdisjoint(remedy.allowed)
    assert len(remedy.allowed) + (remedy.more or 0) == 980


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param("rak", 'Did you mean "rack"?', id="one is near"),
        pytest.param("x", 'Allowed: "block", "rack", "zone".', id="none is near"),
    ],
)
def test_the_word_that_was_meant(found: str, told: str) -> None:
    assert Code("one", "{remedy:raw}").at((), remedy=Meant(found, tuple(LEVELS))).message == told


def test_a_rule_that_everything_breaks_tells_the_first_and_that_there_are_more() -> None:
    wrong = Code("wrong", "It is wrong.")
    every = [wrong.at(("spec", i)) for i in range(MOST_OF_A_RULE + 1)]

    assert list(first_of(every[:-1])) == every[:-1]
    *first, last = first_of(every)
    assert first == every[:-1]
    assert (
        str(last)
        == f"spec[{MOST_OF_A_RULE}]: More is wrong in the same way. Mend the first 200 to see the rest."
    )


def test_very_many_notes_refuse_nothing_and_hide_no_problem() -> None:
    odd, wrong = Code("odd", "It is odd.", severity=Severity.NOTE), Code("wrong", "It is wrong.")
    notes = [odd.at(("spec", i)) for i in range(MOST_OF_A_RULE + 5)]
    problem = wrong.at(("status",))

    *first, last, refused = first_of([*notes, problem])
    assert first == notes[:MOST_OF_A_RULE]
    assert (last.code.name, last.severity) == ("and-more", Severity.NOTE)
    assert refused == problem
