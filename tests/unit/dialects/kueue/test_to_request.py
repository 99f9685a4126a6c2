"""Which tree the annotations make."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, translate
from closeknit.hub.copying import replace
from closeknit.hub.nodes import Operator, Requirement, Term, Toleration
from closeknit.hub.request import Group, Member, PodSet
from closeknit.hub.resources import Resources
from closeknit.hub.workload import PlaceableWorkload
from tests.unit.dialects.kit import reading, request
from tests.unit.dialects.kueue.kit import (
    BLOCK,
    HOST,
    QUEUES,
    RACK,
    K,
    cluster_queue,
    flavor,
    job,
    job_set,
    local_queue,
    node,
    queued_pod,
    replicated,
    topology,
)


def outline(member: Member) -> Any:
    """A tree in few words: pod sets as counts, groups as their levels and members."""
    if isinstance(member, PodSet):
        return member.count if member.minimum is None else (member.minimum, member.count)
    levels = {"required": member.required, "preferred": member.preferred, "minimum": member.minimum}
    kept = {key: value for key, value in levels.items() if value is not None}
    return (kept, *(outline(inner) for inner in member.members))


NESTED = json.dumps([{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            job(own={"require-topology": RACK}),
            ({"required": RACK}, 4),
            id="require-topology on a Job binds all of its pods",
            marks=pytest.mark.requirement("K39"),
        ),
        pytest.param(
            job(own={"prefer-topology": RACK}),
            ({"preferred": RACK}, 4),
            id="prefer-topology on a Job is a preference",
            marks=pytest.mark.requirement("K40"),
        ),
        pytest.param(
            job(own={"prefer-topology": "auto"}),
            ({"preferred": HOST}, 4),
            id="auto means the lowest hierarchy level",
        ),
        pytest.param(
            job(podset_required_topology=RACK),
            ({"required": RACK}, 4),
            id="all pods of the pod set in one domain of the level",
            marks=pytest.mark.requirement("K42"),
        ),
        pytest.param(
            job(podset_unconstrained_topology="true"),
            ({}, 4),
            id="unconstrained asks for no level",
        ),
        pytest.param(job(), ({}, 4), id="without an annotation a queue of topologies places unconstrained"),
        pytest.param(
            job(podset_slice_required_topology=RACK, podset_slice_size="2"),
            ({}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
            id="slices alone leave the pod set unconstrained",
        ),
        pytest.param(
            job(podset_preferred_topology=BLOCK, podset_slice_required_topology=RACK, podset_slice_size="2"),
            ({"preferred": BLOCK}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
            id="slices lie in the domain of the whole",
        ),
        pytest.param(
            job(8, podset_slice_required_topology_constraints=NESTED),
            (
                {},
                ({"required": BLOCK}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
                ({"required": BLOCK}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
            ),
            id="nested slices are nested groups",
        ),
        pytest.param(
            job(own={"job-min-parallelism": "3"}),
            ({}, (3, 4)),
            id="partial admission needs the least parallelism only",
        ),
        pytest.param(
            job(own={"job-min-parallelism": "3"}, podset_slice_required_topology=RACK, podset_slice_size="2"),
            ({"minimum": 2}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
            id="partial admission counts whole slices",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3), own={"require-topology": RACK}),
            ({}, ({}, ({"required": RACK}, 3), ({"required": RACK}, 3))),
            id="the early design assigns replicated Jobs rather than the entire pod set",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3), replicated("b", 1, 1), own={"prefer-topology": RACK}),
            ({}, ({}, ({"preferred": RACK}, 3), ({"preferred": RACK}, 3)), ({"preferred": RACK}, 1)),
            id="the early design's preference holds for the Jobs of every replicated job",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3, podset_required_topology=BLOCK)),
            ({}, ({"required": BLOCK}, ({}, 3), ({}, 3))),
            id="today's annotation binds all Jobs of a replicated job together",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3, podset_preferred_topology=RACK)),
            ({}, ({"preferred": RACK}, ({"preferred": RACK}, 3), ({"preferred": RACK}, 3))),
            id="where not all fit in one domain, each Job still stays whole",
        ),
        pytest.param(
            job_set(replicated("a", 2, 4, podset_slice_required_topology=RACK, podset_slice_size="4")),
            ({}, ({}, ({"required": RACK}, 4), ({"required": RACK}, 4))),
            id="a slice as large as a Job is the Job",
        ),
        pytest.param(
            job_set(replicated("a", 2, 4, podset_slice_required_topology=RACK, podset_slice_size="2")),
            (
                {},
                (
                    {},
                    ({}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
                    ({}, ({"required": RACK}, 2), ({"required": RACK}, 2)),
                ),
            ),
            id="smaller slices lie within the Jobs",
        ),
        pytest.param(
            job_set(replicated("a", 4, 1, podset_slice_required_topology=RACK, podset_slice_size="2")),
            (
                {},
                ({}, ({"required": RACK}, ({}, 1), ({}, 1)), ({"required": RACK}, ({}, 1), ({}, 1))),
            ),
            id="larger slices hold several Jobs",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3, podset_slice_required_topology=RACK, podset_slice_size="2")),
            ({}, ({}, *[({"required": RACK}, 2)] * 3)),
            id="slices that cut across Jobs go before the Jobs",
        ),
        pytest.param(
            job_set(
                replicated("leader", 1, 1, podset_required_topology=RACK, podset_group_name="g"),
                replicated("workers", 1, 3, podset_required_topology=RACK, podset_group_name="g"),
                replicated("other", 1, 2),
            ),
            ({}, ({"required": RACK}, ({}, 1), ({}, 3)), ({}, 2)),
            id="leader and workers share one domain",
        ),
        pytest.param(
            job_set(replicated("a", 1, 2), replicated("none", 0, 5), replicated("a-0", 1, 1)),
            ({}, ({}, 2), ({}, 1)),
            id="a replicated job without Jobs needs no pods",
        ),
    ],
)
def test_the_tree_of_a_workload(text: str, want: Any) -> None:
    assert outline(request(*QUEUES, text).root) == want


def test_a_job_never_runs_more_pods_than_are_to_be_completed() -> None:
    text = json.loads(job(8))
    text["spec"]["completions"] = 3

    assert outline(request(*QUEUES, json.dumps(text)).root) == ({}, 3)


def test_pods_of_one_group_make_a_pod_set_for_each_kind() -> None:
    texts = [
        queued_pod("g-0", "g", 3, gpus=2, podset_required_topology=RACK),
        queued_pod("g-1", "g", 3, podset_required_topology=RACK),
        queued_pod("g-2", "g", 3, podset_required_topology=RACK),
    ]
    made = request(*QUEUES, *texts)

    assert made.name == "default/g"
    assert outline(made.root) == ({}, ({"required": RACK}, 1), ({"required": RACK}, 2))
    assert [pods.pods for pods in made.root.pod_sets()] == [("g-0",), ("g-1", "g-2")]


def test_a_single_pod_queues_by_itself() -> None:
    made = request(*QUEUES, queued_pod("alone"))

    assert (made.name, outline(made.root)) == ("default/alone", ({}, 1))


@pytest.mark.requirement("K5", "K31", "K33")
def test_pods_are_narrowed_to_the_nodes_of_their_flavor() -> None:
    tolerated = flavor(tolerations=[{"key": "gpu", "operator": "Exists"}])
    selecting = job(pod={"nodeSelector": {"disk": "fast"}})
    (pods,) = request(topology(), tolerated, cluster_queue(), local_queue(), selecting).root.pod_sets()

    assert pods.filter.selector == (("disk", "fast"), ("pool", "tas"))
    assert pods.filter.tolerations == (Toleration("gpu", None, None),)
    levels = tuple(Requirement(label, Operator.EXISTS) for label in (BLOCK, RACK, HOST))
    assert pods.filter.affinity == (Term(levels),)
    assert pods.resources == Resources({"nvidia.com/gpu": 1})


def test_a_pod_affinity_that_matches_nothing_still_matches_nothing() -> None:
    nothing: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
    (pods,) = request(*QUEUES, job(pod={"affinity": {"nodeAffinity": nothing}})).root.pod_sets()

    assert pods.filter.affinity == (Term(()),)


def test_running_pods_take_their_ranks_and_waiting_ones_keep_their_names() -> None:
    def pod(name: str, index: int, host: str = "") -> str:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
        labels = {"batch.kubernetes.io/job-completion-index": str(index)}
        spec = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
                "spec": {**spec, **({"nodeName": host} if host else {})},
            }
        )

    text = job(podset_slice_required_topology=RACK, podset_slice_size="2")
    made = request(*QUEUES, text, node("n", "b", "r"), pod("train-3-x", 3, "n"), pod("train-0-y", 0))

    first, second = made.root.pod_sets()
    assert (first.bound, first.pods) == ((), ("train-0-y", "train-1"))
    assert (second.bound, second.pods) == (("n",), ("train-2",))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job(0), id="a Job of no pods"),
        pytest.param(job_set(replicated("a", 0, 4)), id="a JobSet of no Jobs"),
        pytest.param(
            job_set(replicated("a", 0, 4, podset_slice_required_topology=RACK, podset_slice_size="2")),
            id="a JobSet of no slices",
        ),
    ],
)
def test_who_asks_for_no_pods_asks_for_nothing(text: str) -> None:
    assert list(request(*QUEUES, text).root.pod_sets()) == []
    objects = translate([Source("all", "\n".join((*QUEUES, text)).encode())], "kueue").objects
    assert [each["spec"]["podSets"][0]["count"] for each in objects if each["kind"] == "Workload"] == [0]


def test_groups_are_named_after_the_jobs_and_never_twice() -> None:
    made = request(*QUEUES, job_set(replicated("a", 2, 1), replicated("a-1", 1, 1)))
    names = [member.name for member, _ in made.root.walk()]

    assert names == ["default/set", "a", "a-0", "a-0/1", "a-1*", "a-1*/1", "a-1", "a-1/1"]


def test_the_order_of_documents_never_shows() -> None:
    texts = [*QUEUES, job(), job_set(replicated("a", 2, 2, podset_preferred_topology=RACK))]

    forwards, backwards = reading(*texts), reading(*reversed(texts))
    assert [replace(each) for each in forwards.workloads] == list(backwards.workloads)


def test_priority_comes_from_kueues_own_class_before_that_of_the_pods() -> None:
    text = json.loads(job(pod={"priorityClassName": "low"}))
    classes = [
        json.dumps(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "low"},
                "value": 1,
            }
        ),
        json.dumps(
            {
                "apiVersion": f"{K}v1beta2",
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": "high"},
                "value": 9,
            }
        ),
    ]
    (before,) = reading(*QUEUES, *classes, json.dumps(text)).workloads
    text["metadata"]["labels"][f"{K}priority-class"] = "high"
    (after,) = reading(*QUEUES, *classes, json.dumps(text)).workloads

    assert (before.priority, after.priority) == (1, 9)


def test_an_unsound_group_is_never_made() -> None:
    for workload in reading(*QUEUES, job(), job_set(replicated("a", 2, 2))).workloads:
        assert isinstance(workload, PlaceableWorkload)
        assert isinstance(workload.request.root, Group)
