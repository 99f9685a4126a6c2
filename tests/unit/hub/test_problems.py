from __future__ import annotations

import re

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
from closeknit.hub.sentences import hub
from tests.kit.problems import finding, findings

LEVELS = ["block", "rack", "zone"]


def quoted(message: str) -> list[str]:
    """The names that a message quotes."""
    return re.findall(r'"([^"]*)"', message)


def numbers(message: str) -> list[int]:
    """The numbers in a message."""
    return [int(number) for number in re.findall(r"\d+", message)]


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
            ["rack", "block", "rack", "zone"],
            id="the nearest word, and all of them",
        ),
        pytest.param("x", LEVELS, ["block", "rack", "zone"], id="all of them where none is near"),
        pytest.param("x", [], [], id="nothing to choose from"),
        pytest.param(
            "x",
            [f"level-{i}" for i in range(10)],
            [f"level-{i}" for i in range(8)],
            id="long lists are cut",
        ),
        pytest.param("q", ["x", "y", "x"], ["x", "y"], id="what stands twice is told once"),
    ],
)
def test_suggestions(found: str, allowed: list[str], expected: list[str]) -> None:
    assert quoted(suggestion(found, allowed)) == expected


def test_a_long_list_of_suggestions_says_how_many_it_leaves_out() -> None:
    assert numbers(suggestion("x", [f"level-{name}" for name in "abcdefghij"])) == [2]
    assert numbers(suggestion("x", [f"level-{name}" for name in "abcdefghij"], more=30)) == [32]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        pytest.param(4, [1, 4], id="several numbers"),
        pytest.param(1, [1], id="a single one"),
        pytest.param(0, [], id="none at all"),
    ],
)
def test_a_range_of_numbers(most: int, expected: list[int]) -> None:
    assert numbers(between(1, most)) == expected


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
        f'"a" has 3 of "x", "y"; see spec.b[0]. {suggestion("zzz", ["rack", "y"])} {between(1, 4)} Pod Inside "it".'
    )


def test_a_problem_needs_exactly_the_facts_of_its_sentence() -> None:
    with pytest.raises(TypeError, match=r"inner .*\['what'\].*\['who'\]"):
        Code("inner", "Inside {what}.").at((), who="it")


def test_a_problem_moves_with_the_fields_that_its_facts_name() -> None:
    problem = Code("twice", "It stands at {field} too.").at(("spec", "b", 1), field=Field(("spec", "b", 0)))

    moved = problem.moved(lambda path: ("spec", "services", *path[2:])).under("items", 4)

    assert str(moved) == "items[4].spec.services[1]: It stands at items[4].spec.services[0] too."


def test_a_problem_of_a_pod_says_whose_it_is() -> None:
    problem = Code("wrong", "It is wrong.").at(("spec",))

    assert str(problem.of("Pod", "trainer-0")) == "Pod trainer-0: spec: It is wrong."


def test_a_sentence_lists_the_first_of_very_many_names() -> None:
    problem = Code("named", "There are {names:raw}.").at((), names=tuple(map(str, range(103))))

    assert numbers(problem.message) == [*range(100), 3]


@pytest.mark.parametrize("found", ["worker-0500x", "WORKER-0500"])
def test_of_very_many_names_the_nearest_is_told_as_of_few(found: str) -> None:
    names = [f"worker-{i:04}" for i in range(5_000)]

    many, few = OneOf.among(found, names), OneOf.among(found, names[480:520])
    messages = [Code("one", "{remedy}").at((), remedy=remedy).message for remedy in (many, few)]
    assert [quoted(message)[0] for message in messages] == ["worker-0500"] * 2
    assert quoted(messages[0])[1:] == names[:8]
    assert numbers(messages[0])[-1] == 4992
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

    assert quoted(suggestion("n5000", remedy.allowed, remedy.more))[:2] == ["n500", "n020"]
    assert first.isdisjoint(remedy.allowed)
    assert len(remedy.allowed) + (remedy.more or 0) == 980


@pytest.mark.parametrize(
    ("found", "suggested"),
    [
        pytest.param("rak", ["rack"], id="one is near"),
        pytest.param("x", ["block", "rack", "zone"], id="none is near"),
    ],
)
def test_the_word_that_was_meant(found: str, suggested: list[str]) -> None:
    message = Code("one", "{remedy:raw}").at((), remedy=Meant(found, tuple(LEVELS))).message

    assert quoted(message) == suggested


def test_a_rule_that_everything_breaks_tells_the_first_and_that_there_are_more() -> None:
    wrong = Code("wrong", "It is wrong.")
    every = [wrong.at(("spec", i)) for i in range(MOST_OF_A_RULE + 1)]

    assert list(first_of(every[:-1])) == every[:-1]
    *first, last = first_of(every)
    assert first == every[:-1]
    assert findings([last]) == [finding(hub.AND_MORE, f"spec[{MOST_OF_A_RULE}]", count=200)]


def test_very_many_notes_refuse_nothing_and_hide_no_problem() -> None:
    odd, wrong = Code("odd", "It is odd.", severity=Severity.NOTE), Code("wrong", "It is wrong.")
    notes = [odd.at(("spec", i)) for i in range(MOST_OF_A_RULE + 5)]
    problem = wrong.at(("status",))

    *first, last, refused = first_of([*notes, problem])
    assert first == notes[:MOST_OF_A_RULE]
    assert (last.code.name, last.severity) == ("and-more", Severity.NOTE)
    assert refused == problem
