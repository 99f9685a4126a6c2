"""Pods that must run at once and do not exist: a fact of the workload that its dialect states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.reading import SCHEDULERS
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import kai
from closeknit.hub.workload import IncompleteWorkload, InvalidWorkload, PlaceableWorkload, Workload
from tests.kit.problems import line
from tests.unit.dialects.kai.owned import MINIMUM
from tests.unit.dialects.kit import TOPOLOGY, node, pod, pod_group, reading, status

SNAPSHOT = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"annotations": {SCHEDULERS: "kai-scheduler"}},
        "items": [],
    }
)
"""Makes the other texts those of a live cluster whose pods are bound by us."""
TWO_LEAVES = {"subGroups": [{"name": "a", "minMember": 4}, {"name": "b", "minMember": 2}]}
NO_SUCH_CLASS = {"priorityClassName": "none-such"}
NO_SUCH_TOPOLOGY = {"topologyConstraint": {"topology": "none-such", "requiredTopologyLevel": "rack"}}


def member(name: str, leaf: str = "") -> str:
    """A pod of PodGroup g that is ours to bind."""
    return pod(name, "g", leaf, schedulerName="kai-scheduler")


def gang(pods: int) -> list[str]:
    """A PodGroup of Kubernetes' own that needs three pods, with some of them."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
    }
    of_group: dict[str, Any] = {"schedulerName": "kai-scheduler", "schedulingGroup": {"podGroupName": "g"}}
    return [json.dumps(group), *(pod(f"p{i}", **of_group) for i in range(pods))]


def kai_job(minimum: int) -> str:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "schedulerName": "kai-scheduler"}}
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "uid": "u", "annotations": {MINIMUM: str(minimum)}},
            "spec": {"parallelism": minimum, "completions": minimum, "template": template},
        }
    )


@pytest.mark.parametrize(
    ("texts", "kind", "missing_pods"),
    [
        pytest.param(
            [pod_group({"minMember": 3}), member("p")],
            IncompleteWorkload,
            2,
            id="files give too few pods: incomplete",
        ),
        pytest.param(
            [SNAPSHOT, pod_group({"minMember": 3}), member("p")],
            IncompleteWorkload,
            2,
            id="a cluster has too few pods: incomplete",
        ),
        pytest.param(
            [SNAPSHOT, pod_group(TWO_LEAVES), member("p", "a")],
            IncompleteWorkload,
            2,
            id="two leaves lack three and two pods: at least two are missing",
        ),
        pytest.param(
            [
                SNAPSHOT,
                pod_group({**TWO_LEAVES, "minSubGroup": 1}),
                *(member(f"p{i}", "b") for i in (0, 1)),
            ],
            PlaceableWorkload,
            None,
            id="a leaf that lacks pods may be left out: placeable",
        ),
        pytest.param(
            [SNAPSHOT, pod_group({"minMember": 3, **NO_SUCH_CLASS}), member("p")],
            InvalidWorkload,
            2,
            id="its priority class does not exist either: invalid, and pods are missing",
        ),
        pytest.param(
            [pod_group({"minMember": 3, **NO_SUCH_CLASS}), member("p")],
            InvalidWorkload,
            2,
            id="the same in files",
        ),
        pytest.param(
            [SNAPSHOT, pod_group({"minMember": 1, **NO_SUCH_CLASS}), member("p")],
            InvalidWorkload,
            0,
            id="all its pods exist: invalid, and none is missing",
        ),
        pytest.param([SNAPSHOT, kai_job(2)], IncompleteWorkload, 2, id="a Job without its pods: incomplete"),
        pytest.param([*gang(1)], IncompleteWorkload, 2, id="Kubernetes' own gang in files: incomplete"),
        pytest.param([SNAPSHOT, *gang(2)], IncompleteWorkload, 1, id="and in a cluster: incomplete"),
        pytest.param([SNAPSHOT, *gang(3)], PlaceableWorkload, None, id="with all its pods: placeable"),
    ],
)
def test_what_a_workload_is_and_how_many_pods_it_lacks(
    texts: list[str], kind: type[Workload], missing_pods: int | None
) -> None:
    (workload,) = (each for each in reading(node("n"), *texts).workloads if each.object.kind != "Pod")

    assert type(workload) is kind
    assert getattr(workload, "missing_pods", None) == missing_pods


MISSING = line(kai.PODS_MISSING, "spec.minMember", needed="3 pods", given="1 is there", missing=2)
UNKNOWN = line(
    kai.TOPOLOGY_NOT_THERE,
    "spec.topologyConstraint.topology",
    topology="none-such",
    allowed=OneOf("none-such", ("tree",)),
)


@pytest.mark.parametrize(
    ("texts", "spec", "conditions"),
    [
        pytest.param([], {}, [], id="files give too few pods: its event says so"),
        pytest.param([], NO_SUCH_TOPOLOGY, [UNKNOWN], id="and something is wrong: the condition names that"),
        pytest.param([SNAPSHOT], {}, [MISSING], id="a cluster has too few pods: the condition says so"),
    ],
)
def test_the_condition_of_a_pod_group_that_lacks_pods(
    texts: list[str], spec: dict[str, Any], conditions: list[str]
) -> None:
    seen = status("PodGroup", *texts, TOPOLOGY, pod_group({"minMember": 3, **spec}), member("p"))

    assert len(seen.conditions) == len(conditions)
    for condition, problem in zip(seen.conditions, conditions, strict=True):
        assert problem in condition.message
    assert "NotReady" in [event.reason for event in seen.events]
