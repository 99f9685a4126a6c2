"""The texts of Kueue's conditions and events, of quota, and of preferences that Kueue cannot express.

Conditions and events are worded as Kueue words them. The messages of problems are in the catalogue's own table.
"""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.closeknit_keys import LEFT_OUT
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.kueue.express import express
from closeknit.hub.outcome import GroupReach, Placed, Shortfall, Wishes
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import kueue
from closeknit.hub.shortfall import QuotaExceeded, QuotaScope
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler import wording
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


def messages(shape: type[Any], *texts: str) -> list[str]:
    """The messages of the conditions and events of the only object of a shape."""
    view = view_of(*texts)
    (stored,) = view.of(shape)
    status = KUEUE.status[shape](stored, view)
    return [condition.message for condition in status.conditions] + [event.message for event in status.events]


def check(controller: str) -> str:
    return written("AdmissionCheck", "grow", {"controllerName": controller})


CIRCLE = [written("Cohort", name, {"parentName": parent}) for name, parent in (("a", "b"), ("b", "a"))]


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        pytest.param(QUEUES, "Can admit new workloads", id="Ready"),
        pytest.param(queues(stopPolicy="Hold"), "Can't admit new workloads: is stopped.", id="Stopped"),
        pytest.param(
            [cluster_queue("research", "tas", "spare")],
            "Can't admit new workloads: references missing ResourceFlavor(s): [tas spare].",
            id="FlavorNotFound",
        ),
        pytest.param(
            [flavor(over=None), check("example.com/grow"), cluster_queue(admissionChecks=["near"])],
            "Can't admit new workloads: references missing AdmissionCheck(s): [near].",
            id="AdmissionCheckNotFound",
        ),
        pytest.param(
            [*QUEUES[:2], check("kueue.x-k8s.io/provisioning-request"), cluster_queue(admissionChecks=["grow"])],
            "Can't admit new workloads: TAS is not supported with ProvisioningRequest admission check.",
            id="NotSupportedWithTopologyAwareScheduling",
        ),
        pytest.param(
            [flavor(), cluster_queue()],
            'Can\'t admit new workloads: there is no Topology "tree" for TAS flavor "tas".',
            id="TopologyNotFound",
        ),
        pytest.param(
            [flavor(), cluster_queue(stopPolicy="HoldAndDrain")],
            'Can\'t admit new workloads: is stopped, there is no Topology "tree" for TAS flavor "tas".',
            id="two reasons",
        ),
        pytest.param(
            [flavor(over=None), cluster_queue(cohortName="a"), *CIRCLE], "Can't admit new workloads.", id="Unknown"
        ),
    ],
)  # fmt: skip
def test_cluster_queue(texts: list[str], text: str) -> None:
    assert messages(wire.ClusterQueue, *texts) == [text]


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        pytest.param(QUEUES, "Can submit new workloads to clusterQueue", id="Ready"),
        pytest.param([*QUEUES[:3], local_queue(stopPolicy="Hold")], "LocalQueue is stopped", id="Stopped"),
        pytest.param(
            [local_queue()], "Can't submit new workloads to clusterQueue", id="ClusterQueueDoesNotExist"
        ),
        pytest.param(
            queues(stopPolicy="Hold"),
            "Can't submit new workloads to clusterQueue",
            id="ClusterQueueIsInactive",
        ),
    ],
)
def test_local_queue(texts: list[str], text: str) -> None:
    assert messages(wire.LocalQueue, *texts) == [text]


