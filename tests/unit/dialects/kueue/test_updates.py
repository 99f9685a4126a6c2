"""What may not change in objects that exist."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.sentences import kueue
from tests.kit.problems import Finding, finding, findings
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
from tests.unit.dialects.kueue.problems import TEMPLATE, annotation, label
from tests.unit.dialects.kueue.workloads import admission, pod_set, workload


def forbidden_changes(old: str, new: str) -> list[Finding]:
    """The problems of an update from one version of an object to another."""
    (before, _), (after, view) = only(old), only(new)
    return findings(KUEUE.update[after.shape](before, after, view))


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


LEVELS = finding(kueue.LEVELS_FIXED, "spec.levels", label=HOST)
ADMITTED = admission(None)


def fixed_while_running(where: str, before: str, kind: str) -> Finding:
    """A field that an object keeps while it runs; ``before`` as it is shown, in quotes if it was there."""
    return finding(kueue.FIXED_WHILE_RUNNING, where, before=before, kind=kind)


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
            [finding(kueue.FIXED, "spec.topologyName", before="tree", kind="ResourceFlavor")],
            id="a flavor does not lose its topology",
        ),
        pytest.param(
            flavor(over="tree"),
            flavor(over="other", nodeLabels={"pool": "b"}),
            [
                finding(kueue.FIXED, "spec.topologyName", before="tree", kind="ResourceFlavor"),
                finding(kueue.FLAVOR_FIXED, "spec.nodeLabels"),
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
            [finding(kueue.FIXED, "spec.clusterQueue", before="research", kind="LocalQueue")],
            id="a LocalQueue keeps its ClusterQueue",
        ),
        pytest.param(local_queue(), local_queue(stopPolicy="Hold"), [], id="a LocalQueue may be stopped"),
        pytest.param(
            written("AdmissionCheck", "c", {"controllerName": "example.com/a"}),
            written("AdmissionCheck", "c", {"controllerName": "example.com/b"}),
            [finding(kueue.FIXED, "spec.controllerName", before="example.com/a", kind="AdmissionCheck")],
            id="a check keeps its controller",
        ),
        pytest.param(
            job(4),
            job(4, queue="b"),
            [fixed_while_running(label("queue-name"), '"team"', "Job")],
            id="a Job keeps its queue",
        ),
        pytest.param(
            job_set(replicated("a", 1, 2)),
            labelled(job_set(replicated("a", 1, 2)), queue_name="b"),
            [fixed_while_running(label("queue-name"), '"team"', "JobSet")],
            id="a JobSet keeps its queue",
        ),
        pytest.param(job(4), suspended(job(4, queue="b")), [], id="a suspended Job may change its queue"),
        pytest.param(
            job(4),
            labelled(job(4), priority_class="high"),
            [fixed_while_running(label("priority-class"), "not given", "Job")],
            id="a Job keeps its priority",
        ),
        pytest.param(
            job(4, podset_required_topology=RACK),
            job(4, podset_required_topology=BLOCK),
            [fixed_while_running(annotation(TEMPLATE, "podset-required-topology"), f'"{RACK}"', "Job")],
            id="what the pods of a Job ask of the topology stays",
        ),
        pytest.param(
            job_set(replicated("a", 1, 2), replicated("b", 1, 2, podset_slice_size="2")),
            job_set(replicated("a", 1, 2), replicated("b", 1, 2, podset_slice_size="1")),
            [
                fixed_while_running(
                    annotation(f"spec.replicatedJobs[1].template.{TEMPLATE}", "podset-slice-size"),
                    '"2"',
                    "JobSet",
                )
            ],
            id="what the pods of a replicated job ask of the topology stays",
        ),
        pytest.param(
            job(4, own={"job-min-parallelism": "2"}),
            job(8, own={"job-min-parallelism": "2"}),
            [finding(kueue.PARALLELISM_FIXED, "spec.parallelism", before=4)],
            id="a Job of which part will do keeps its size",
        ),
        pytest.param(job(4), job(8), [], id="another Job may grow"),
        pytest.param(job(4, queue=None), job(4), [], id="a Job that does not queue yet may begin to"),
        pytest.param(
            queued_pod("p", "a", 2),
            queued_pod("p", "b", 2),
            [finding(kueue.GROUP_FIXED, label("pod-group-name"), before='"a"')],
            id="a pod keeps its group",
        ),
        pytest.param(
            queued_pod("p"),
            labelled(queued_pod("p"), queue_name="b"),
            [fixed_while_running(label("queue-name"), '"team"', "Pod")],
            id="a pod that was let go keeps its queue",
        ),
        pytest.param(
            workload(pod_set(), status=ADMITTED),
            workload(pod_set(count=3), queueName="b", status=ADMITTED),
            [
                finding(kueue.FIXED_WITH_QUOTA, "spec.queueName", before='"team"'),
                finding(kueue.POD_SETS_FIXED, "spec.podSets"),
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
def test_what_may_not_change(old: str, new: str, want: list[Finding]) -> None:
    assert forbidden_changes(old, new) == want


def test_a_gated_pod_may_change_its_queue() -> None:
    given = json.loads(queued_pod("p"))
    given["spec"]["schedulingGates"] = [{"name": f"{K}admission"}]
    gated = json.dumps(given)

    assert forbidden_changes(gated, labelled(gated, queue_name="b")) == []
