"""Workload objects: read as what waits, and as what is held for pods that are admitted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.engine import Engine
from closeknit.hub.cluster import Holding
from closeknit.hub.outcome import Placed, Unplaceable
from closeknit.hub.quota import LEVEL
from closeknit.hub.resources import Resources
from closeknit.scheduler import wording
from closeknit.scheduler.planning import Verdict, plan
from tests.unit.dialects.kit import held as held_by
from tests.unit.dialects.kit import problems, reading
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    local_queue,
    node,
    queued_pod,
    template,
    topology,
    written,
)

NODES = (node("n1", "b", "r1"), node("n2", "b", "r1"), node("n3", "b", "r2"))
ONE_GPU = Resources({"nvidia.com/gpu": 1})


def pod_set(count: int = 4, name: str = "main", gpus: int = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "count": count, "template": template(gpus), **fields}


def workload(
    *sets: dict[str, Any],
    name: str = "waits",
    owner: tuple[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    version: str = "v1beta2",
    **spec: Any,
) -> str:
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        kind, whose = owner
        group = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Pod": "v1"}[kind]
        reference = {"apiVersion": group, "kind": kind, "name": whose, "uid": "u"}
        metadata["ownerReferences"] = [{**reference, "controller": kind != "Pod"}]
    return json.dumps(
        {
            "apiVersion": f"{K}{version}",
            "kind": "Workload",
            "metadata": metadata,
            "spec": {"podSets": list(sets) or [pod_set()], "queueName": "team", **spec},
            "status": dict(status or {}),
        }
    )


def hosts(counts: Mapping[str, int]) -> dict[str, Any]:
    """An assignment to hosts in today's form."""
    piece = {
        "domainCount": len(counts),
        "valuesPerLevel": [{"individual": {"roots": list(counts)}}],
        "podCounts": {"individual": list(counts.values())},
    }
    return {"levels": [HOST], "slices": [piece]}


def admission(assignment: Mapping[str, Any] | None, count: int = 4, name: str = "main") -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "count": count, "flavors": {"nvidia.com/gpu": "tas"}}
    if assignment is not None:
        made["topologyAssignment"] = assignment
    return {"admission": {"clusterQueue": "research", "podSetAssignments": [made]}}


def decided(*texts: str) -> dict[str, Verdict]:
    read = reading(*texts)
    assert [str(problem) for problem in read.problems] == []
    verdicts = plan(Engine(read.cluster), read.cluster, read.workloads)
    return {verdict.workload.object.name: verdict for verdict in verdicts}


def nodes_of(verdict: Verdict) -> list[str]:
    assert isinstance(verdict.outcome, Placed)
    return sorted(assignment.node for assignment in verdict.outcome.assignments)


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_a_workload_that_waits_is_placed_by_its_topology_request(version: str) -> None:
    asked = pod_set(topologyRequest={"required": RACK})
    (read,) = reading(*QUEUES, workload(asked, version=version)).workloads

    assert (read.object.kind, read.admitted) == ("Workload", False)
    assert read.request is not None
    assert read.request.root.required == RACK
    verdict = decided(*QUEUES, *NODES, workload(asked, version=version))["waits"]
    assert len(nodes_of(verdict)) == 4


def test_slices_and_layers_of_a_topology_request() -> None:
    single = {"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2}
    layers = [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}]
    nested = {"podsetSliceRequiredTopologyConstraints": layers}

    (read,) = reading(*QUEUES, workload(pod_set(topologyRequest=single))).workloads
    assert read.request is not None
    assert [getattr(each, "required", None) for each in read.request.root.members] == [RACK, RACK]
    (read,) = reading(*QUEUES, workload(pod_set(8, topologyRequest=nested))).workloads
    assert read.request is not None
    assert [getattr(each, "required", None) for each in read.request.root.members] == [BLOCK, BLOCK]


