"""What is wrong with a Workload, each with its path."""

from __future__ import annotations

import pytest

from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
)
from tests.unit.dialects.kueue.problems import found
from tests.unit.dialects.kueue.workloads import NODES, admission, hosts, pod_set, workload

ASSIGNED = "status.admission.podSetAssignments"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            workload(pod_set(), pod_set()),
            'spec.podSets[1].name: "main" is already the name of spec.podSets[0]. Rename one.',
            id="two pod sets have two names",
        ),
        pytest.param(
            workload(*(pod_set(1, f"p{i}") for i in range(19))),
            "spec.podSets: There are 19 pod sets. Allowed are 1 to 18.",
            id="there are at most eighteen pod sets",
        ),
        pytest.param(
            workload(pod_set(-1)),
            "spec.podSets[0].count: -1 is out of range. Allowed are 0 to 150000.",
            id="there is no negative number of pods",
        ),
        pytest.param(
            workload(pod_set(4, minCount=5)),
            "spec.podSets[0].minCount: 5 is not possible. Allowed are 1 to 4.",
            id="the least is no more than all",
        ),
        pytest.param(
            workload(pod_set(4, minCount=2), pod_set(4, "other", minCount=2)),
            "spec.podSets: Only one pod set can have minCount. Leave out the others.",
            id="one pod set may be smaller",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"subGroupCount": 3})),
            "spec.podSets[0].topologyRequest.subGroupCount: 4 pods cannot be those of 3 equal Jobs."
            " Write a number that divides them.",
            id="all Jobs of a pod set have the same number of pods",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"required": RACK, "preferred": RACK})),
            "spec.podSets[0].topologyRequest.preferred: required stands here as well. Only one of them can be given.",
            id="required and preferred exclude each other",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"required": "example.com/rak"})),
            'spec.podSets[0].topologyRequest.required: Topology "tree" has no level "example.com/rak".'
            f' Did you mean "{RACK}"? Allowed: "{BLOCK}", "{RACK}", "{HOST}".',
            id="a level is one of the topology's",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"podSetSliceRequiredTopology": RACK})),
            "spec.podSets[0].topologyRequest.podSetSliceSize: This must be given where podSetSliceRequiredTopology is."
            " Write how many pods make a slice.",
            id="a slice level needs a size",
        ),
        pytest.param(
            workload(pod_set(topologyRequest={"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 3})),
            "spec.podSets[0].topologyRequest.podSetSliceSize: 4 pods cannot be cut into slices of 3: 1 would be left."
            " Choose a size that divides 4.",
            id="no pod is left over by slices",
        ),
        pytest.param(
            workload(queueName="tem"),
            'spec.queueName: There is no LocalQueue "tem" in namespace "default". Did you mean "team"?'
            ' Allowed: "team".',
            id="the queue exists",
        ),
        pytest.param(
            workload(
                priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "x"}
            ),
            'spec.priorityClassRef.name: There is no WorkloadPriorityClass "x". None is given; add it, or name none.',
            id="the priority class exists",
        ),
        pytest.param(
            workload(status=admission(hosts({"n1": 3}))),
            f"{ASSIGNED}[0].topologyAssignment: 3 pods have a place, but 4 are admitted. Both must agree.",
            id="each admitted pod has a place",
        ),
        pytest.param(
            workload(status=admission(None, count=5)),
            f"{ASSIGNED}[0].count: 5 pods are admitted, but there are 4. Write 0 to 4.",
            id="no more pods are admitted than there are",
        ),
        pytest.param(
            workload(status=admission(None, name="man")),
            f'{ASSIGNED}[0].name: There is no pod set "man". Did you mean "main"? Allowed: "main".',
            id="an assignment is of a pod set",
        ),
        pytest.param(
            workload(status=admission(None, name="man")),
            f'{ASSIGNED}: There is none for "main". Give one for each pod set.',
            id="each pod set has an assignment",
        ),
        pytest.param(
            workload(status=admission({"levels": [HOST], "domains": [{"values": [], "count": 4}]})),
            f"{ASSIGNED}[0].topologyAssignment.domains[0].values: There are 0. Give one for each of levels.",
            id="a domain has a value for each level",
        ),
        pytest.param(
            workload(
                status=admission({**hosts({"n1": 4}), "domains": [{"values": ["n1"], "count": 4}]}),
            ),
            f"{ASSIGNED}[0].topologyAssignment.domains: slices stand here as well. Leave out one of the two.",
            id="an assignment has one form",
        ),
    ],
)
def test_what_is_wrong_with_a_workload(text: str, want: str) -> None:
    assert want in found(*QUEUES, *NODES, text)
