"""What is written: Workloads, Jobs ready to start, gated pods, and JobSets for other dialects' workloads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import DIALECTS, Source, read, translate
from closeknit.dialects.kueue.express import LEFT_OUT, express
from closeknit.dialects.kueue.objects import assignments, workload_object
from closeknit.dialects.kueue.starting import started
from closeknit.dialects.kueue.workloads import Read, read_all
from closeknit.dialects.reading import gather
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import ObjectName, Workload
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

NODES = (node("n1", "b1", "r1"), node("n2", "b1", "r1"), node("n3", "b2", "r2"))


def sources(*texts: str) -> list[Source]:
    return [Source("f", "\n---\n".join(texts).encode())]


def written(*texts: str, to: str = "kueue") -> dict[str, dict[str, Any]]:
    """What is written, by kind; the last of each."""
    made = translate(sources(*texts), to)
    assert made.problems == ()
    return {each["kind"]: each for each in made.objects}


def asked(*texts: str) -> list[dict[str, Any]]:
    return [each.get("topologyRequest", {}) for each in written(*texts)["Workload"]["spec"]["podSets"]]


INDEX = {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}
JOBS = {**INDEX, "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            job(own={"require-topology": RACK}), [{"required": RACK, **INDEX}], id="a required level"
        ),
        pytest.param(
            job(own={"prefer-topology": "auto"}),
            [{"preferred": HOST, **INDEX}],
            id="auto as the level it means",
        ),
        pytest.param(job(), [{"unconstrained": True, **INDEX}], id="nothing, which is unconstrained"),
        pytest.param(
            job(podset_slice_required_topology=RACK, podset_slice_size="2"),
            [{"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2, **INDEX}],
            id="slices",
        ),
        pytest.param(
            job(
                podset_slice_required_topology_constraints=json.dumps(
                    [{"topology": BLOCK, "size": 4}, {"topology": RACK, "size": 2}]
                )
            ),
            [
                {
                    "podsetSliceRequiredTopologyConstraints": [
                        {"topology": BLOCK, "size": 4},
                        {"topology": RACK, "size": 2},
                    ],
                    **INDEX,
                }
            ],
            id="nested slices",
        ),
        pytest.param(
            job_set(replicated("a", 2, 3), own={"require-topology": RACK}),
            [{"podSetSliceRequiredTopology": RACK, "podSetSliceSize": 3, **JOBS, "subGroupCount": 2}],
            id="each Job by itself, which today is a slice",
        ),
        pytest.param(
            job_set(
                replicated("leader", 1, 1, podset_preferred_topology=RACK, podset_group_name="g"),
                replicated("workers", 1, 3, podset_preferred_topology=RACK, podset_group_name="g"),
            ),
            [{"preferred": RACK, "podSetGroupName": "g", **JOBS, "subGroupCount": 1}] * 2,
            id="leader and workers",
        ),
    ],
)
def test_the_topology_request_of_a_workload(text: str, want: list[dict[str, Any]]) -> None:
    assert asked(*QUEUES, text) == want


def test_a_workload_keeps_the_whole_template() -> None:
    workload = written(*QUEUES, job(pod={"serviceAccountName": "trainer"}))["Workload"]

    (pod_set,) = workload["spec"]["podSets"]
    assert pod_set["template"]["spec"]["serviceAccountName"] == "trainer"
    assert pod_set["template"]["spec"]["containers"][0]["image"] == "train"
    assert (pod_set["name"], pod_set["count"]) == ("main", 4)
    assert workload["spec"]["queueName"] == "team"


def test_pods_of_a_group_make_a_workload_of_the_groups_name() -> None:
    made = written(*QUEUES, *(queued_pod(f"g-{i}", "g", 2, podset_required_topology=RACK) for i in range(2)))

    assert set(made) == {"Workload"}
    assert made["Workload"]["metadata"]["name"] == "g"
    (pod_set,) = made["Workload"]["spec"]["podSets"]
    assert (pod_set["count"], pod_set["topologyRequest"]) == (2, {"required": RACK})
    assert pod_set["template"]["spec"]["containers"] == [
        {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    ]


def test_a_job_that_waits_is_suspended_and_its_pods_are_gated() -> None:
    tolerant = flavor(tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}])
    made = written(topology(), tolerant, cluster_queue(), local_queue(), job(own={"require-topology": RACK}))
    template = made["Job"]["spec"]["template"]

    assert made["Job"]["spec"]["suspend"] is True
    assert "annotations" not in made["Job"]["metadata"]
    assert template["metadata"]["annotations"] == {
        f"{K}podset-required-topology": RACK,
        f"{K}workload": made["Workload"]["metadata"]["name"],
    }
    assert template["metadata"]["labels"] == {f"{K}podset": "main", f"{K}tas": "true"}
    assert template["spec"]["schedulingGates"] == [{"name": f"{K}topology"}]
    assert template["spec"]["nodeSelector"] == {"pool": "tas"}
    assert template["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_what_is_written_means_the_same_when_it_is_read_again() -> None:
    text = job_set(replicated("a", 2, 3), own={"require-topology": RACK})
    again = json.dumps(written(*QUEUES, text)["JobSet"])

    def slices(given: str) -> list[tuple[str | None, int]]:
        (workload,) = read(sources(*QUEUES, given)).workloads
        assert workload.request is not None
        (jobs,) = workload.request.root.members
        assert isinstance(jobs, Group)
        return [(each.required, each.members[0].count) for each in jobs.members if isinstance(each, Group) and isinstance(each.members[0], PodSet)]  # fmt: skip

    assert slices(text) == slices(again) == [(RACK, 3), (RACK, 3)]


def placed(*texts: str) -> tuple[Read, Placed]:
    found = gather(DIALECTS, sources(*texts), lenient=False)
    (each,) = read_all(found.manifests, found.surroundings)
    assert isinstance(each, Read)
    outcome = Engine(read(sources(*texts)).cluster).solve(each.admissions[0].option.request)
    assert isinstance(outcome, Placed)
    return each, outcome


def test_a_homogeneous_assignment_is_a_node_selector() -> None:
    each, outcome = placed(*QUEUES, *NODES, job(8, podset_required_topology=HOST))
    where = assignments(each, each.admissions[0], outcome)
    made = started(each, each.admissions[0], where)
    spec = made["spec"]["template"]["spec"]

    assert made["spec"]["suspend"] is False
    assert "schedulingGates" not in spec
    # The smaller block, so that the larger one stays whole.
    assert spec["nodeSelector"] == {"pool": "tas", HOST: "n3"}


def test_any_other_assignment_is_left_to_the_gate() -> None:
    each, outcome = placed(*QUEUES, *NODES, job(12, podset_required_topology=RACK))
    where = assignments(each, each.admissions[0], outcome)
    spec = started(each, each.admissions[0], where)["spec"]["template"]["spec"]

    assert spec["schedulingGates"] == [{"name": f"{K}topology"}]
    assert spec["nodeSelector"] == {"pool": "tas"}


def test_an_admitted_workload_says_what_goes_where() -> None:
    each, outcome = placed(
        *QUEUES, *NODES, job(12, podset_required_topology=RACK, podset_slice_required_topology=HOST, podset_slice_size="4")
    )  # fmt: skip
    made = workload_object(each, each.admissions[0], outcome)

    assert made["status"]["admission"] == {
        "clusterQueue": "research",
        "podSetAssignments": [
            {
                "name": "main",
                "count": 12,
                "flavors": {"nvidia.com/gpu": "tas"},
                "resourceUsage": {"nvidia.com/gpu": "12"},
                "topologyAssignment": {
                    "levels": [HOST],
                    "slices": [
                        {
                            "domainCount": 2,
                            "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}],
                            "podCounts": {"individual": [8, 4]},
                        }
                    ],
                },
            }
        ],
    }


TREE = Topology("tree", (Level(BLOCK), Level(RACK), Level(HOST)))


def pods(name: str, count: int, gpus: int = 1, minimum: int | None = None) -> PodSet:
    return PodSet(f"{name}/1", count, Resources({"nvidia.com/gpu": gpus}), minimum)


def said(root: Group, over: str | None = "tree") -> dict[str, dict[str, Any]]:
    workload = Workload(ObjectName("v1", "X", "ns", "train"), "test", Request("ns/train", root, over))
    return {each["kind"]: each for each in express(workload, {"tree": TREE})}


def template_annotations(made: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    jobs = made["JobSet"]["spec"]["replicatedJobs"]
    found = [each["template"]["spec"]["template"].get("metadata", {}).get("annotations", {}) for each in jobs]
    return [{key.removeprefix(K): value for key, value in each.items()} for each in found]


@pytest.mark.parametrize(
    ("root", "want", "sizes"),
    [
        pytest.param(
            Group("r", (pods("a", 4),), RACK),
            [{"podset-required-topology": RACK}],
            [(1, 4)],
            id="a group of one pod set is that pod set",
        ),
        pytest.param(
            Group("r", tuple(Group(f"s{i}", (pods(f"s{i}", 2),), RACK) for i in range(3)), BLOCK),
            [
                {
                    "podset-required-topology": BLOCK,
                    "podset-slice-required-topology": RACK,
                    "podset-slice-size": "2",
                }
            ],
            [(3, 2)],
            id="equal groups are slices of one replicated job",
        ),
        pytest.param(
            Group("r", (pods("leader", 1, gpus=0), pods("workers", 4)), RACK),
            [{"podset-required-topology": RACK, "podset-group-name": "r-group"}] * 2,
            [(1, 1), (1, 4)],
            id="a leader and its workers are a group of pod sets",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK), Group("b", (pods("b", 3),), None, HOST))),
            [{"podset-required-topology": RACK}, {"podset-preferred-topology": HOST}],
            [(1, 2), (1, 3)],
            id="groups that share nothing are replicated jobs of their own",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK),), BLOCK),
            [{"podset-required-topology": RACK}],
            [(1, 2)],
            id="the finer of two required levels implies the other",
        ),
        pytest.param(
            Group("r", (pods("a", 2), pods("b", 3)), RACK),
            [{"podset-required-topology": RACK}],
            [(1, 5)],
            id="equal pods that share a domain are one pod set, however they were counted",
        ),
        pytest.param(
            Group("r", (pods("a", 2), Group("g", (pods("b", 3),))), RACK),
            [{"podset-required-topology": RACK}],
            [(1, 5)],
            id="a group without a level is no more than its members",
        ),
        pytest.param(
            Group(
                "r",
                (
                    Group("a", (pods("a", 2),), RACK),
                    Group("b", (pods("b", 2, gpus=2),), RACK),
                    Group("c", (pods("c", 2),), RACK),
                ),
            ),
            [
                {"podset-slice-required-topology": RACK, "podset-slice-size": "2"},
                {"podset-required-topology": RACK},
            ],
            [(2, 2), (1, 2)],
            id="equal groups are slices wherever they stand",
        ),
        pytest.param(
            Group(
                "r",
                (Group("a", (pods("leader", 1, gpus=2),), HOST), Group("b", (pods("workers", 4),), RACK)),
                RACK,
            ),
            [{"podset-required-topology": RACK, "podset-group-name": "r-group"}] * 2,
            [(1, 1), (1, 4)],
            id="levels that hold anyway do not keep a leader from its workers",
        ),
        pytest.param(
            Group("r", (Group("g", (pods("leader", 1, gpus=2), pods("workers", 4)), RACK),), BLOCK),
            [{"podset-required-topology": RACK, "podset-group-name": "r-group"}] * 2,
            [(1, 1), (1, 4)],
            id="a group around a leader and its workers gives way to the finer level",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), None, RACK), Group("b", (pods("b", 2),), None, RACK))),
            [{"podset-preferred-topology": RACK}] * 2,
            [(1, 2), (1, 2)],
            id="equal groups that each prefer a level are not told to prefer it together",
        ),
        pytest.param(
            Group("r", (pods("a", 2), pods("none", 0, gpus=2)), RACK, minimum=2),
            [{"podset-required-topology": RACK}],
            [(1, 2)],
            id="a member without pods counts as formed",
        ),
    ],
)
def test_a_tree_in_kueues_words(
    root: Group, want: list[dict[str, str]], sizes: list[tuple[int, int]]
) -> None:
    made = said(root)
    jobs = made["JobSet"]["spec"]["replicatedJobs"]

    assert template_annotations(made) == want
    assert [(each["replicas"], each["template"]["spec"]["parallelism"]) for each in jobs] == sizes
    assert made["ResourceFlavor"]["spec"]["topologyName"] == "tree"
    assert made["JobSet"]["metadata"]["labels"] == {f"{K}queue-name": made["LocalQueue"]["metadata"]["name"]}


@pytest.mark.parametrize(
    ("root", "least", "want"),
    [
        pytest.param(
            Group("r", (pods("a", 4, minimum=2),), RACK),
            "2",
            {"podset-required-topology": RACK},
            id="pods above the minimum",
        ),
        pytest.param(
            Group("r", tuple(Group(f"s{i}", (pods(f"s{i}", 2),), RACK) for i in range(2)), BLOCK, minimum=1),
            "2",
            {
                "podset-required-topology": BLOCK,
                "podset-slice-required-topology": RACK,
                "podset-slice-size": "2",
            },
            id="equal slices of which some are enough",
        ),
        pytest.param(
            Group("r", tuple(Group(f"s{i}", (pods(f"s{i}", 1),), HOST) for i in range(4)), minimum=3),
            "3",
            {},
            id="single pods of which some are enough",
        ),
    ],
)
def test_where_fewer_pods_will_do_it_is_a_job(root: Group, least: str, want: dict[str, str]) -> None:
    made = said(root)["Job"]
    template = made["spec"]["template"].get("metadata", {}).get("annotations", {})

    assert made["metadata"]["annotations"] == {f"{K}job-min-parallelism": least}
    assert (made["spec"]["parallelism"], made["spec"]["completions"]) == (4, 4)
    assert {key.removeprefix(K): value for key, value in template.items()} == want


def test_the_queue_has_just_the_quota_that_is_needed() -> None:
    (group,) = said(Group("r", (pods("a", 4, gpus=2),)))["ClusterQueue"]["spec"]["resourceGroups"]

    amounts = {each["name"]: each["nominalQuota"] for each in group["flavors"][0]["resources"]}
    assert amounts == {"nvidia.com/gpu": "8", "pods": "4"}


def test_wishes_that_kueue_cannot_say_are_left_out_and_listed() -> None:
    made = said(Group("r", (pods("a", 4),), BLOCK, RACK))

    assert template_annotations(made) == [{"podset-required-topology": BLOCK}]
    assert made["JobSet"]["metadata"]["annotations"] == {LEFT_OUT: f"r prefers {RACK}"}


@pytest.mark.parametrize(
    ("root", "want"),
    [
        pytest.param(
            Group("r", (pods("a", 2), pods("b", 3, gpus=2), pods("c", 4, gpus=4)), RACK),
            f'JobSet: "r": 3 different pod sets must share one {RACK}; Kueue can say that of one pod set,'
            " or of a leader and its workers.",
            id="three pod sets in one rack",
        ),
        pytest.param(
            Group("r", (pods("a", 4, minimum=2), pods("b", 1, gpus=2))),
            'JobSet: "a/1": 2 of its 4 pods will do; Kueue can say that of a Job by itself only, and this is one'
            " of 2 pod sets.",
            id="pods above the minimum beside others",
        ),
        pytest.param(
            Group("r", (pods("a", 4, minimum=0),)),
            'JobSet: "a/1": None of its pods must run; Kueue admits at least one.',
            id="pods of which none must run",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),)), Group("b", (pods("b", 2),))), minimum=1),
            'JobSet: "r": 1 of its 2 members will do; Kueue can say that of single pods or of equal slices of one'
            " Job.",
            id="groups without a level of which some are enough",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK), Group("b", (pods("b", 3),), RACK)), minimum=1),
            'JobSet: "r": 1 of its 2 members will do; Kueue can say that of single pods or of equal slices of one'
            " Job.",
            id="groups of two sizes of which some are enough",
        ),
        pytest.param(
            Group("r", (Group("a", (pods("a", 2),), RACK), Group("b", (pods("b", 2),), RACK)), minimum=0),
            'JobSet: "r": 0 of its 2 members will do; Kueue can say that of single pods or of equal slices of one'
            " Job.",
            id="slices of which none is needed",
        ),
        pytest.param(
            Group("r", tuple(Group(f"g{i}", (pods(f"g{i}", 4, minimum=2),), RACK) for i in range(2))),
            'JobSet: "g0/1": 2 of its 4 pods will do; Kueue can say that of a Job by itself only, and this is one'
            " of 2 pod sets.",
            id="slices that may be smaller",
        ),
        pytest.param(
            Group("r", (pods("leader", 1, gpus=2), pods("workers", 4, minimum=2)), RACK),
            f'JobSet: "r": 2 different pod sets must share one {RACK}; Kueue can say that of one pod set,'
            " or of a leader and its workers.",
            id="workers beside a leader that may be fewer",
        ),
        pytest.param(
            Group("r", tuple(Group(f"g{i}", (pods(f"g{i}", 2, gpus=1 + i),)) for i in range(19))),
            "JobSet: There are 19 different pod sets. Kueue takes at most 18.",
            id="more pod sets than a Workload takes",
        ),
        pytest.param(
            Group("r", ()), "JobSet: There are no pods, and a JobSet needs at least one.", id="no pods at all"
        ),
    ],
)
def test_what_kueue_has_no_words_for_is_refused(root: Group, want: str) -> None:
    with pytest.raises(InvalidError) as refused:
        said(root)

    assert want in [str(problem) for problem in refused.value.problems]