def test_the_jobs_of_a_pod_set_are_its_sub_groups() -> None:
    asked = {"preferred": RACK, "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index", "subGroupCount": 2}
    (read,) = reading(*QUEUES, workload(pod_set(topologyRequest=asked), owner=("JobSet", "set"))).workloads

    assert read.request is not None
    assert read.request.name == "default/set"
    assert [each.name for each in read.request.root.members] == ["main-0", "main-1"]


def test_the_least_count_of_a_pod_set_is_judged_by_quota() -> None:
    queues = (topology(), flavor(), cluster_queue(quota={"nvidia.com/gpu": 3}), local_queue())

    assert len(nodes_of(decided(*queues, *NODES, workload(pod_set(minCount=2)))["waits"])) == 3
    refused = decided(*queues, *NODES, workload(pod_set(5, minCount=4)))["waits"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].level == LEVEL


def test_a_number_is_the_priority_and_a_class_stands_for_one() -> None:
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    known = json.dumps(
        {"apiVersion": f"{K}v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 7}
    )  # fmt: skip

    (read,) = reading(*QUEUES, known, workload(priority=3, priorityClassRef=reference)).workloads
    assert read.priority == 3
    (read,) = reading(*QUEUES, known, workload(priorityClassRef=reference)).workloads
    assert read.priority == 7
    earlier: dict[str, Any] = {
        "priorityClassName": "high",
        "priorityClassSource": f"{K}workloadpriorityclass",
    }
    (read,) = reading(*QUEUES, known, workload(version="v1beta1", **earlier)).workloads
    assert read.priority == 7


def test_the_workload_of_a_job_that_is_at_hand_is_that_job() -> None:
    texts = (*QUEUES, job(), workload(name="job-train-12345", owner=("Job", "train")))
    (read,) = reading(*texts).workloads

    assert read.object.kind == "Job"
    objects = translate([Source("all", "\n".join(texts).encode())], "kueue").objects
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Workload"] == ["job-train-12345"]


@pytest.mark.parametrize(
    ("assignment", "held"),
    [
        pytest.param(hosts({"n1": 3, "n3": 1}), {"n1": 3, "n3": 1}, id="slices that name hosts"),
        pytest.param(
            {
                "levels": [HOST],
                "domains": [{"values": ["n1"], "count": 3}, {"values": ["n3"], "count": 1}],
            },
            {"n1": 3, "n3": 1},
            id="domains that name hosts, as in v1beta1",
        ),
        pytest.param(
            {
                "levels": [BLOCK, RACK],
                "slices": [
                    {
                        "domainCount": 1,
                        "valuesPerLevel": [{"universal": "b"}, {"universal": "r2"}],
                        "podCounts": {"universal": 4},
                    }
                ],
            },
            {"n3": 4},
            id="a rack of one node",
        ),
    ],
)
def test_what_was_assigned_is_held(assignment: dict[str, Any], held: dict[str, int]) -> None:
    read = reading(*QUEUES, *NODES, workload(status=admission(assignment)))

    assert [str(problem) for problem in read.problems] == []
    assert sorted(held_by(read), key=lambda each: each.node) == [
        Holding("default/waits", name, ONE_GPU, pods) for name, pods in held.items()
    ]
    (known,) = read.workloads
    assert known.admitted
    assert known.request is not None
    (pods,) = known.request.root.pod_sets()
    assert sorted(pods.bound) == sorted(name for name, count in held.items() for _ in range(count))


@pytest.mark.requirement("K59", "K62")
def test_others_find_neither_the_room_nor_the_quota_of_an_admitted_workload() -> None:
    texts = (topology(), flavor(), cluster_queue(quota={"nvidia.com/gpu": 12}), local_queue(), *NODES)
    held = workload(pod_set(8), status=admission(hosts({"n3": 8}), count=8), priority=-5)

    verdicts = decided(*texts, held, job(4, name="a", podset_required_topology=RACK), job(1, name="b"))
    assert nodes_of(verdicts["a"]) == ["n1"] * 4
    refused = verdicts["b"].outcome
    assert isinstance(refused, Unplaceable)
    assert refused.shortfalls[0].level == LEVEL


def test_the_admission_of_a_job_holds_places_for_the_pods_that_do_not_run_yet() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    container = {"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    running = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train-0-x", "ownerReferences": [owner]},
            "spec": {"nodeName": "n1", "containers": [container]},
        }
    )
    admitted = workload(owner=("Job", "train"), status=admission(hosts({"n1": 2, "n3": 2})))
    read = reading(*QUEUES, *NODES, running, job(), admitted)

    assert [str(problem) for problem in read.problems] == []
    assert sorted((each.node, each.pods) for each in read.cluster.holdings) == [
        ("n1", 1),
        ("n1", 1),
        ("n3", 2),
    ]
    (known,) = read.workloads
    assert known.request is not None
    (pods,) = known.request.root.pod_sets()
    assert sorted(pods.bound) == ["n1", "n1", "n3", "n3"]


