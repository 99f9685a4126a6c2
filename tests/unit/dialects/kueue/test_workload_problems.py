"""What is wrong with a Workload, each with its path."""

from __future__ import annotations

import pytest

from closeknit.hub.problems import Field, OneOf, Range, suggestion
from closeknit.hub.sentences import core, hub, kueue
from tests.kit.problems import Finding, finding
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
)
from tests.unit.dialects.kueue.problems import reported_anywhere
from tests.unit.dialects.kueue.workloads import NODES, admission, hosts, pod_set, workload

RAK = "example.com/rak"
ASSIGNED = "status.admission.podSetAssignments"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            workload(pod_set(), pod_set()),
            finding(
                kueue.NAME_TAKEN, "spec.podSets[1].name", first=Field(("spec", "podSets", 0)), name="main"
            ),
            id="two pod sets have two names",
        ),
        pytest.param(
            workload(*(pod_set(1, f"p{i}") for i in range(19))),
            finding(core.NUMBER_OF, "spec.podSets", allowed=Range(1, 18), given=19, what=" pod sets"),
            id="there are at most eighteen pod sets",
        ),
        pytest.param(
            workload(pod_set(-1)),
            finding(core.OUT_OF_RANGE, "spec.podSets[0].count", allowed=Range(0, 150_000), value=-1),
            id="there is no negative number of pods",
        ),
        pytest.param(
            workload(pod_set(4, minCount=5)),
            finding(core.NOT_POSSIBLE, "spec.podSets[0].minCount", allowed=Range(1, 4), value=5),
            id="the least is no more than all",
        ),
        pytest.param(
            workload(pod_set(4, minCount=2), pod_set(4, "other", minCount=2)),
            finding(kueue.ONE_MIN_COUNT, "spec.podSets"),
            id="one pod set may be smaller",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"subGroupCount": 3})),
            finding(kueue.UNEQUAL_JOBS, "spec.podSets[0].topologyRequest.subGroupCount", jobs=3, pods=4),
            id="all Jobs of a pod set have the same number of pods",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"required": RACK, "preferred": RACK})),
            finding(kueue.STANDS_AS_WELL, "spec.podSets[0].topologyRequest.preferred", other="required"),
            id="required and preferred exclude each other",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"required": RAK})),
            finding(
                hub.UNKNOWN_LEVEL,
                "spec.podSets[0].topologyRequest.required",
                level=RAK,
                remedy=OneOf.among(RAK, [BLOCK, RACK, HOST]),
                topology="tree",
            ),
            id="a level is one of the topology's",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"podSetSliceRequiredTopology": RACK})),
            finding(
                kueue.SLICE_SIZE_NEEDED,
                "spec.podSets[0].topologyRequest.podSetSliceSize",
                other="podSetSliceRequiredTopology",
            ),
            id="a slice level needs a size",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 3})),
            finding(
                kueue.PODS_LEFT_OVER,
                "spec.podSets[0].topologyRequest.podSetSliceSize",
                left=1,
                pods=4,
                size=3,
            ),
            id="no pod is left over by slices",
        ),
        pytest.param(
            workload(queueName="tem"),
            finding(
                kueue.NO_LOCAL_QUEUE,
                "spec.queueName",
                namespace="default",
                queue="tem",
                remedy=suggestion("tem", ["team"]),
            ),
            id="the queue exists",
        ),
        pytest.param(
            workload(
                priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "x"}
            ),
            finding(
                core.NOT_FOUND,
                "spec.priorityClassRef.name",
                kind="WorkloadPriorityClass",
                name="x",
                remedy=OneOf.among("x", []),
            ),
            id="the priority class exists",
        ),
        pytest.param(
            workload(status=admission(hosts({"n1": 3}))),
            finding(kueue.ASSIGNED_OTHERWISE, f"{ASSIGNED}[0].topologyAssignment", admitted=4, assigned=3),
            id="each admitted pod has a place",
        ),
        pytest.param(
            workload(status=admission(None, count=5)),
            finding(kueue.ADMITTED_TOO_MANY, f"{ASSIGNED}[0].count", count=5, pods=4),
            id="no more pods are admitted than there are",
        ),
        pytest.param(
            workload(status=admission(None, name="man")),
            finding(
                core.NOT_FOUND,
                f"{ASSIGNED}[0].name",
                kind="pod set",
                name="man",
                remedy=OneOf.among("man", ["main"]),
            ),
            id="an assignment is of a pod set",
        ),
        pytest.param(
            workload(status=admission(None, name="man")),
            finding(kueue.NOT_ASSIGNED, ASSIGNED, names=("main",)),
            id="each pod set has an assignment",
        ),
        pytest.param(
            workload(status=admission({"levels": [HOST], "domains": [{"values": [], "count": 4}]})),
            finding(kueue.ONE_FOR_EACH_LEVEL, f"{ASSIGNED}[0].topologyAssignment.domains[0].values", given=0),
            id="a domain has a value for each level",
        ),
        pytest.param(
            workload(
                status=admission({**hosts({"n1": 4}), "domains": [{"values": ["n1"], "count": 4}]}),
            ),
            finding(kueue.DOMAINS_AND_SLICES, f"{ASSIGNED}[0].topologyAssignment.domains"),
            id="an assignment has one form",
        ),
    ],
)
def test_what_is_wrong_with_a_workload(text: str, want: Finding) -> None:
    assert want in reported_anywhere(*QUEUES, *NODES, text)
