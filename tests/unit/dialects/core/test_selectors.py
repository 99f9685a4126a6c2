"""Expressions by which devices are selected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.apis.resource_k8s_io_v1 import Device
from closeknit.dialects.core.selector_costs import HIGHEST, LONGEST
from closeknit.dialects.core.selectors import BudgetError, SelectorError, check, cost, selected
from tests.filters.claims import DRIVER, device


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("device.attributes['gpu.example.com'].version.compareTo(semver('2.9.0')) > 0", True),
        ("device.attributes['gpu.example.com'].version.major() == 2", True),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))", True),
        ("device.capacity['gpu.example.com'].memory == quantity('40Gi')", True),
        ("isQuantity('40x') || isSemver('1.2')", False),
        ("device.attributes['gpu.example.com'].?rdma.orValue(false)", False),
        ("'rdma' in device.attributes['other.example.com']", False),
        ("device.attributes['gpu.example.com'].model.upperAscii() == 'A'", True),
        ("cel.bind(x, device.driver, x.startsWith('gpu.'))", True),
    ],
)
def test_expressions_mean_what_they_mean_to_kubernetes(expression: str, *, want: bool) -> None:
    assert selected(expression, DRIVER, _basic()) is want


@pytest.mark.parametrize(
    "expression", ["device.attributes['x'].y == 1", "1", "quantity('x') == quantity('1')"]
)
def test_an_expression_without_an_answer_is_an_error(expression: str) -> None:
    with pytest.raises(SelectorError):
        selected(expression, DRIVER, _basic())


def numbers(count: int) -> str:
    return str(list(range(count)))


NESTED = f"{numbers(110)}.all(a, {numbers(110)}.all(b, a+b >= 0))"
TEXT = "x" * 4000


def test_an_evaluation_that_the_library_gives_up_is_an_error_of_the_selector() -> None:
    with pytest.raises(BudgetError):
        selected(NESTED, DRIVER, _basic())


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("true || " * (LONGEST // 8) + "true", id="one that is longer than Kubernetes accepts"),
        pytest.param("(" * 100 + "true" + ")" * 100, id="one that is nested too deeply"),
        pytest.param("\ud800", id="one that is no text"),
        pytest.param(
            f"{numbers(99)}.all(a, {numbers(99)}.all(b, '{TEXT}'.replace('x', '{TEXT[:2000]}').size() > 0))",
            id="one that makes long texts in a loop, which took 36 s and 6 GB",
        ),
        pytest.param(
            "cel.bind(a0, 'aaaaaaaaaa', "
            + "".join(f"cel.bind(a{i + 1}, a{i}+a{i}, " for i in range(25))
            + "a25.size() == 3"
            + ")" * 26,
            id="one that doubles a text again and again",
        ),
        pytest.param(
            f"{numbers(99)}.all(a, {numbers(99)}.all(b, '{TEXT * 2}'.matches('(x+x+)+y')))",
            id="one that matches long texts in a loop",
        ),
    ],
)
def test_what_would_cost_too_much_is_never_evaluated(expression: str) -> None:
    assert check(expression)
    assert cost(expression) == 0
    with pytest.raises(SelectorError):
        selected(expression, DRIVER, _basic())


@pytest.mark.parametrize(
    ("expression", "least", "most"),
    [
        ("device.driver == 'gpu.example.com'", 2, 40),
        ("device.attributes['gpu.example.com'].model == 'a' && quantity('1') == quantity('2')", 450, 500),
        (f"{numbers(99)}.all(a, {numbers(99)}.all(b, a+b >= 0))", 99 * 99 * 3, HIGHEST // 5),
        (f"{numbers(50)}.map(a, 'abc').join(',').size() == 199", 50, 1000),
        ("{'a': 1}.exists(key, key.matches('^a+$'))", 3, 100),
    ],
)
def test_costs_grow_with_steps_and_with_what_they_read(expression: str, least: int, most: int) -> None:
    assert check(expression) == ""
    assert least <= cost(expression) <= most


def _basic() -> Any:
    return msgspec.convert(device("0"), Device)