def test_the_admission_of_a_group_of_pods_is_known_by_the_groups_name() -> None:
    group = [queued_pod(f"p-{i}", "p", 2) for i in range(2)]
    admitted = workload(pod_set(2), name="p", owner=("Pod", "p-0"), status=admission(hosts({"n3": 2}), 2))
    read = reading(*QUEUES, *NODES, *group, admitted)

    assert [str(problem) for problem in read.problems] == []
    (known,) = read.workloads
    assert (known.object.kind, known.admitted) == ("Pod", True)


def test_an_assignment_to_a_domain_of_several_nodes_is_kept_to() -> None:
    tree = (topology("tree", BLOCK, RACK), flavor(), cluster_queue(), local_queue())
    piece = {
        "domainCount": 2,
        "valuesPerLevel": [{"universal": "b"}, {"individual": {"prefix": "r", "roots": ["1", "2"]}}],
        "podCounts": {"individual": [3, 1]},
    }
    held = workload(status=admission({"levels": [BLOCK, RACK], "slices": [piece]}), priority=-5)
    small = [node("n1", "b", "r1", 2), node("n2", "b", "r1", 2), node("n3", "b", "r2", 8)]

    verdicts = decided(*tree, *small, held, job(1, name="a", podset_required_topology=RACK))
    assert nodes_of(verdicts["waits"]) == ["n1", "n1", "n2"]


def test_what_is_admitted_keeps_its_flavor_and_its_quota() -> None:
    """Without a topology nobody knows yet where the pods go, but not what they may use."""
    queues = (
        topology(), flavor(), flavor("spot"), local_queue(),
        cluster_queue("research", "tas", "spot", quota={"nvidia.com/gpu": 1}),
    )  # fmt: skip
    status = admission(None)
    status["admission"]["podSetAssignments"][0]["flavors"] = {"nvidia.com/gpu": "spot"}

    verdict = decided(*queues, *NODES, node("s1", "b", "r3", pool="spot"), workload(status=status))["waits"]
    assert set(nodes_of(verdict)) == {"s1"}


def test_what_has_its_place_already_is_told_as_such() -> None:
    verdict = decided(*QUEUES, *NODES, workload(status=admission(hosts({"n1": 4}))))["waits"]

    assert isinstance(verdict.outcome, Placed)
    assert wording.size(verdict.outcome) == "4 pods have their place already"


def test_what_is_admitted_goes_first_whatever_its_priority() -> None:
    read = reading(*QUEUES, *NODES, workload(priority=-5, status=admission(hosts({"n1": 4}))), job(name="a"))

    assert [each.object.name for each in read.workloads] == ["waits", "a"]


