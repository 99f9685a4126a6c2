"""Admitted workloads: what is written of them means the same when it is read again, and no pod is planned
where it cannot run.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.kueue.to_started import started
from closeknit.dialects.kueue.to_workload import admission_object, workload_object
from closeknit.engine import Engine
from closeknit.hub.accounts import Accounts
from closeknit.hub.outcome import Placed
from closeknit.hub.sentences import kueue
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload
from closeknit.scheduler.deciding import decide
from tests.kit.problems import finding, findings
from tests.unit.dialects.kit import reading, unseen
from tests.unit.dialects.kueue.kit import (
    HOST,
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    nominated,
    queued_pod,
    queues,
    replicated,
    view_of,
)
from tests.unit.dialects.kueue.problems import label
from tests.unit.dialects.kueue.workloads import admission, hosts, pod_set, workload
from tests.unit.dialects.verdicts import decided, places_of

RACKS = (node("z", "b", "r1", 2), node("b", "b", "r1", 2), node("a", "b", "r2", 2), node("y", "b", "r2", 2))


def admitted(*texts: str) -> dict[str, Any]:
    """The Workload of what queues, as it is written once admitted."""
    read, view = reading(*texts), view_of(*texts)
    (known,) = read.workloads
    assert isinstance(known, PlaceableWorkload)
    verdict = decide(Engine(read.cluster), read.cluster, known, Accounts())
    assert isinstance(verdict.outcome, Placed)
    (each,) = nominated(view)
    way = next(way for way in each.admissions if verdict.option == way.option)
    return {
        **workload_object(each),
        "status": {"admission": admission_object(each, way, verdict.outcome, view)},
    }


def pod(name: str, on: str = "", index: str = "0", owner: str = "train", **spec: Any) -> str:
    """A pod of a Job; one without a node waits."""
    metadata = {
        "name": name,
        "labels": {
            "batch.kubernetes.io/job-completion-index": index,
            f"{K}podset": "main",
            "batch.kubernetes.io/job-name": owner,
        },
        "annotations": {f"{K}workload": "job-train-1"},
    }
    container = {"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    placed = {"nodeName": on} if on else {}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [container], **placed, **spec},
        }
    )


@pytest.mark.requirement("K51", "K104")
def test_each_job_stays_in_its_rack_when_an_assignment_is_read_again() -> None:
    jobs = job_set(replicated("a", 2, 4), own={"require-topology": RACK})
    made = admitted(*QUEUES, *RACKS, jobs)
    (known,) = reading(*QUEUES, *RACKS, jobs, json.dumps(made)).workloads

    assert known.admitted
    assert isinstance(known, PlaceableWorkload)
    racks = {"z": "r1", "b": "r1", "a": "r2", "y": "r2"}
    found = [{racks[name] for name in pods.bound} for pods in known.request.root.pod_sets()]
    assert found == [{"r1"}, {"r2"}]


@pytest.mark.requirement("K54")
@pytest.mark.parametrize(
    ("texts", "count"),
    [
        pytest.param(
            (
                *queues(quota={"nvidia.com/gpu": 3}), *RACKS,
                job(own={"job-min-parallelism": "2"}),
            ),
            3,
            id="fewer pods than asked for",
        ),
        pytest.param(
            (*QUEUES, *RACKS, pod("train-0", "z"), pod("train-1", "b", "1"), job()), 4, id="two pods that run"
        ),
    ],
)  # fmt: skip
def test_a_written_admission_agrees_with_itself(texts: tuple[str, ...], count: int) -> None:
    made = admitted(*texts)
    (given,) = made["status"]["admission"]["podSetAssignments"]
    read = reading(*texts, json.dumps(made))

    assert (given["count"], given["resourceUsage"]) == (count, {"nvidia.com/gpu": str(count)})
    assert [str(problem) for problem in read.problems] == []
    assert [(each.admitted, isinstance(each, PlaceableWorkload)) for each in read.workloads] == [(True, True)]


NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}


def sick(name: str, rack: str, gpus: int) -> str:
    made = json.loads(node(name, "b", rack, gpus))
    made["status"].update(NOT_READY)
    return json.dumps(made)


@pytest.mark.parametrize(
    ("nodes", "status", "want"),
    [
        pytest.param(
            [node("n1", "b", "r1", 2), node("n2", "b", "r1", 2), node("n3", "b", "r1", 2)],
            {**admission(hosts({"n1": 2, "n2": 2})), "unhealthyNodes": [{"name": "n2"}]},
            ["n3", "n3"],
            id="a node in unhealthyNodes is not used again",
            marks=pytest.mark.requirement("K24"),
        ),
        pytest.param(
            [node("n1", "b", "r1", 2), node("n2", "b", "r1", 4), node("n3", "b", "r2", 4)],
            {**admission(hosts({"n1": 2, "n2": 2})), "unhealthyNodes": [{"name": "n2"}]},
            None,
            id="a node in unhealthyNodes is not used again where only it has room near the others",
            marks=pytest.mark.requirement("K24"),
        ),
        pytest.param(
            [node("n1", "b", "r1", 2), sick("n2", "r1", 2), node("n3", "b", "r1", 2)],
            admission(hosts({"n1": 2, "n2": 2})),
            ["n3", "n3"],
            id="pods that are assigned to a node that is not ready need another place",
            marks=pytest.mark.requirement("K25"),
        ),
    ],
)
def test_pods_that_cannot_run_where_they_were_assigned(
    nodes: list[str], status: dict[str, Any], want: list[str] | None
) -> None:
    asked = pod_set(topologyRequest={"required": RACK})
    verdict = decided(*QUEUES, *nodes, workload(asked, status=status))["waits"]

    assert isinstance(verdict.outcome, Placed) == (want is not None)
    if want is not None:
        assert places_of(verdict) == want


@pytest.mark.requirement("K66")
@pytest.mark.parametrize(
    "over",
    [
        pytest.param({"status": {"conditions": [{"type": "Finished", "status": "True"}]}}, id="finished"),
        pytest.param({"active": False}, id="not active"),
    ],
)
@pytest.mark.parametrize(
    ("owner", "texts"),
    [
        pytest.param(("Job", "train"), [job()], id="a Job"),
        pytest.param(("JobSet", "set"), [job_set(replicated("main", 1, 4))], id="a JobSet"),
        pytest.param(("Pod", "g"), [queued_pod(f"g-{i}", "g", 2) for i in range(2)], id="a group of pods"),
    ],
)
def test_a_workload_that_is_over_does_not_queue_through_its_owner(
    owner: tuple[str, str], texts: list[str], over: dict[str, Any]
) -> None:
    made = workload(name=owner[1], owner=owner, **over)

    assert reading(*QUEUES, *RACKS, *texts, made).workloads == ()


@pytest.mark.requirement("K90")
@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [
                job(2),
                pod("train-0-x", nodeSelector={"pool": "tas", HOST: "y"}),
                workload(
                    pod_set(2), name="job-train-1", owner=("Job", "train"),
                    status=admission(hosts({"z": 1, "y": 1}), 2),
                ),
            ],
            ["y", "z"],
            id="a pod that was let go keeps its node, and the other gets what is left",
        ),
        pytest.param(
            [job(2), pod("train-0-x", nodeSelector={"pool": "tas", HOST: "y"})],
            ["y", ""],
            id="without a Workload the pod's own selector counts",
        ),
        pytest.param(
            [
                *(
                    queued_pod(f"g-{i}", "g", 2).replace('"spec": {', f'"spec": {{"nodeSelector": {{"{HOST}": "{on}"}}, ')
                    .replace('"labels": {', f'"labels": {{"{K}podset": "main", ')
                    for i, on in enumerate("yz")
                ),
                workload(pod_set(2), name="g", owner=("Pod", "g-0"), status=admission(hosts({"z": 1, "y": 1}), 2)),
            ],
            ["y", "z"],
            id="pods of a group that were let go are still of one pod set",
        ),
    ],
)  # fmt: skip
def test_pods_that_were_let_go_keep_to_their_domain(texts: list[str], want: list[str]) -> None:
    read = reading(*QUEUES, *RACKS, *texts)
    assert [str(problem) for problem in read.problems] == []
    (known,) = read.workloads
    assert isinstance(known, PlaceableWorkload)
    found = [
        node
        for pods in known.request.root.pod_sets()
        for node in (pods.bound or [dict(pods.filter.selector).get(HOST, "")] * pods.count)
    ]

    assert found == want


@pytest.mark.requirement("K106", "K107")
@pytest.mark.parametrize("word", ["require", "prefer"])
def test_the_early_words_keep_their_meaning_for_each_job_of_a_job_set(word: str) -> None:
    text = job_set(replicated("a", 2, 3), own={f"{word}-topology": RACK})
    (each,) = nominated(view_of(*QUEUES, text))
    again = json.dumps(started(each, each.admissions[0], {}))

    (before,), (after,) = (reading(*QUEUES, given).workloads for given in (text, again))
    assert isinstance(before, PlaceableWorkload)
    assert isinstance(after, PlaceableWorkload)
    assert unseen(after.request) == unseen(before.request)


@pytest.mark.requirement("K35")
def test_a_topology_that_is_missing_is_not_reported_as_a_flavor_without_one() -> None:
    texts = (flavor(), cluster_queue(), local_queue(), job(podset_required_topology=RACK))
    (known,) = reading(*texts).workloads

    assert isinstance(known, InvalidWorkload)
    assert findings(known.problems) == [
        finding(
            kueue.QUEUE_NOT_ACTIVE,
            label("queue-name"),
            kind="ClusterQueue",
            queue="research",
            reason='there is no usable Topology "tree" for flavor "tas"',
        )
    ]
