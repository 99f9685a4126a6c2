"""Patterns of users: RE2's syntax, and a bound on what a match may take."""

from __future__ import annotations

import re

import pytest

from closeknit.kube import patterns


@pytest.mark.parametrize(
    ("pattern", "text", "want"),
    [
        pytest.param("b", "abc", True, id="anywhere in the text"),
        pytest.param("^b", "abc", False, id="at the start"),
        pytest.param("c$", "abc\n", False, id="the end is the end, also before a line break"),
        pytest.param(r"^\d$", "٣", False, id="digits are those of ASCII"),
        pytest.param(r"^\pL$", "ä", True, id="letters of all scripts have a class"),
        pytest.param("^(?:ä|ö)$", "ö", True, id="no ASCII"),
        pytest.param("^.{200}$", "ä" * 200, True, id="characters are counted, not bytes"),
        pytest.param("^(a+)+$", "a" * 100_000 + "!", False, id="one that makes a backtracking engine wait"),
        pytest.param("(", "(", False, id="nothing matches what is no pattern"),
        pytest.param("a", "\ud800", False, id="half of a surrogate pair"),
    ],
)
def test_a_pattern_matches_as_in_kubernetes(pattern: str, text: str, want: bool) -> None:
    assert patterns.matches(pattern, text) is want


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?<!a)b",
        r"(a)\1",
        "a++",
        "(?>a)",
        "x{1001}",
        "((a{100}){100}){100}",
        "(",
        "\ud800",
        "a" * 16_385,
    ],
)
def test_what_no_linear_engine_can_match_is_no_pattern(pattern: str) -> None:
    with pytest.raises(patterns.PatternError) as refused:
        patterns.check(pattern)

    assert len(str(refused.value)) <= 200


def test_the_steps_of_a_match_are_bounded_by_text_and_states() -> None:
    few, many = patterns.most_steps("a", "x" * 1_000), patterns.most_steps("[ab]*a[ab]{1000}c", "x" * 1_000)

    assert few < 20_000
    assert many > 1_000_000
    assert patterns.most_steps("[ab]*a[ab]{1000}c", "x" * 2_000) < 2 * many


def test_long_texts_are_not_remembered() -> None:
    before = patterns._remembered.cache_info().currsize
    for number in range(100):
        patterns.matches("a", f"{number:0200}")

    assert patterns._remembered.cache_info().currsize == before


def test_patterns_are_not_given_to_the_engine_that_backtracks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("matched by re")

    monkeypatch.setattr(re, "search", fail)
    monkeypatch.setattr(re, "compile", fail)

    assert patterns.matches("^(b+)+$", "b" * 1_000)
