from __future__ import annotations

import pytest

from closeknit.hub.nodes import Effect, Operator, Requirement, Taint, Toleration

TAINT = Taint("dedicated", Effect.NO_SCHEDULE, "ml")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(Toleration(), True, id="an empty toleration covers every taint"),
        pytest.param(Toleration("dedicated"), True, id="a key alone covers every value and effect"),
        pytest.param(Toleration("dedicated", "ml"), True, id="key and value cover the taint"),
        pytest.param(Toleration("dedicated", "ml", Effect.NO_SCHEDULE), True, id="all three cover the taint"),
        pytest.param(Toleration("other"), False, id="another key does not"),
        pytest.param(Toleration("dedicated", ""), False, id="an empty value is compared"),
        pytest.param(Toleration("dedicated", "ml", Effect.NO_EXECUTE), False, id="another effect does not"),
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert toleration.tolerates(TAINT) is expected


@pytest.mark.parametrize(
    ("operator", "values", "value", "expected"),
    [
        (Operator.IN, ("a", "b"), "b", True),
        (Operator.IN, ("a",), "b", False),
        (Operator.IN, ("a",), None, False),
        (Operator.NOT_IN, ("a",), "b", True),
        (Operator.NOT_IN, ("a",), "a", False),
        (Operator.NOT_IN, ("a",), None, True),
        (Operator.EXISTS, (), "", True),
        (Operator.EXISTS, (), None, False),
        (Operator.DOES_NOT_EXIST, (), "a", False),
        (Operator.DOES_NOT_EXIST, (), None, True),
        (Operator.GT, ("2",), "3", True),
        (Operator.GT, ("2",), "2", False),
        (Operator.GT, ("2",), "x", False),
        (Operator.GT, (), "3", False),
        (Operator.GT, ("2",), None, False),
        (Operator.LT, ("10",), "9", True),
        (Operator.LT, ("10",), "10", False),
        (Operator.LT, ("10",), None, False),
    ],
)
def test_requirements(operator: Operator, values: tuple[str, ...], value: str | None, expected: bool) -> None:
    assert Requirement("key", operator, values).holds(value) is expected


def test_taints_are_written_as_kubectl_does() -> None:
    assert str(TAINT) == "dedicated=ml:NoSchedule"
    assert str(Taint("gone", Effect.NO_EXECUTE)) == "gone:NoExecute"
