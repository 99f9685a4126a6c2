"""What may not change in objects that exist."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    RACK,
    K,
    flavor,
    job,
    job_set,
    local_queue,
    queued_pod,
    replicated,
    topology,
    view_of,
    written,
)
from tests.unit.dialects.kueue.workloads import admission, pod_set, workload


def changes(old: str, new: str) -> list[str]:
    """What may not change from one version of an object to another."""
    (before, _), (after, view) = only(old), only(new)
    return [str(problem) for problem in KUEUE.update[after.shape](before, after, view)]


def only(text: str) -> tuple[Stored[Any], View]:
    view = view_of(text)
    (stored,) = (stored for shape in KUEUE.update for stored in view.of(shape))
    return stored, view


def suspended(text: str) -> str:
    given = json.loads(text)
    given["spec"]["suspend"] = True
    return json.dumps(given)


def labelled(text: str, **labels: str) -> str:
    given = json.loads(text)
    marks = {f"{K}{key.replace('_', '-')}": value for key, value in labels.items()}
    given["metadata"]["labels"] = {**given["metadata"].get("labels", {}), **marks}
    return json.dumps(given)


LEVELS = f'spec.levels: The levels cannot be changed unless "{HOST}" is the last before and after. Make a new Topology.'
QUEUE = f'metadata.labels["{K}queue-name"]: It was "team" and cannot be changed while the'
ADMITTED = admission(None)
TEMPLATE = f'spec.template.metadata.annotations["{K}podset-required-topology"]'


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(topology("t", BLOCK, RACK), topology("t", BLOCK, RACK), [], id="levels are the same"),
        pytest.param(topology("t", BLOCK, RACK), topology("t", RACK), [LEVELS], id="levels stay as they are"),
        pytest.param(
            topology("t", BLOCK, HOST),
            topology("t", BLOCK, RACK, HOST),
            [],
            id="levels above hosts may change",
        ),
        pytest.param(
            topology("t", BLOCK, HOST), topology("t", BLOCK, RACK), [LEVELS], id="hosts stay the lowest level"
        ),
        pytest.param(flavor(over=None), flavor(over="tree"), [], id="a flavor may get a topology"),
        pytest.param(flavor(over="tree"), flavor(over="tree"), [], id="a flavor keeps its topology"),
        pytest.param(
            flavor(over="tree"),
            flavor(over=None),
            ['spec.topologyName: It was "tree" and cannot be changed. Make a new ResourceFlavor.'],
            id="a flavor does not lose its topology",
        ),
        pytest.param(
            flavor(over="tree"),
            flavor(over="other", nodeLabels={"pool": "b"}),
            [
                'spec.topologyName: It was "tree" and cannot be changed. Make a new ResourceFlavor.',
                "spec.nodeLabels: This cannot be changed while the flavor has a topology. Make a new"
                " ResourceFlavor.",
            ],
            id="a flavor with a topology stays as it is",
        ),
        pytest.param(
            flavor(over=None, nodeLabels={"pool": "a"}),
            flavor(over=None, nodeLabels={"pool": "b"}),
            [],
            id="the labels of a flavor without a topology may change",
        ),
        pytest.param(
            local_queue(to="research"),
            local_queue(to="other"),
            ['spec.clusterQueue: It was "research" and cannot be changed. Make a new LocalQueue.'],
            id="a LocalQueue keeps its ClusterQueue",
        ),
        pytest.param(local_queue(), local_queue(stopPolicy="Hold"), [], id="a LocalQueue may be stopped"),
        pytest.param(
            written("AdmissionCheck", "c", {"controllerName": "example.com/a"}),
            written("AdmissionCheck", "c", {"controllerName": "example.com/b"}),
            ['spec.controllerName: It was "example.com/a" and cannot be changed. Make a new AdmissionCheck.'],
            id="a check keeps its controller",
        ),
        pytest.param(
            job(4), job(4, queue="b"), [f"{QUEUE} Job runs. Suspend it first."], id="a Job keeps its queue"
        ),
        pytest.param(
            job_set(replicated("a", 1, 2)),
            labelled(job_set(replicated("a", 1, 2)), queue_name="b"),
            [f"{QUEUE} JobSet runs. Suspend it first."],
            id="a JobSet keeps its queue",
        ),
        pytest.param(job(4), suspended(job(4, queue="b")), [], id="a suspended Job may change its queue"),
        pytest.param(
            job(4),
            labelled(job(4), priority_class="high"),
            [
                f'metadata.labels["{K}priority-class"]: It was not given and cannot be changed while the Job runs.'
                " Suspend it first."
            ],
            id="a Job keeps its priority",
        ),
        pytest.param(
            job(4, podset_required_topology=RACK),
            job(4, podset_required_topology=BLOCK),
            [f'{TEMPLATE}: It was "{RACK}" and cannot be changed while the Job runs. Suspend it first.'],
            id="what the pods of a Job ask of the topology stays",
        ),
        pytest.param(
            job_set(replicated("a", 1, 2), replicated("b", 1, 2, podset_slice_size="2")),
            job_set(replicated("a", 1, 2), replicated("b", 1, 2, podset_slice_size="1")),
            [
                "spec.replicatedJobs[1].template.spec.template.metadata.annotations"
                f'["{K}podset-slice-size"]: It was "2" and cannot be changed while the JobSet runs. Suspend it'
                " first."
            ],
            id="what the pods of a replicated job ask of the topology stays",
        ),
        pytest.param(
            job(4, own={"job-min-parallelism": "2"}),
            job(8, own={"job-min-parallelism": "2"}),
            [
                "spec.parallelism: It was 4 and cannot be changed while the Job runs with part of its pods."
                " Suspend it first."
            ],
            id="a Job of which part will do keeps its size",
        ),
        pytest.param(job(4), job(8), [], id="another Job may grow"),
        pytest.param(job(4, queue=None), job(4), [], id="a Job that does not queue yet may begin to"),
        pytest.param(
            queued_pod("p", "a", 2),
            queued_pod("p", "b", 2),
            [
                f'metadata.labels["{K}pod-group-name"]: It was "a" and cannot be changed. Delete the pod and'
                " create it anew."
            ],
            id="a pod keeps its group",
        ),
        pytest.param(
            queued_pod("p"),
            labelled(queued_pod("p"), queue_name="b"),
            [f"{QUEUE} Pod runs. Suspend it first."],
            id="a pod that was let go keeps its queue",
        ),
        pytest.param(
            workload(pod_set(), status=ADMITTED),
            workload(pod_set(count=3), queueName="b", status=ADMITTED),
            [
                'spec.queueName: It was "team" and cannot be changed while the Workload has its quota.',
                "spec.podSets: The pod sets cannot be changed while the Workload has its quota.",
            ],
            id="a Workload with quota keeps queue and pod sets",
        ),
        pytest.param(
            workload(pod_set()),
            workload(pod_set(count=3), queueName="b"),
            [],
            id="a Workload that waits may change both",
        ),
    ],
)
def test_what_may_not_change(old: str, new: str, want: list[str]) -> None:
    assert changes(old, new) == want


def test_a_gated_pod_may_change_its_queue() -> None:
    given = json.loads(queued_pod("p"))
    given["spec"]["schedulingGates"] = [{"name": f"{K}admission"}]
    gated = json.dumps(given)

    assert changes(gated, labelled(gated, queue_name="b")) == []
