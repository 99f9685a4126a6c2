from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub import quantities
from closeknit.hub.problems import InvalidError
from closeknit.hub.quantities import LARGEST, Rounding
from closeknit.hub.sentences import hub
from tests.kit.problems import Finding, finding, findings

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}

numbers = st.decimals(min_value=0, max_value=10**6, places=6, allow_nan=False).map(lambda d: f"{d:f}")


@given(numbers, st.sampled_from(sorted(SUFFIXES)), st.sampled_from(["", "+", "-"]))
def test_a_quantity_is_the_exact_decimal_times_its_suffix(number: str, suffix: str, sign: str) -> None:
    exact = Fraction(Decimal(number)) * Fraction(SUFFIXES[suffix])

    assert quantities.parse(f"{sign}{number}{suffix}") == (-exact if sign == "-" else exact)


@given(numbers, st.integers(-20, 20), st.sampled_from("eE"))
def test_an_exponent_moves_the_point(number: str, exponent: int, letter: str) -> None:
    expected = Fraction(Decimal(number)) * Fraction(10) ** exponent

    assert quantities.parse(f"{number}{letter}{exponent}") == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("100m", Fraction(1, 10), id="100m is a tenth"),
        pytest.param("1.5Gi", Fraction(3 * 2**29), id="1.5Gi is exact"),
        pytest.param("1e3", Fraction(1000), id="1e3 has an exponent"),
        pytest.param("1E", Fraction(10**18), id="1E without digits after it is an exa"),
        pytest.param("1E3", Fraction(1000), id="1E3 has an exponent"),
        pytest.param(".5", Fraction(1, 2), id="a number may start with its point"),
        pytest.param("5.", Fraction(5), id="a number may end with its point"),
        pytest.param("+7", Fraction(7), id="a plus sign is allowed"),
        pytest.param("0", Fraction(0), id="zero is zero"),
        pytest.param(8, Fraction(8), id="a whole number from YAML counts as written"),
        pytest.param(0.1, Fraction(1, 10), id="a float from YAML counts as written, not as its binary value"),
        pytest.param(1e-7, Fraction(1, 10**7), id="a small float is written with an exponent"),
    ],
)
def test_reading(text: str | float, value: Fraction) -> None:
    assert quantities.parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(".", id="a lone point"),
        pytest.param("1 Gi", id="a blank inside"),
        pytest.param("1gi", id="a suffix in small letters"),
        pytest.param("1K", id="a capital K without i"),
        pytest.param("1e", id="an exponent without digits"),
        pytest.param("1e3m", id="an exponent and a suffix"),
        pytest.param("--1", id="two signs"),
        pytest.param("0x10", id="hexadecimal"),
        pytest.param("1_000", id="an underscore"),
        pytest.param("١", id="a digit of another script"),
        pytest.param("8\n", id="a line end after it"),
        pytest.param("nan", id="not a number"),
    ],
)
def test_what_is_not_a_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        quantities.parse(text)

    assert findings(caught.value.problems) == [finding(hub.UNKNOWN_SUFFIX, value=text)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(True, finding(hub.NOT_A_QUANTITY, value="True"), id="a boolean"),
        pytest.param(
            "1" * 65,
            finding(hub.QUANTITY_TOO_LONG, value="1" * 65),
            id="a number that is too long to be meant",
        ),
    ],
)
def test_refusals_are_sentences(text: str | float, problem: Finding) -> None:
    with pytest.raises(InvalidError) as caught:
        quantities.parse(text)

    assert findings(caught.value.problems) == [problem]


@pytest.mark.parametrize(
    ("resource", "text", "rounding", "units"),
    [
        pytest.param("cpu", "1", Rounding.UP, 10**9, id="a core is a billion units"),
        pytest.param("cpu", "0.5n", Rounding.UP, 1, id="a pod's fraction of a unit is rounded up"),
        pytest.param("cpu", "0.5n", Rounding.DOWN, 0, id="a node's fraction of a unit is rounded down"),
        pytest.param("memory", "1.5Gi", Rounding.UP, 3 * 2**29, id="memory is counted in bytes"),
        pytest.param("nvidia.com/gpu", "1500m", Rounding.UP, 2, id="a GPU and a half asks for two"),
        pytest.param("nvidia.com/gpu", "1500m", Rounding.DOWN, 1, id="a GPU and a half offers one"),
        pytest.param("memory", LARGEST, Rounding.UP, LARGEST, id="the largest amount is counted"),
    ],
)
def test_amounts(resource: str, text: str | int, rounding: Rounding, units: int) -> None:
    assert quantities.amount(resource, text, rounding) == units


@pytest.mark.parametrize(
    ("resource", "text", "problem"),
    [
        pytest.param("cpu", "-1", finding(hub.NEGATIVE, value="-1"), id="less than nothing"),
        pytest.param(
            "memory",
            LARGEST + 1,
            finding(hub.TOO_LARGE, value=LARGEST + 1, most=LARGEST),
            id="one more than 63 bits",
        ),
        pytest.param(
            "cpu",
            "9223372037",
            finding(hub.TOO_LARGE, value="9223372037", most=9_223_372_036),
            id="more cores than 63 bits of billionths",
        ),
        pytest.param(
            "memory",
            "1e999",
            finding(hub.TOO_LARGE, value="1e999", most=LARGEST),
            id="an exponent out of all bounds",
        ),
    ],
)
def test_amounts_refused(resource: str, text: str | int, problem: Finding) -> None:
    with pytest.raises(InvalidError) as caught:
        quantities.amount(resource, text)

    assert findings(caught.value.problems) == [problem]


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods"]), st.integers(0, LARGEST))
def test_what_is_written_is_read_back(resource: str, units: int) -> None:
    assert quantities.amount(resource, quantities.written(resource, units)) == units


@pytest.mark.parametrize(
    ("resource", "units", "text"),
    [
        ("cpu", 64 * 10**9, "64"),
        ("cpu", 10**8, "100m"),
        ("cpu", 1500, "1500n"),
        ("cpu", 2000, "2u"),
        ("memory", 512 * 2**30, "512Gi"),
        ("memory", 1000, "1000"),
        ("memory", 0, "0"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_writing(resource: str, units: int, text: str) -> None:
    assert quantities.written(resource, units) == text
