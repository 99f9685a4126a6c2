"""What the live map tells of workloads."""

from __future__ import annotations

from closeknit.scheduler.cluster_state import ClusterState
from closeknit.server.live_map import LiveMap
from tests.unit.scheduler.objects import entry, node, pod


def test_a_job_has_the_pods_that_name_no_pod_group() -> None:
    state = ClusterState()
    live = LiveMap(state, time=lambda: 1.0)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    runs = [pod(f"train-{i}", on="n", phase="Running") for i in range(2)]
    for each in runs:
        each["metadata"]["ownerReferences"] = [owner]
    template = {"metadata": {"labels": {"kai.scheduler/queue": "q"}}, "spec": runs[0]["spec"]}
    metadata = {"name": "train", "namespace": "default", "uid": "u"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"parallelism": 2, "completions": 2, "template": template},
    }
    for obj in (node("n"), job, *runs):
        state.put(entry(obj))
    live.refresh()

    (unit,) = (row for row in live.rows() if not row.foreign)
    assert (unit.name, unit.state, unit.pods, unit.open) == ("train", "running", 2, 0)
