"""What comes of OSMO's workflows when the operator fails at a write: the same as when it does not."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.controllers.osmo import OPERATOR
from closeknit.kube.port import KubernetesApi
from closeknit.testing.control_plane import ControlPlane
from closeknit.testing.controlling import controlling, crash_everywhere
from closeknit.testing.faulty_api import Fault
from tests.scenario.controlled import clear, connected
from tests.scenario.osmo_objects import RACKS, fail, pods, pool, workflow


async def life(
    point: int | None, fault: Fault, real: KubernetesApi | None = None
) -> tuple[dict[str, Any], int]:
    """A workflow that is retried and goes on to its second group; what it comes to."""
    groups: dict[str, dict[str, Any]] = {
        "first": {
            "a": {"lead": True, "resource": "one", "exitActions": {"RESCHEDULE": "7"}},
            "x": {"resource": "two"},
        },
        "second": {"b": {"inputs": [{"task": "a"}]}},
    }
    nodes_are_told = {"node"}
    if real is not None:
        await clear(real)
    async with controlling(
        [OPERATOR],
        pool("rack"),
        *RACKS,
        workflow(groups),
        real=real,
        point=point,
        fault=fault,
        scheduler=True,
        standins=True,
    ) as cluster:
        await cluster.quiet()
        for task, code in (("a", 7), ("a+1", 0), ("b", 0)):
            await fail(cluster, (await pods(cluster))[task], code)
            await cluster.quiet()
        found = await cluster.objects("Workflow", "Pool", "Topology", "Queue", "PodGroup")
        found["pods"] = sorted(await pods(cluster))
        return _without(found, nodes_are_told), len(cluster.api.writes)


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(inner, names) for name, inner in value.items() if name not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


async def test_what_comes_of_it_after_a_fault_at_a_write() -> None:
    expected, writes = await life(None, Fault.UNSENT)
    assert expected["pods"] == ["a", "a+1", "b"]
    assert expected["Workflow default/w"]["status"]["phase"] == "COMPLETED"
    for point in range(0, writes, 7):
        found, _ = await life(point, Fault.KILLED_AFTER)
        assert found == expected, f"killed after write {point}"


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_at_every_write_comes_to_the_same(fault: Fault) -> None:
    assert await crash_everywhere(life, [fault]) > 20


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.parametrize("fault", [Fault.KILLED_BEFORE, Fault.KILLED_AFTER, Fault.UNANSWERED])
async def test_a_fault_at_every_write_to_a_real_api_server(fault: Fault, plane: ControlPlane) -> None:
    async with connected(plane) as real:
        assert await crash_everywhere(lambda point, fault: life(point, fault, real), [fault]) > 20
