"""The conditions and events that Kueue would write, as far as objects alone tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.dialects.kueue import KUEUE
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    QUEUES,
    RACK,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    queues,
    replicated,
    template,
    topology,
    view_of,
    written,
)
from tests.unit.dialects.kueue.workloads import admission, hosts, pod_set, workload


def told(shape: type[Any], *texts: str) -> list[str]:
    """Conditions and events of the only object of a shape, as lines."""
    view = view_of(*texts)
    (stored,) = view.of(shape)
    status = KUEUE.status[shape](stored, view)
    conditions = [f"{each.type}={each.status} {each.reason}: {each.message}" for each in status.conditions]
    return [*conditions, *(f"{each.type} {each.reason}: {each.message}" for each in status.events)]


def check(name: str, controller: str) -> str:
    return written("AdmissionCheck", name, {"controllerName": controller})


MULTI = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
NO = "Active=False"


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(QUEUES, "Active=True Ready: Can admit new workloads", id="all is there"),
        pytest.param(
            [topology(), flavor(), cluster_queue(stopPolicy="Hold")],
            f"{NO} Stopped: Can't admit new workloads: is stopped.",
            id="it is stopped",
        ),
        pytest.param(
            [topology(), flavor(), cluster_queue("research", "tas", "spare")],
            f"{NO} FlavorNotFound: Can't admit new workloads: references missing ResourceFlavor(s): [spare].",
            id="a flavor is missing",
        ),
        pytest.param(
            [flavor(), cluster_queue(stopPolicy="HoldAndDrain")],
            f'{NO} Stopped: Can\'t admit new workloads: is stopped, there is no Topology "tree" for TAS flavor'
            ' "tas".',
            id="the first reason counts and all are told",
        ),
        pytest.param(
            [flavor(), cluster_queue()],
            f'{NO} TopologyNotFound: Can\'t admit new workloads: there is no Topology "tree" for TAS flavor "tas".',
            id="a topology is missing",
        ),
        pytest.param(
            [topology(), flavor(), check("far", MULTI), cluster_queue(admissionChecks=["far"])],
            "Active=True Ready: Can admit new workloads",
            id="MultiKueue and a topology go together since Kueue 0.15",
            marks=pytest.mark.requirement("K85"),
        ),
        pytest.param(
            [topology(), flavor(), check("more", PROVISIONING), cluster_queue(admissionChecks=["more"])],
            f"{NO} NotSupportedWithTopologyAwareScheduling: Can't admit new workloads: TAS is not supported with"
            " ProvisioningRequest admission check.",
            id="ProvisioningRequest and a topology do not go together",
            marks=pytest.mark.requirement("K86"),
        ),
        pytest.param(
            [flavor(over=None), check("far", MULTI), cluster_queue(admissionChecks=["far"])],
            "Active=True Ready: Can admit new workloads",
            id="without a topology MultiKueue is no reason",
        ),
        pytest.param(
            [flavor(over=None), check("far", MULTI), cluster_queue(admissionChecks=["near"])],
            f"{NO} AdmissionCheckNotFound: Can't admit new workloads: references missing AdmissionCheck(s): [near].",
            id="a check is missing",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(cohortName="a"),
                written("Cohort", "a", {"parentName": "b"}),
                written("Cohort", "b", {"parentName": "a"}),
            ],
            f"{NO} Unknown: Can't admit new workloads.",
            id="its cohorts lie in a circle",
        ),
    ],
)
def test_whether_a_cluster_queue_is_active(texts: list[str], want: str) -> None:
    assert told(wire.ClusterQueue, *texts) == [want]


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(
            QUEUES, "Active=True Ready: Can submit new workloads to clusterQueue", id="all is there"
        ),
        pytest.param(
            [*QUEUES[:3], local_queue(stopPolicy="Hold")],
            f"{NO} Stopped: LocalQueue is stopped",
            id="it is stopped",
        ),
        pytest.param(
            [local_queue()],
            f"{NO} ClusterQueueDoesNotExist: Can't submit new workloads to clusterQueue",
            id="its ClusterQueue is missing",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(stopPolicy="Hold"), local_queue()],
            f"{NO} ClusterQueueIsInactive: Can't submit new workloads to clusterQueue",
            id="its ClusterQueue is stopped",
        ),
    ],
)
def test_whether_a_local_queue_is_active(texts: list[str], want: str) -> None:
    assert told(wire.LocalQueue, *texts) == [want]


PENDING = "QuotaReserved=False"


def slices(required: str, level: str) -> dict[str, Any]:
    return {"required": required, "podSetSliceRequiredTopology": level, "podSetSliceSize": 2}


ANY = pod_set(topologyRequest={"required": RACK})
TAINTED = {"nodeTaints": [{"key": "maintenance", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param([*QUEUES, workload(ANY)], [], id="only who places pods can tell whether there is room"),
        pytest.param(
            [workload(ANY)],
            [f"{PENDING} Misconfigured: LocalQueue team doesn't exist"],
            id="its LocalQueue is missing",
        ),
        pytest.param(
            [local_queue(), workload(ANY)],
            [f"{PENDING} Misconfigured: ClusterQueue research doesn't exist"],
            id="its ClusterQueue is missing",
        ),
        pytest.param(
            [*QUEUES[:3], local_queue(stopPolicy="Hold"), workload(ANY)],
            [f"{PENDING} Suspended: LocalQueue team is inactive"],
            id="its LocalQueue is stopped",
        ),
        pytest.param(
            [*queues(stopPolicy="Hold"), workload(ANY)],
            [f"{PENDING} Suspended: ClusterQueue research is inactive"],
            id="its ClusterQueue is stopped",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(), local_queue(), workload(ANY)],
            [
                f'{PENDING} NoMatchingFlavor: couldn\'t assign flavors to pod set main: Flavor "tas" does not'
                " support TopologyAwareScheduling"
            ],
            id="no flavor has a topology",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest={"required": "zone"}))],
            [
                f'{PENDING} NoMatchingFlavor: couldn\'t assign flavors to pod set main: Flavor "tas" does not'
                " contain the requested level"
            ],
            id="no flavor has the level",
        ),
        pytest.param(
            [
                topology(),
                flavor(),
                flavor("plain", None, **TAINTED),
                cluster_queue("research", "tas", "plain"),
                local_queue(),
                workload(pod_set(template=template(1))),
            ],
            [
                f'{PENDING} NoMatchingFlavor: couldn\'t assign flavors to pod set main: Flavor "tas" supports only'
                " TopologyAwareScheduling, untolerated taint maintenance:NoSchedule in flavor plain"
            ],
            id="each flavor has its reason",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(template=template(1, nodeSelector={"pool": "b"})))],
            [
                f"{PENDING} NoMatchingFlavor: couldn't assign flavors to pod set main: flavor tas doesn't match"
                " node affinity"
            ],
            id="the selector names other nodes",
        ),
        pytest.param(
            [*QUEUES[:2], cluster_queue(quota={"cpu": 4}), local_queue(), workload(ANY)],
            [
                f"{PENDING} NoMatchingFlavor: couldn't assign flavors to pod set main: resource nvidia.com/gpu"
                " unavailable in ClusterQueue"
            ],
            id="a resource is not covered",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest={"required": RACK, "preferred": RACK}))],
            [
                f"{PENDING} Misconfigured: spec.podSets[0].topologyRequest.preferred: required stands here as well."
                " Only one of them can be given."
            ],
            id="what it asks for contradicts itself",
        ),
        pytest.param(
            [workload(pod_set(topologyRequest={"required": RACK, "preferred": RACK}))],
            [
                f"{PENDING} Misconfigured: spec.podSets[0].topologyRequest.preferred: required stands here as well."
                " Only one of them can be given."
            ],
            id="what is wrong with itself goes before a queue that is missing",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest=slices(RACK, BLOCK)))],
            [
                f"{PENDING} Misconfigured: spec.podSets[0].topologyRequest.podSetSliceRequiredTopology: The slice level"
                f' "{BLOCK}" is coarser than "{RACK}" around it. Name "{RACK}" or a finer level.'
            ],
            id="its slices lie at a coarser level than itself",
        ),
        pytest.param(
            [*QUEUES, node("n1", "b", "r"), workload(ANY, status=admission(hosts({"n1": 4})))],
            [
                "QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue research",
                "Admitted=True Admitted: The workload is admitted",
            ],
            id="it is admitted",
        ),
        pytest.param(
            [
                *QUEUES,
                workload(
                    ANY, status={**admission(None), "conditions": [{"type": "Admitted", "status": "False"}]}
                ),
            ],
            ["QuotaReserved=True QuotaReserved: Quota reserved in ClusterQueue research"],
            id="it has quota and waits for checks",
        ),
        pytest.param(
            [
                *QUEUES,
                workload(
                    ANY,
                    status={
                        **admission(None),
                        "conditions": [
                            {"type": "Admitted", "status": "True"},
                            {"type": "Evicted", "status": "True"},
                        ],
                    },
                ),
            ],
            ["Admitted=False NoReservation: The workload has no reservation"],
            id="it was evicted",
        ),
        pytest.param([*QUEUES, workload(ANY, active=False)], [], id="it is not active"),
        pytest.param(
            [*QUEUES[:3], job(4), workload(ANY, owner=("Job", "train"))],
            [f"{PENDING} Misconfigured: LocalQueue team doesn't exist"],
            id="the Job that it was made from is at hand",
        ),
    ],
)
def test_what_a_workload_waits_for(texts: list[str], want: list[str]) -> None:
    assert told(wire.Workload, *texts) == want


def named(text: str, kind: str = "Workload") -> str:
    """The Workload of a Job as translation names it."""
    view = view_of(*QUEUES, text)
    made = [
        each
        for shape, render in KUEUE.render["kueue"].items()
        for stored in view.of(shape)
        for each in render(stored, view).objects
        if each["kind"] == kind
    ]
    return str(made[0]["metadata"]["name"])


def test_a_job_that_waits_is_suspended_and_gets_a_workload_of_the_name_that_translation_gives() -> None:
    created = f"Normal CreatedWorkload: Created Workload: default/{named(job(4))}"

    assert told(Job, *QUEUES, job(4)) == ["Suspended=True JobSuspended: Job suspended", created]


def test_a_job_set_that_waits_is_suspended() -> None:
    text = job_set(replicated("a", 1, 2))
    created = f"Normal CreatedWorkload: Created Workload: default/{named(text)}"

    assert told(JobSet, *QUEUES, text) == ["Suspended=True SuspendedJobs: jobset is suspended", created]


def test_a_job_without_a_workload_says_itself_what_it_waits_for() -> None:
    *_, pending = told(Job, *QUEUES, job(4, queue="nowhere"))

    assert pending == "Warning Pending: LocalQueue nowhere doesn't exist"


def test_a_job_whose_workload_is_admitted_has_started() -> None:
    admitted = workload(ANY, owner=("Job", "train"), status=admission(hosts({"n1": 4})))

    assert told(Job, *QUEUES, node("n1", "b", "r"), job(4), admitted) == [
        "Suspended=False JobResumed: Job resumed",
        "Normal Started: Admitted by clusterQueue research",
    ]


def test_a_job_that_does_not_queue_is_none_of_kueues_business() -> None:
    assert told(Job, *QUEUES, job(4, queue=None)) == []


def test_a_job_set_that_is_admitted_is_resumed() -> None:
    sets = [pod_set(2, "a", topologyRequest={"required": RACK})]
    admitted = workload(*sets, owner=("JobSet", "set"), status=admission(hosts({"n1": 2}), 2, "a"))
    texts = [node("n1", "b", "r"), job_set(replicated("a", 1, 2)), admitted]

    assert told(JobSet, *QUEUES, *texts) == [
        "Suspended=False ResumeJobs: jobset is resumed",
        "Normal Started: Admitted by clusterQueue research",
    ]


def test_conditions_do_not_depend_on_the_order_of_documents() -> None:
    texts = [*QUEUES, workload(ANY, queueName="b")]

    assert told(wire.Workload, *texts) == told(wire.Workload, *reversed(texts)) != []
    assert json.loads(texts[-1])["spec"]["queueName"] == "b"
