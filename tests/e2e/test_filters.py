"""Our filters beside those of kube-scheduler, on the same cluster."""

from __future__ import annotations

import pytest

from closeknit.testing.control_plane import ControlPlane
from tests.filters.cases import NODE_CASES
from tests.filters.feasible import objects_of
from tests.filters.kube_scheduler import allowed

pytestmark = pytest.mark.e2e


async def test_kube_scheduler_agrees_with_the_table_of_its_filters(plane: ControlPlane) -> None:
    objects = [obj for number, case in enumerate(NODE_CASES) for obj in objects_of(number, case)]

    found = await allowed(plane, objects)

    want = {f"case-{i}": frozenset() if case.held else case.want for i, case in enumerate(NODE_CASES)}
    assert found == want
