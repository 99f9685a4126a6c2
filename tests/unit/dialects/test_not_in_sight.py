"""What a few files name and do not hold may be in the cluster: a note for who places nothing, else a problem."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from closeknit.dialects import Reading, Source, read, translate
from tests.unit.dialects.dynamo import graphs
from tests.unit.dialects.grove import sets
from tests.unit.dialects.kit import pod, pod_group
from tests.unit.dialects.kueue import kit as kueue

RACK = "topology/rack"
BLOCK = "topology/block"


OTHER = """
    apiVersion: kai.scheduler/v1alpha1
    kind: Topology
    metadata: {name: other}
    spec: {levels: [{nodeLabel: topology/rack}]}
"""


def source(*texts: str) -> Source:
    return Source("f", "\n---\n".join(dedent(text) for text in texts).encode())


def seen(*texts: str, partial: bool = True) -> Reading:
    return read([source(*texts)], partial=partial)


def codes(reading: Reading) -> tuple[list[str], list[str]]:
    """The codes of all problems, and of all notes."""
    notes = [
        *(each.problem for each in reading.notes),
        *(note for each in reading.workloads for note in each.notes),
    ]
    problems = sorted({each.problem.code.name for each in reading.problems})
    return problems, sorted({each.code.name for each in notes} - {"pods-assumed"})


def kai_group(**constraint: str) -> str:
    return pod_group({"minMember": 2, "topologyConstraint": {"topology": "tree", **constraint}})


CASES = [
    pytest.param([kueue.job()], "kueue-no-local-queue", id="the LocalQueue of a Job"),
    pytest.param([kueue.local_queue()], "kueue-no-cluster-queue", id="the ClusterQueue of a LocalQueue"),
    pytest.param([kueue.cluster_queue()], "not-found", id="the ResourceFlavor of a ClusterQueue"),
    pytest.param([kueue.flavor()], "not-found", id="the Topology of a ResourceFlavor"),
    pytest.param(
        [pod_group({"minMember": 1, "priorityClassName": "mine"})], "not-found", id="a PriorityClass"
    ),
    pytest.param([pod("p", "elsewhere")], "no-such-pod-group", id="the PodGroup of a pod"),
]


@pytest.mark.parametrize(("given", "code"), CASES)
def test_what_is_not_in_sight_is_a_note_where_nothing_is_placed(given: list[str], code: str) -> None:
    problems, notes = codes(seen(*given))

    assert (problems, code in notes) == ([], True)


@pytest.mark.parametrize(("given", "code"), CASES)
def test_what_is_not_there_is_a_problem_where_all_is_in_sight(given: list[str], code: str) -> None:
    assert code in codes(seen(*given, partial=False))[0]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        pytest.param(
            [
                kueue.job(),
                kueue.local_queue("other"),
                kueue.cluster_queue(),
                kueue.flavor(),
                kueue.topology(),
            ],
            "kueue-no-local-queue",
            id="a LocalQueue beside others",
        ),
        pytest.param(
            [kai_group(requiredTopologyLevel=RACK), OTHER],
            "topology-not-there",
            id="a Topology beside others",
        ),
    ],
)
def test_a_name_that_none_of_those_in_sight_has_is_a_problem(given: list[str], code: str) -> None:
    assert code in codes(seen(*given))[0]


def test_levels_that_are_asked_for_stand_for_those_of_a_topology_that_is_not_in_sight() -> None:
    inner = {
        "topology": "tree",
        "requiredTopologyLevel": RACK,
        "preferredTopologyLevel": "kubernetes.io/hostname",
    }
    group = pod_group(
        {
            "topologyConstraint": {"topology": "tree", "requiredTopologyLevel": BLOCK},
            "subGroups": [{"name": "a", "minMember": 1, "topologyConstraint": inner}],
        }
    )

    reading = seen(group)

    (topology,) = reading.cluster.topologies
    assert (topology.name, topology.labels) == ("tree", (BLOCK, RACK, "kubernetes.io/hostname"))
    assert codes(reading) == ([], ["topology-assumed"])


ASSUMED = [
    pytest.param([kai_group(requiredTopologyLevel=RACK)], "tree", [RACK], id="a PodGroup of KAI"),
    pytest.param(
        [kueue.job(podset_required_topology=RACK)],
        "topology-rack",
        [RACK],
        id="a Job that queues in Kueue",
    ),
    pytest.param(
        [sets.pod_clique_set(sets.clique("a", domain="host"), domain="rack")],
        "grove-topology",
        ["rack", "kubernetes.io/hostname"],
        id="a PodCliqueSet",
    ),
    pytest.param(
        [graphs.graph({"a": graphs.service(domain="rack")}, domain="block")],
        "grove-topology",
        ["block", "rack"],
        id="a DynamoGraphDeployment",
    ),
]


@pytest.mark.parametrize(("given", "name", "labels"), ASSUMED)
def test_each_family_says_what_it_takes_for_the_levels(
    given: list[str], name: str, labels: list[str]
) -> None:
    reading = seen(*given)

    assert [(each.name, [*each.labels]) for each in reading.cluster.topologies] == [(name, labels)]
    assert codes(reading)[0] == []
    assert "topology-assumed" in codes(reading)[1]


@pytest.mark.parametrize(("given", "name", "labels"), ASSUMED)
def test_a_translation_passes_on_the_levels_and_describes_no_topology(
    given: list[str], name: str, labels: list[str]
) -> None:
    made = translate([source(*given)], "kai")

    assert [str(each) for each in made.problems] == []
    assert [each["kind"] for each in made.objects if each["kind"] == "Topology"] == []
    written = json.dumps(made.objects)
    assert all(f'"{label}"' in written for label in labels)
    assert f'"topology": "{name}"' in written


def test_requests_that_contradict_each_other_are_refused_and_not_assumed_away() -> None:
    def nested(name: str, outer: str, inner: str) -> str:
        def constraint(level: str) -> dict[str, str]:
            return {"topology": "tree", "requiredTopologyLevel": level}

        subgroups = [{"name": "a", "minMember": 1, "topologyConstraint": constraint(inner)}]
        return pod_group({"topologyConstraint": constraint(outer), "subGroups": subgroups}, name=name)

    problems, _ = codes(seen(nested("one", BLOCK, RACK), nested("two", RACK, BLOCK)))

    assert problems == ["coarser-level"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(
            sets.pod_clique_set(sets.clique("a", domain="zone"), domain="rack"), id="a PodCliqueSet"
        ),
        pytest.param(
            graphs.graph({"a": graphs.service(domain="zone")}, domain="rack"), id="a DynamoGraphDeployment"
        ),
    ],
)
def test_a_zone_within_a_rack_is_refused_though_no_topology_says_so(given: str) -> None:
    problems, _ = codes(seen(given))

    assert len(problems) == 1
    assert "coarser" in problems[0] or "broader" in problems[0]


def test_a_key_that_stands_twice_is_a_note_in_a_format_that_takes_the_last() -> None:
    task = "{name: t, image: i, command: [c], command: [d]}"
    workflow = f"workflow: {{name: w, resources: {{default: {{gpu: 1}}}}, tasks: [{task}]}}"

    assert codes(seen(workflow)) == ([], ["key-twice"])
    assert codes(seen("apiVersion: v1\nkind: Pod\nkind: Pod"))[0] == ["key-twice"]
