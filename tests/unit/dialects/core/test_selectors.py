"""Expressions by which devices are selected."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from closeknit.apis.resource_k8s_io_v1 import Device
from closeknit.dialects.core.selectors import SelectorError, selected
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


def _basic() -> Any:
    return msgspec.convert(device("0"), Device)
