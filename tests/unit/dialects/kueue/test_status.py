"""The conditions and events that Kueue would write, as far as objects alone tell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.dialects.family import Status
from closeknit.dialects.kueue import KUEUE
from closeknit.hub.sentences import kueue
from tests.kit.problems import line
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


def status_of(shape: type[Any], *texts: str) -> Status:
    """The status of the only object of a shape."""
    view = view_of(*texts)
    (stored,) = view.of(shape)
    return KUEUE.status[shape](stored, view)


def outline(status: Status) -> list[str]:
    """Conditions by type, status and reason, and events by type and reason; messages are left out."""
    conditions = [
        f"{condition.type}={condition.status} {condition.reason}" for condition in status.conditions
    ]
    return [*conditions, *(f"{event.type} {event.reason}" for event in status.events)]


def unmentioned(status: Status, names: Iterable[str]) -> list[str]:
    """The names that no message of a status contains."""
    messages = [condition.message for condition in status.conditions] + [
        event.message for event in status.events
    ]
    return [name for name in names if not any(name in message for message in messages)]


def check(name: str, controller: str) -> str:
    return written("AdmissionCheck", name, {"controllerName": controller})


MULTI = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
ACTIVE, INACTIVE = "Active=True Ready", "Active=False"


@pytest.mark.parametrize(
    ("texts", "want", "names"),
    [
        pytest.param(QUEUES, ACTIVE, [], id="all is there"),
        pytest.param(
            [topology(), flavor(), cluster_queue(stopPolicy="Hold")],
            f"{INACTIVE} Stopped",
            [],
            id="it is stopped",
        ),
        pytest.param(
            [topology(), flavor(), cluster_queue("research", "tas", "spare")],
            f"{INACTIVE} FlavorNotFound",
            ["spare"],
            id="a flavor is missing",
        ),
        pytest.param(
            [flavor(), cluster_queue(stopPolicy="HoldAndDrain")],
            f"{INACTIVE} Stopped",
            ['"tree"', '"tas"'],
            id="the first reason counts and all are told",
        ),
        pytest.param(
            [flavor(), cluster_queue()],
            f"{INACTIVE} TopologyNotFound",
            ['"tree"', '"tas"'],
            id="a topology is missing",
        ),
        pytest.param(
            [topology(), flavor(), check("far", MULTI), cluster_queue(admissionChecks=["far"])],
            ACTIVE,
            [],
            id="MultiKueue and a topology go together since Kueue 0.15",
            marks=pytest.mark.requirement("K85"),
        ),
        pytest.param(
            [topology(), flavor(), check("more", PROVISIONING), cluster_queue(admissionChecks=["more"])],
            f"{INACTIVE} NotSupportedWithTopologyAwareScheduling",
            ["ProvisioningRequest"],
            id="ProvisioningRequest and a topology do not go together",
            marks=pytest.mark.requirement("K86"),
        ),
        pytest.param(
            [flavor(over=None), check("far", MULTI), cluster_queue(admissionChecks=["far"])],
            ACTIVE,
            [],
            id="without a topology MultiKueue is no reason",
        ),
        pytest.param(
            [flavor(over=None), check("far", MULTI), cluster_queue(admissionChecks=["near"])],
            f"{INACTIVE} AdmissionCheckNotFound",
            ["near"],
            id="a check is missing",
        ),
        pytest.param(
            [
                flavor(over=None),
                cluster_queue(cohortName="a"),
                written("Cohort", "a", {"parentName": "b"}),
                written("Cohort", "b", {"parentName": "a"}),
            ],
            f"{INACTIVE} Unknown",
            [],
            id="its cohorts lie in a circle",
        ),
    ],
)
def test_whether_a_cluster_queue_is_active(texts: list[str], want: str, names: list[str]) -> None:
    status = status_of(wire.ClusterQueue, *texts)

    assert outline(status) == [want]
    assert unmentioned(status, names) == []


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param(QUEUES, ACTIVE, id="all is there"),
        pytest.param(
            [*QUEUES[:3], local_queue(stopPolicy="Hold")],
            f"{INACTIVE} Stopped",
            id="it is stopped",
        ),
        pytest.param(
            [local_queue()],
            f"{INACTIVE} ClusterQueueDoesNotExist",
            id="its ClusterQueue is missing",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(stopPolicy="Hold"), local_queue()],
            f"{INACTIVE} ClusterQueueIsInactive",
            id="its ClusterQueue is stopped",
        ),
    ],
)
def test_whether_a_local_queue_is_active(texts: list[str], want: str) -> None:
    assert outline(status_of(wire.LocalQueue, *texts)) == [want]


PENDING = "QuotaReserved=False"
MISCONFIGURED, NO_FLAVOR = f"{PENDING} Misconfigured", f"{PENDING} NoMatchingFlavor"
RESERVED = "QuotaReserved=True QuotaReserved"
ASKED = "spec.podSets[0].topologyRequest"


def slices(required: str, level: str) -> dict[str, Any]:
    return {"required": required, "podSetSliceRequiredTopology": level, "podSetSliceSize": 2}


ANY = pod_set(topologyRequest={"required": RACK})
TAINTED = {"nodeTaints": [{"key": "maintenance", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("texts", "want", "names"),
    [
        pytest.param(
            [*QUEUES, workload(ANY)], [], [], id="only who places pods can tell whether there is room"
        ),
        pytest.param(
            [workload(ANY)],
            [MISCONFIGURED],
            ["LocalQueue team"],
            id="its LocalQueue is missing",
        ),
        pytest.param(
            [local_queue(), workload(ANY)],
            [MISCONFIGURED],
            ["ClusterQueue research"],
            id="its ClusterQueue is missing",
        ),
        pytest.param(
            [*QUEUES[:3], local_queue(stopPolicy="Hold"), workload(ANY)],
            [f"{PENDING} Suspended"],
            ["LocalQueue team"],
            id="its LocalQueue is stopped",
        ),
        pytest.param(
            [*queues(stopPolicy="Hold"), workload(ANY)],
            [f"{PENDING} Suspended"],
            ["ClusterQueue research"],
            id="its ClusterQueue is stopped",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(), local_queue(), workload(ANY)],
            [NO_FLAVOR],
            ["pod set main", '"tas"', "TopologyAwareScheduling"],
            id="no flavor has a topology",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest={"required": "zone"}))],
            [NO_FLAVOR],
            ["pod set main", '"tas"'],
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
            [NO_FLAVOR],
            ["pod set main", '"tas"', "TopologyAwareScheduling", "maintenance:NoSchedule", "flavor plain"],
            id="each flavor has its reason",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(template=template(1, nodeSelector={"pool": "b"})))],
            [NO_FLAVOR],
            ["pod set main", "flavor tas"],
            id="the selector names other nodes",
        ),
        pytest.param(
            [*QUEUES[:2], cluster_queue(quota={"cpu": 4}), local_queue(), workload(ANY)],
            [NO_FLAVOR],
            ["pod set main", "nvidia.com/gpu"],
            id="a resource is not covered",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest={"required": RACK, "preferred": RACK}))],
            [MISCONFIGURED],
            [line(kueue.STANDS_AS_WELL, f"{ASKED}.preferred", other="required")],
            id="what it asks for contradicts itself",
        ),
        pytest.param(
            [workload(pod_set(topologyRequest={"required": RACK, "preferred": RACK}))],
            [MISCONFIGURED],
            [line(kueue.STANDS_AS_WELL, f"{ASKED}.preferred", other="required")],
            id="what is wrong with itself goes before a queue that is missing",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest=slices(RACK, BLOCK)))],
            [MISCONFIGURED],
            [line(kueue.SLICE_COARSER, f"{ASKED}.podSetSliceRequiredTopology", level=BLOCK, outer=RACK)],
            id="its slices lie at a coarser level than itself",
        ),
        pytest.param(
            [*QUEUES, node("n1", "b", "r"), workload(ANY, status=admission(hosts({"n1": 4})))],
            [RESERVED, "Admitted=True Admitted"],
            ["ClusterQueue research"],
            id="it is admitted",
        ),
        pytest.param(
            [
                *QUEUES,
                workload(
                    ANY, status={**admission(None), "conditions": [{"type": "Admitted", "status": "False"}]}
                ),
            ],
            [RESERVED],
            ["ClusterQueue research"],
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
            ["Admitted=False NoReservation"],
            [],
            id="it was evicted",
        ),
        pytest.param([*QUEUES, workload(ANY, active=False)], [], [], id="it is not active"),
        pytest.param(
            [*QUEUES[:3], job(4), workload(ANY, owner=("Job", "train"))],
            [MISCONFIGURED],
            ["LocalQueue team"],
            id="the Job that it was made from is at hand",
        ),
    ],
)
def test_what_a_workload_waits_for(texts: list[str], want: list[str], names: list[str]) -> None:
    status = status_of(wire.Workload, *texts)

    assert outline(status) == want
    assert unmentioned(status, names) == []


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
    status = status_of(Job, *QUEUES, job(4))

    assert outline(status) == ["Suspended=True JobSuspended", "Normal CreatedWorkload"]
    assert unmentioned(status, [f" default/{named(job(4))}"]) == []


def test_a_job_set_that_waits_is_suspended() -> None:
    text = job_set(replicated("a", 1, 2))
    status = status_of(JobSet, *QUEUES, text)

    assert outline(status) == ["Suspended=True SuspendedJobs", "Normal CreatedWorkload"]
    assert unmentioned(status, [f" default/{named(text)}"]) == []


def test_a_job_without_a_workload_says_itself_what_it_waits_for() -> None:
    pending = status_of(Job, *QUEUES, job(4, queue="nowhere")).events[-1]

    assert (pending.type, pending.reason) == ("Warning", "Pending")
    assert "LocalQueue nowhere" in pending.message


def test_a_job_whose_workload_is_admitted_has_started() -> None:
    admitted = workload(ANY, owner=("Job", "train"), status=admission(hosts({"n1": 4})))

    status = status_of(Job, *QUEUES, node("n1", "b", "r"), job(4), admitted)

    assert outline(status) == ["Suspended=False JobResumed", "Normal Started"]
    assert unmentioned(status, ["clusterQueue research"]) == []


def test_a_job_that_does_not_queue_is_none_of_kueues_business() -> None:
    assert status_of(Job, *QUEUES, job(4, queue=None)) == Status()


def test_a_job_set_that_is_admitted_is_resumed() -> None:
    sets = [pod_set(2, "a", topologyRequest={"required": RACK})]
    admitted = workload(*sets, owner=("JobSet", "set"), status=admission(hosts({"n1": 2}), 2, "a"))
    texts = [node("n1", "b", "r"), job_set(replicated("a", 1, 2)), admitted]

    status = status_of(JobSet, *QUEUES, *texts)
    assert outline(status) == ["Suspended=False ResumeJobs", "Normal Started"]
    assert unmentioned(status, ["clusterQueue research"]) == []


def test_conditions_do_not_depend_on_the_order_of_documents() -> None:
    texts = [*QUEUES, workload(ANY, queueName="b")]

    assert status_of(wire.Workload, *texts) == status_of(wire.Workload, *reversed(texts)) != Status()
    assert json.loads(texts[-1])["spec"]["queueName"] == "b"
