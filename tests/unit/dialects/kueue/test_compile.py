"""Rules of workloads and of the queues that they name."""

from __future__ import annotations

import json

import pytest

from closeknit.hub.problems import OneOf, Range, suggestion
from closeknit.hub.sentences import core, kueue
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload
from tests.kit.problems import Finding, finding, text
from tests.unit.dialects.kit import reading
from tests.unit.dialects.kueue.kit import (
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    queued_pod,
    queues,
    replicated,
    topology,
    written,
)
from tests.unit.dialects.kueue.problems import OWN, annotation, label, reported_anywhere

QUEUE = label("queue-name")


def no_queue(name: str, remedy: str, namespace: str = "default") -> Finding:
    """A LocalQueue that a workload names, but that its namespace does not have."""
    return finding(kueue.NO_LOCAL_QUEUE, QUEUE, queue=name, namespace=namespace, remedy=remedy)


def not_active(kind: str, name: str, reason: str) -> Finding:
    """A queue that admits nothing."""
    return finding(kueue.QUEUE_NOT_ACTIVE, QUEUE, kind=kind, queue=name, reason=reason)


def no_flavor(**reasons: str) -> Finding:
    """Why each flavor of the queue cannot take the pods."""
    listed = "; ".join(f'flavor "{flavor}": {reason}' for flavor, reason in reasons.items())
    return finding(kueue.NO_FLAVOR_FITS, QUEUE, queue="research", who='"main"', reasons=listed)


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            [job(queue="tem"), *QUEUES],
            no_queue("tem", suggestion("tem", ["team"])),
            id="the queue exists",
        ),
        pytest.param(
            [job()],
            no_queue("team", "Give it as well, with its ClusterQueue and ResourceFlavors."),
            id="a queue is needed",
        ),
        pytest.param(
            [
                json.dumps(
                    json.loads(job()) | {"metadata": {**json.loads(job())["metadata"], "namespace": "other"}}
                ),
                *QUEUES,
            ],
            no_queue(
                "team", 'There is one in "default"; a workload uses the queues of its own namespace.', "other"
            ),
            id="the queue is of the same namespace",
        ),
        pytest.param(
            [local_queue(), job()],
            finding(kueue.NO_CLUSTER_QUEUE, "spec.clusterQueue", queue="research", remedy="Give it as well."),
            id="the ClusterQueue behind it exists",
        ),
        pytest.param(
            [job(queue=None, podset_required_topology=RACK), *QUEUES],
            finding(kueue.NO_QUEUE_NAMED, QUEUE, remedy=OneOf.among("", ["team"])),
            id="a topology without a queue has no effect in Kueue, which is told",
        ),
        pytest.param(
            [job(), *queues(stopPolicy="Hold")],
            not_active("ClusterQueue", "research", "its stopPolicy is Hold"),
            id="a queue that is held admits nothing",
        ),
        pytest.param(
            [job(), topology(), flavor(), cluster_queue(), local_queue(stopPolicy="HoldAndDrain")],
            not_active("LocalQueue", "team", "its stopPolicy is HoldAndDrain"),
            id="a LocalQueue can be held by itself",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(),
                cluster_queue(cohortName="a"),
                local_queue(),
                written("Cohort", "a", {"parentName": "b"}),
                written("Cohort", "b", {"parentName": "b"}),
            ],
            not_active("ClusterQueue", "research", 'cohort "a" lies in a circle of cohorts'),
            id="nobody is admitted in a circle of cohorts",
        ),
        pytest.param(
            [job(), *queues(quota={"cpu": 5})],
            finding(
                kueue.NO_QUOTA,
                "spec.template.spec.containers",
                covered='"cpu"',
                queue="research",
                resource="nvidia.com/gpu",
            ),
            id="a resource that the queue does not cover can never be admitted",
        ),
        pytest.param(
            [job(podset_required_topology=RACK), flavor(over=None), cluster_queue(), local_queue()],
            no_flavor(tas=text(kueue.FLAVOR_NO_TOPOLOGY)),
            id="pods that ask for a topology need a flavor with one",
            marks=pytest.mark.requirement("K32", "K38"),
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(),
                flavor("plain", None),
                cluster_queue("research", "tas", "plain"),
                local_queue(),
                job(name="other", pod={"nodeSelector": {"pool": "tas"}}),
            ],
            no_flavor(
                tas=text(kueue.FLAVOR_ONLY_TOPOLOGY),
                plain=text(kueue.FLAVOR_SELECTOR, key="pool", value="tas"),
            ),
            id="a flavor with a topology is only for pods that ask for one, unless all flavors have one",
        ),
        pytest.param(
            [
                job(),
                topology(),
                flavor(nodeTaints=[{"key": "gpu", "effect": "NoSchedule"}]),
                cluster_queue(),
                local_queue(),
            ],
            no_flavor(tas=text(kueue.FLAVOR_TAINT, taint="gpu:NoSchedule")),
            id="a flavor's taints must be tolerated",
        ),
        pytest.param(
            [
                job(gpus=0, podset_required_topology=RACK),
                written("ClusterQueue", "research", {}),
                local_queue(),
            ],
            finding(kueue.NO_TOPOLOGY_FLAVOR, QUEUE, pod_set="main"),
            id="a level is never dropped because the queue has no flavors",
        ),
        pytest.param(
            [job(own={"job-min-parallelism": "4"}), *QUEUES],
            finding(
                core.NOT_POSSIBLE, annotation(OWN, "job-min-parallelism"), allowed=Range(1, 3), value="4"
            ),
            id="the least parallelism is less than the parallelism",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 3), queued_pod("p-1", "p", 3), *QUEUES],
            finding(
                kueue.GROUP_INCOMPLETE,
                annotation(OWN, "pod-group-total-count"),
                present="2 are",
                total="3 pods",
                what="Give the rest",
            ),
            id="a group of pods is complete",
        ),
        pytest.param(
            [queued_pod("p-0", "p"), *QUEUES],
            finding(kueue.GROUP_COUNT_MISSING, annotation(OWN, "pod-group-total-count")),
            id="a group of pods says how many there are",
        ),
        pytest.param(
            [queued_pod("p-0", total=2), *QUEUES],
            finding(kueue.GROUP_UNNAMED, label("pod-group-name"), field=f"{K}pod-group-total-count"),
            id="a group of pods has a name",
        ),
        pytest.param(
            [queued_pod("p-0", pod_group_fast_admission="true"), *QUEUES],
            finding(kueue.GROUP_UNNAMED, label("pod-group-name"), field=f"{K}pod-group-fast-admission"),
            id="only a group can be admitted before it is complete",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1, pod_group_fast_admission="yes"), *QUEUES],
            finding(kueue.NOT_TRUE_OR_FALSE, annotation(OWN, "pod-group-fast-admission"), written="yes"),
            id="fast admission is true or false",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1, retriable_in_group="no"), *QUEUES],
            finding(kueue.NOT_TRUE_OR_FALSE, annotation(OWN, "retriable-in-group"), written="no"),
            id="whether a pod is made again is true or false",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 1), queued_pod("p-1", "p", 1), *QUEUES],
            finding(
                kueue.GROUP_INCOMPLETE,
                annotation(OWN, "pod-group-total-count"),
                present="2 are",
                total="1 pod",
                what="Take some away",
            ),
            id="a group has no more pods than it says",
        ),
        pytest.param(
            [queued_pod("p-0", "p", 2), queued_pod("p-1", "p", 3), *QUEUES],
            finding(
                kueue.GROUP_DIFFERS,
                annotation("Pod p-1: metadata.annotations", "pod-group-total-count"),
                common="2",
                own="3",
                pod="p-0",
            ),
            id="all pods of a group agree on their number",
        ),
        pytest.param(
            [job(), job_set(replicated("a", 1, 1), name="train"), *QUEUES],
            finding(kueue.BOTH_QUEUE, "metadata.name", kind="Job"),
            id="a Job and a JobSet of one name would be booked as one",
        ),
    ],
)
def test_workloads_and_their_queues(texts: list[str], want: Finding) -> None:
    assert want in reported_anywhere(*texts)


def test_a_workload_with_problems_has_no_request() -> None:
    (workload,) = reading(*QUEUES, job(podset_required_topology="shelf")).workloads

    assert isinstance(workload, InvalidWorkload)
    assert len(workload.problems) == 1


def test_jobs_that_do_not_speak_to_kueue_are_left_alone() -> None:
    read = reading(*QUEUES, job(queue=None))

    assert not [workload for workload in read.workloads if workload.dialect == "kueue"]
    assert not read.problems


def test_finished_jobs_queue_for_nothing() -> None:
    done = json.loads(job()) | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}

    assert not reading(*QUEUES, json.dumps(done)).workloads


def test_leniently_a_queue_that_is_not_in_the_files_is_no_problem() -> None:
    read = reading(topology(), job(podset_required_topology=RACK), lenient=True)

    assert not read.problems
    (workload,) = read.workloads
    assert isinstance(workload, PlaceableWorkload)
    assert workload.request.root.required == RACK