def test_a_held_queue_keeps_what_it_has_admitted() -> None:
    queues = (topology(), flavor(), cluster_queue(stopPolicy="Hold"), local_queue())
    read = reading(*queues, *NODES, workload(status=admission(hosts({"n1": 4}))))

    assert [str(problem) for problem in read.problems] == []


def test_what_is_admitted_in_a_circle_of_cohorts_keeps_the_quota_of_its_queue() -> None:
    circle = [written("Cohort", name, {"parentName": other}) for name, other in (("a", "b"), ("b", "a"))]
    queues = [topology(), flavor(), cluster_queue(cohortName="a"), local_queue()]
    (admitted,) = reading(*queues, *circle, *NODES, workload(status=admission(hosts({"n1": 4})))).workloads
    (option,) = admitted.options

    assert [charge.account.name for charge in option.charges] == [("ClusterQueue research", "flavor tas")]
    assert option.charges[0].account.within is None


def test_pods_whose_node_has_gone_are_placed_again_beside_the_others() -> None:
    asked = pod_set(topologyRequest={"required": RACK})
    gone = workload(asked, status=admission(hosts({"n1": 2, "n9": 2})))
    assert nodes_of(decided(*QUEUES, *NODES, gone)["waits"]) == ["n1", "n1"]

    sick = {**admission(hosts({"n1": 2, "n2": 2})), "unhealthyNodes": [{"name": "n2"}]}
    read = reading(*QUEUES, *NODES, workload(asked, status=sick))
    assert [(each.node, each.pods) for each in read.cluster.holdings] == [("n1", 2)]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(
            {**admission(hosts({"n1": 4})), "conditions": [{"type": "QuotaReserved", "status": "False"}]},
            id="quota that was taken back",
        ),
        pytest.param(
            {**admission(hosts({"n1": 4})), "conditions": [{"type": "Evicted", "status": "True"}]},
            id="a workload that must go",
        ),
        pytest.param({}, id="no admission"),
    ],
)
def test_what_is_not_admitted_holds_nothing(status: dict[str, Any]) -> None:
    read = reading(*QUEUES, *NODES, workload(status=status))

    assert read.cluster.holdings == ()
    assert not read.workloads[0].admitted


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            workload(status={"conditions": [{"type": "Finished", "status": "True"}]}), id="one that is done"
        ),
        pytest.param(workload(active=False), id="one that was told not to run"),
    ],
)
def test_some_workloads_queue_for_nothing(text: str) -> None:
    assert reading(*QUEUES, *NODES, text).workloads == ()


def test_part_of_a_pod_set_may_have_been_admitted() -> None:
    (read,) = reading(
        *QUEUES, *NODES, workload(pod_set(minCount=1), status=admission(hosts({"n1": 2}), 2))
    ).workloads  # fmt: skip

    assert read.request is not None
    assert [(each.count, each.bound) for each in read.request.root.pod_sets()] == [(2, ("n1", "n1"))]


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
    found = [line.partition(":")[2] for line in problems(*QUEUES, *NODES, text)]

    assert want in found


def test_a_workload_is_written_as_it_is_read() -> None:
    asked = {"required": BLOCK, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2}
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
    text = workload(
        pod_set(topologyRequest=asked), owner=("Job", "train"), priority=3, priorityClassRef=reference
    )
    (made,) = translate([Source("all", "\n".join((*QUEUES, text)).encode())], "kueue").objects

    given = json.loads(text)
    assert made["metadata"] == {**given["metadata"], "namespace": "default"}
    assert made["spec"] == given["spec"]
    pods = translate([Source("all", "\n".join((*QUEUES, text)).encode())], "pods").objects
    assert [each["metadata"]["name"] for each in pods] == [f"train-main-{i}" for i in range(4)]
    assert all(each["metadata"]["annotations"][f"{K}workload"] == "waits" for each in pods)
    named = {"batch.kubernetes.io/job-name": "train"}
    assert pods[0]["metadata"]["labels"] == {f"{K}podset": "main", f"{K}tas": "true", **named}
