"""What the live map tells of workloads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.scheduler.cluster_state import ClusterState
from closeknit.server.live_map import SHOWN_FAMILIES, LiveMap
from tests.unit.dialects.kai.owned import MINIMUM, changed, job, job_set, leader_worker_set, replicated
from tests.unit.scheduler.objects import SETS, entry, node, of_set, owned, pod, pod_group

_QUEUED = {"kueue.x-k8s.io/queue-name": "team"}
_ADMITTED = {"kueue.x-k8s.io/podset": "a", f"{SETS}jobset-name": "x"}
_LEADERS = "leaderworkerset.sigs.k8s.io/"


def of_leader(group: int, number: int) -> dict[str, Any]:
    labels = {
        f"{_LEADERS}name": "x",
        f"{_LEADERS}group-index": str(group),
        f"{_LEADERS}worker-index": str(number),
    }
    return owned(f"x-{group}-{number}", f"StatefulSet x-{group}", labels)


CASES = [
    pytest.param(
        job({MINIMUM: "2"}, parallelism=2),
        [owned("x-0", "Job x"), owned("x-1", "Job x")],
        {"x": ("running", 2)},
        id="a Job whose pods name no PodGroup",
    ),
    pytest.param(
        job({MINIMUM: "2"}, parallelism=2),
        [owned("x-0", "Job x"), owned("x-1", "Job x", named="pg-x-u")],
        {"x": ("running", 2)},
        id="a Job of which one pod names the PodGroup that KAI would make",
    ),
    pytest.param(
        job_set(replicated("a", 2, 2)),
        [of_set("p0", 0), of_set("p1", 0), of_set("p2", 1), of_set("p3", 1)],
        {"x": ("running", 4)},
        id="a JobSet, whose pods belong to several Jobs",
    ),
    pytest.param(
        job_set(replicated("a", 2, 2)),
        [of_set("p0", 0), of_set("p1", 0), of_set("p2", 1, on=""), of_set("p3", 1, on="")],
        {"x": ("pending", 2)},
        id="a JobSet of which one Job runs",
    ),
    pytest.param(
        leader_worker_set(2, 2),
        [of_leader(group, number) for group in range(2) for number in range(2)],
        {"x.group-0": ("running", 2), "x.group-1": ("running", 2)},
        id="each group of a LeaderWorkerSet",
    ),
    pytest.param(
        changed(job_set(replicated("a", 2, 1)), labels=_QUEUED),
        [of_set("p0", 0, more=_ADMITTED), of_set("p1", 1, more=_ADMITTED)],
        {"x": ("invalid", 2)},
        id="a JobSet that queues in Kueue, though its queue has gone",
    ),
    pytest.param(
        json.dumps(pod_group("g", subGroups=[{"name": "a", "minMember": 1, "parent": "nobody"}])),
        [pod("g-0", "g", on="n", phase="Running", subgroup="a")],
        {"g": ("invalid", 1)},
        id="a PodGroup that is wrong, and runs",
    ),
    pytest.param(
        json.dumps(pod_group("g", minMember=3)),
        [pod("g-0", "g"), pod("g-1", "g")],
        {"g": ("incomplete", 0)},
        id="a PodGroup with nothing wrong whose third pod is still to come",
    ),
    pytest.param(
        json.dumps(pod_group("g", minMember=3, priorityClassName="none-such")),
        [pod("g-0", "g"), pod("g-1", "g")],
        {"g": ("invalid", 0)},
        id="a PodGroup with something wrong whose third pod is still to come",
    ),
]


@pytest.mark.parametrize("backwards", [False, True], ids=["pods last", "pods first"])
@pytest.mark.parametrize(("owner", "pods", "rows"), CASES)
def test_one_row_tells_of(
    owner: str, pods: list[dict[str, Any]], rows: dict[str, tuple[str, int]], *, backwards: bool
) -> None:
    made = json.loads(owner)
    made["metadata"] |= {"namespace": "default", "uid": "u"}
    state = ClusterState(SHOWN_FAMILIES)
    live = LiveMap(state, time=lambda: 1.0)
    state.put(entry(node("n")))
    for obj in (*pods, made) if backwards else (made, *pods):
        state.put(entry(obj))
        live.refresh()

    assert {row.name: (row.state, row.pods) for row in live.rows()} == rows
    assert not any(row.foreign for row in live.rows())
    assert {row.kind for row in live.rows()} == {made["kind"]}


def test_pods_that_outlive_their_job_set_are_their_controllers() -> None:
    made = json.loads(job_set(replicated("a", 2, 1)))
    made["metadata"] |= {"namespace": "default", "uid": "u"}
    state = ClusterState()
    live = LiveMap(state, time=lambda: 1.0)
    for obj in (node("n"), made, of_set("p0", 0), of_set("p1", 1)):
        state.put(entry(obj))
    live.refresh()

    state.remove(entry(made).key)
    live.refresh()

    assert [(row.kind, row.name, row.pods) for row in live.rows()] == [
        ("Job", "x-a-0", 1),
        ("Job", "x-a-1", 1),
    ]
