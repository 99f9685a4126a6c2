"""However often a reading is asked for, an object is read once: counted, not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from closeknit.dialects import TARGETS, Source, read, translate
from closeknit.dialects.kai import derivation, groups
from tests.unit.dialects.kai.owned import job_set, replicated
from tests.unit.dialects.kit import pod, pod_group


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a JobSet is derived, and each kind of PodGroup read."""
    counted: Counter[str] = Counter()

    def counting(module: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(module, name)

        def outer(*given: Any) -> Any:
            counted[name] += 1
            return inner(*given)

        monkeypatch.setattr(module, name, outer)

    counting(derivation, "of_job_set")
    counting(derivation, "read_pod")
    counting(groups, "read_derived")
    counting(groups, "read_pod_group")
    return counted


MANY = job_set(*(replicated(f"w{i}", 3, 1) for i in range(20)))
SOURCES = [Source("f", "\n".join([MANY, pod_group({}), pod("p", "g")]).encode())]
ONCE = {"of_job_set": 1, "read_derived": 1, "read_pod_group": 1, "read_pod": 20}


def test_a_job_set_is_derived_and_read_once_and_each_template_as_well(calls: Counter[str]) -> None:
    found = read(SOURCES)

    assert found.problems == ()
    assert calls == ONCE


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_translated_is_read_once(target: str, calls: Counter[str]) -> None:
    translate(SOURCES, target)

    # Grove's objects are read again on the way to gangs, but they are others.
    assert calls == ONCE
