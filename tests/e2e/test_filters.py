"""Our filters beside those of kube-scheduler, on the same cluster."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.control_plane.plane import CONTROLLERS
from tests.filters.cases import NEIGHBOUR_CASES, NODE_CASES
from tests.filters.claim_cases import CLAIM_CASES
from tests.filters.feasible import feasible, objects_of
from tests.filters.kube_scheduler import allowed
from tests.filters.random_cluster import random_objects
from tests.planes import running_plane

CASES = (*NODE_CASES, *CLAIM_CASES, *NEIGHBOUR_CASES)
pytestmark = pytest.mark.e2e


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A control plane that leaves claims as they were made, be there a volume or not."""
    with running_plane(controllers=[each for each in CONTROLLERS if "volume" not in each]) as running:
        yield running


async def test_kube_scheduler_agrees_with_the_table_of_its_filters(plane: ControlPlane) -> None:
    objects = [obj for number, case in enumerate(CASES) for obj in objects_of(number, case)]

    found = await allowed(plane, objects)

    want = {f"case-{i}": frozenset() if case.held else case.want for i, case in enumerate(CASES)}
    assert found == want


async def test_kube_scheduler_and_we_agree_on_random_pods_and_nodes(plane: ControlPlane) -> None:
    objects = random_objects(Random(1), nodes=100, pods=300)
    ours = feasible(objects)

    theirs = await allowed(plane, objects)

    different = {
        name: (sorted(ours[name] - theirs[name]), sorted(theirs[name] - ours[name])) for name in ours
    }
    assert {name: each for name, each in different.items() if any(each)} == {}
    assert sum(map(len, ours.values())) > 1000
