from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.quantities import Rounding
from closeknit.hub.resources import Resources, is_extended

amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods"]), st.integers(-5, 5))


@given(amounts, amounts)
def test_sums_and_differences_are_taken_name_by_name(left: dict[str, int], right: dict[str, int]) -> None:
    names = {*left, *right}
    one, other = Resources(left), Resources(right)

    assert one + other == Resources({name: left.get(name, 0) + right.get(name, 0) for name in names})
    assert one - other == Resources({name: left.get(name, 0) - right.get(name, 0) for name in names})
    assert (one + other) - other == one


@given(amounts, st.integers(0, 4))
def test_a_multiple_is_a_repeated_sum(amount: dict[str, int], times: int) -> None:
    total = Resources()
    for _ in range(times):
        total += Resources(amount)

    assert Resources(amount) * times == total


@given(amounts)
def test_zero_means_absent_and_order_means_nothing(amount: dict[str, int]) -> None:
    kept = {name: units for name, units in reversed(amount.items()) if units}

    assert Resources(amount) == Resources(kept)
    assert hash(Resources(amount)) == hash(Resources(kept))
    assert list(Resources(amount)) == sorted(kept)


@given(amounts)
def test_copies_are_equal(amount: dict[str, int]) -> None:
    resources = Resources(amount)

    assert pickle.loads(pickle.dumps(resources)) == resources
    assert copy.deepcopy(resources) == resources


def test_resources_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="Resources"):
        Resources()._amounts = {"cpu": 1}


def test_resources_are_not_equal_to_a_plain_mapping() -> None:
    assert Resources({"cpu": 1}) != {"cpu": 1}


def test_quantities_are_read_by_the_unit_of_their_resource() -> None:
    read = Resources.parse({"cpu": "100m", "memory": "1Ki", "nvidia.com/gpu": 8})

    assert read == Resources({"cpu": 10**8, "memory": 1024, "nvidia.com/gpu": 8})
    assert repr(read) == "Resources(cpu=100m, memory=1Ki, nvidia.com/gpu=8)"
    assert Resources.parse({"pods": "1.5"}, Rounding.DOWN) == Resources({"pods": 1})


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        ("nvidia.com/gpu", True),
        ("kubernetes.io/batch-cpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("pods", False),
        ("gpu", False),
    ],
)
def test_a_resource_whose_name_has_a_domain_is_extended(name: str, extended: bool) -> None:
    assert is_extended(name) is extended