NO_FLAVOR = "couldn't assign flavors to pod set main:"
IN_RACK = pod_set(topologyRequest={"required": RACK})
TAINTED = flavor("plain", None, nodeTaints=[{"key": "maintenance", "effect": "NoSchedule"}])
TWICE = {"required": RACK, "preferred": RACK, "podSetSliceSize": 2}
ADMITTED = admission(hosts({"n1": 4}))
EVICTED = [{"type": kind, "status": "True"} for kind in ("Admitted", "Evicted")]


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param([workload()], ["LocalQueue team doesn't exist"], id="no LocalQueue"),
        pytest.param([local_queue(), workload()], ["ClusterQueue research doesn't exist"], id="no ClusterQueue"),
        pytest.param(
            [*QUEUES[:3], local_queue(stopPolicy="Hold"), workload()],
            ["LocalQueue team is inactive"],
            id="a LocalQueue that is stopped",
        ),
        pytest.param(
            [*queues(stopPolicy="Hold"), workload()],
            ["ClusterQueue research is inactive"],
            id="a ClusterQueue that is stopped",
        ),
        pytest.param(
            [flavor(over=None), *QUEUES[2:], workload(IN_RACK)],
            [f'{NO_FLAVOR} Flavor "tas" does not support TopologyAwareScheduling'],
            id="a flavor without a topology",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest={"required": "zone"}))],
            [f'{NO_FLAVOR} Flavor "tas" does not contain the requested level'],
            id="a flavor without the level",
        ),
        pytest.param(
            [topology(), flavor(), TAINTED, cluster_queue("research", "tas", "plain"), local_queue(), workload()],
            [
                f'{NO_FLAVOR} Flavor "tas" supports only TopologyAwareScheduling,'
                " untolerated taint maintenance:NoSchedule in flavor plain"
            ],
            id="a flavor for topologies alone, and one with a taint",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(template=template(1, nodeSelector={"pool": "b"})))],
            [f"{NO_FLAVOR} flavor tas doesn't match node affinity"],
            id="a node selector",
        ),
        pytest.param(
            [*queues(quota={"cpu": 4}), workload()],
            [f"{NO_FLAVOR} resource nvidia.com/gpu unavailable in ClusterQueue"],
            id="a resource that is not covered",
        ),
        pytest.param(
            [*QUEUES, workload(pod_set(topologyRequest=TWICE))],
            [
                line(kueue.STANDS_AS_WELL, "spec.podSets[0].topologyRequest.preferred", other="required")
                + "; "
                + line(
                    kueue.SLICE_LEVEL_NEEDED,
                    "spec.podSets[0].topologyRequest.podSetSliceRequiredTopology",
                    other="podSetSliceSize",
                )
            ],
            id="two problems of its own",
        ),
        pytest.param(
            [*QUEUES, node("n1", "b", "r"), workload(status=ADMITTED)],
            ["Quota reserved in ClusterQueue research", "The workload is admitted"],
            id="admitted",
        ),
        pytest.param(
            [*QUEUES, workload(status={**ADMITTED, "conditions": EVICTED})],
            ["The workload has no reservation"],
            id="evicted",
        ),
    ],
)  # fmt: skip
def test_workload(texts: list[str], want: list[str]) -> None:
    assert messages(wire.Workload, *texts) == want


SET = job_set(replicated("main", 1, 4))


@pytest.mark.parametrize(
    ("shape", "texts", "want"),
    [
        pytest.param(
            Job,
            [*QUEUES, job(4), workload(owner=("Job", "train"))],
            ["Job suspended"],
            id="a Job with its Workload",
        ),
        pytest.param(
            JobSet,
            [*QUEUES, SET, workload(owner=("JobSet", "set"))],
            ["jobset is suspended"],
            id="a JobSet with its Workload",
        ),
        pytest.param(
            Job,
            [*QUEUES, node("n1", "b", "r"), job(4), workload(owner=("Job", "train"), status=ADMITTED)],
            ["Job resumed", "Admitted by clusterQueue research"],
            id="a Job that is admitted",
        ),
        pytest.param(
            JobSet,
            [*QUEUES, node("n1", "b", "r"), SET, workload(owner=("JobSet", "set"), status=ADMITTED)],
            ["jobset is resumed", "Admitted by clusterQueue research"],
            id="a JobSet that is admitted",
        ),
    ],
)
def test_job(shape: type[Any], texts: list[str], want: list[str]) -> None:
    assert messages(shape, *texts) == want


def test_job_without_its_workload() -> None:
    suspended, created, pending = messages(Job, *QUEUES, job(4, queue="nowhere"))

    assert suspended == "Job suspended"
    assert created.startswith("Created Workload: default/job-train-")
    assert pending == "LocalQueue nowhere doesn't exist"


@pytest.mark.parametrize(
    ("fits", "text"),
    [
        pytest.param(5, "default/train needs quota for 8 pods; there is quota for 5.", id="some is left"),
        pytest.param(0, "default/train needs quota for 8 pods; there is none left.", id="none is left"),
    ],
)
def test_lack_of_quota(fits: int, text: str) -> None:
    assert (
        wording.need(Shortfall("default/train", QuotaExceeded(QuotaScope.FLAVOR), 8, fits, (), (), ()))
        == text
    )


def test_size_of_what_has_been_placed_before() -> None:
    whole = GroupReach("default/train", None, None, None, None, (), satisfied=True, pods=4)
    placed = Placed("default/train", (), (whole,), Wishes(0, (), ()), proven=True)

    assert wording.size(placed) == "4 pods have their place already"


def test_preferences_that_are_left_out() -> None:
    gpu = Resources({"nvidia.com/gpu": 1})
    members = [Group(name, (PodSet(f"{name}/1", 2, gpu),), BLOCK, RACK) for name in ("a", "b")]
    request = Request("ns/train", Group("r", tuple(members)), "tree")
    train = PlaceableWorkload(ObjectName("v1", "X", "ns", "train"), "test", request)
    *_, jobs = express(train, {"tree": Topology("tree", (Level(BLOCK), Level(RACK)))})

    assert jobs["metadata"]["annotations"][LEFT_OUT] == f"a prefers {RACK}; b prefers {RACK}"
