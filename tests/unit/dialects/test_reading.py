"""A mixed bag of documents: nodes, who holds what, the queue, and problems with their places."""

from __future__ import annotations

import json
import random
from textwrap import dedent
from typing import Any

import pytest

from closeknit.dialects import Reading, Source, read
from closeknit.hub.cluster import Holding
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName
from tests.unit.dialects.kit import TOPOLOGY, node, pod, pod_group, problems, reading

GPU = Resources({"nvidia.com/gpu": 1})


def test_a_node_is_read_with_all_that_placing_needs() -> None:
    text = """
        apiVersion: v1
        kind: Node
        metadata:
          name: n1
          labels: {zone: a}
          creationTimestamp: null
        spec:
          podCIDR: 10.0.0.0/24
          unschedulable: true
          taints:
          - {key: dedicated, value: ml, effect: NoSchedule}
          - {key: gone, effect: NoExecute, timeAdded: "2025-01-01T00:00:00Z"}
        status:
          allocatable: {cpu: 1500m, memory: 1.5Gi, nvidia.com/gpu: 8, pods: "110", hugepages-1Gi: "0.5"}
          capacity: {cpu: 2}
          nodeInfo: {}
          conditions:
          - {type: MemoryPressure, status: "False"}
          - {type: Ready, status: Unknown, reason: x}
    """

    assert reading(text).cluster.nodes == (
        Node(
            name="n1",
            labels={"zone": "a"},
            allocatable=Resources(
                {
                    "cpu": 1_500_000_000,
                    "memory": 3 * 2**29,
                    "nvidia.com/gpu": 8,
                    "pods": 110,
                    "hugepages-1Gi": 0,
                }
            ),
            taints=(Taint("dedicated", Effect.NO_SCHEDULE, "ml"), Taint("gone", Effect.NO_EXECUTE)),
            unschedulable=True,
            ready=False,
        ),
    )


def test_a_bare_node_is_ready_and_offers_its_capacity() -> None:
    text = "{apiVersion: v1, kind: Node, metadata: {name: 'n'}, status: {capacity: {cpu: 2}}}"

    assert reading(text).cluster.nodes == (Node("n", {}, Resources({"cpu": 2 * 10**9})),)


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param(
            {"status": {"allocatable": {"nvidia.com/gpu": "-8", "cpu": "lots"}}},
            [
                '1:status.allocatable["nvidia.com/gpu"]: "-8" is negative. Write zero or more.',
                '1:status.allocatable.cpu: "lots" is not a quantity. Write a number with an optional suffix'
                " (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.",
            ],
            id="quantities that are none",
        ),
        pytest.param(
            {"status": {"allocatable": {"memory": 2**63}}},
            [
                "1:status.allocatable.memory: 9223372036854775808 is too large."
                " The most that can be counted is 9223372036854775807."
            ],
            id="a quantity that overflows",
        ),
        pytest.param(
            {"status": {"allocatable": {"cpu": [1]}}},
            [
                "1:status.allocatable.cpu: Found a list where a quantity, such as 8, 500m or 1.5Gi, is expected."
            ],
            id="a list for a quantity",
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "", "effect": "noschedule"}, {"value": "x"}]}},
            [
                "1:spec.taints[1].key: This field is missing.",
                "1:spec.taints[1].effect: This field is missing.",
            ],
            id="a taint without key and effect",
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "", "effect": "noschedule"}]}},
            [
                "1:spec.taints[0].key: A taint needs a key.",
                '1:spec.taints[0].effect: "noschedule" is not known. Did you mean "NoSchedule"?'
                ' Allowed: "NoExecute", "NoSchedule", "PreferNoSchedule".',
            ],
            id="a taint with an unknown effect",
        ),
        pytest.param(
            {"metadata": {"name": "n", "labels": {"rack": 1, "zone": True}}},
            [
                "1:metadata.labels.rack: Found 1, a number, where a string is expected. Put it in quotes.",
                "1:metadata.labels.zone: Found true, a truth value, where a string is expected. Put it in quotes.",
            ],
            id="labels that are no strings",
        ),
        pytest.param(
            {"metadata": {"name": "N_1"}},
            [
                '1:metadata.name: "N_1" is not a valid name. Allowed are at most 253 lower-case letters, digits,'
                " dashes and dots, with a letter or digit at both ends of each part."
            ],
            id="a name that Kubernetes would refuse",
        ),
        pytest.param({"metadata": {}}, ["1:metadata.name: An object needs a name."], id="no name"),
        pytest.param(
            {"metadata": "n"},
            ['1:metadata: Found "n", a string, where a mapping is expected.'],
            id="no metadata",
        ),
        pytest.param(
            {"status": {"allocatible": {}}},
            ['1:status.allocatible: There is no field "allocatible" here. Did you mean "allocatable"?'],
            id="a slip of the pen in the status",
        ),
        pytest.param(
            {"spec": {"unschedulabel": True, "colour": 1}},
            [
                '1:spec.unschedulabel: There is no field "unschedulabel" here. Did you mean "unschedulable"?',
                '1:spec.colour: There is no field "colour" here. Allowed: "configSource", "externalID", "podCIDR",'
                ' "podCIDRs", "providerID", "taints", "unschedulable".',
            ],
            id="unknown fields",
        ),
    ],
)
def test_problems_of_nodes(fields: dict[str, Any], want: list[str]) -> None:
    given = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, **fields}

    assert problems(json.dumps(given)) == want


def test_two_nodes_of_one_name_are_a_problem_that_names_both_places() -> None:
    sources = [
        Source("a.yaml", node("n").encode()),
        Source("b.yaml", f"# x\n---\n{node('m')}\n---\n{node('n')}".encode()),
    ]

    assert [str(problem) for problem in read(sources).problems] == [
        'b.yaml:2:metadata.name: There is already a Node "n" in a.yaml, document 1. Remove one, or rename it.'
    ]


def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    assert problems(pod_group({}), pod_group({}, namespace="x")) == []
    assert problems(pod_group({}), pod_group({}, namespace="default")) == [
        '2:metadata.name: There is already a PodGroup "g" in f, document 1. Remove one, or rename it.'
    ]


def test_bound_and_unfinished_pods_hold_resources_for_their_workload() -> None:
    def owned(name: str, kind: str, **reference: Any) -> str:
        owners = json.dumps([{"kind": kind, "name": "o", **reference}])
        return pod(name, nodeName="n").replace(
            '"metadata": {', f'"metadata": {{"ownerReferences": {owners}, '
        )

    found = reading(
        node("n"),
        node("m"),
        pod_group({"minMember": 0}),
        pod("g1", "g", nodeName="n"),
        pod("g2", "g", nodeName="n"),
        pod("g3", "g", nodeName="m"),
        pod("g4", "g", nodeName="n", gpus=2),
        pod("g5", "g"),
        pod("g6", "g", phase="Succeeded", nodeName="n"),
        owned("r1", "ReplicaSet", controller=True),
        owned("r2", "ReplicaSet", controller=True),
        owned("x", "Thing"),
        pod("lone", nodeName="n", containers=[{"ports": [{"hostPort": 80}]}]),
    )

    assert found.problems == ()
    assert found.cluster.holdings == (
        Holding("Pod default/lone", "n", Resources(), 1, frozenset({HostPort(80)})),
        Holding("Pod default/x", "n", GPU),
        Holding("ReplicaSet default/o", "n", GPU, 2),
        Holding("default/g", "m", GPU),
        Holding("default/g", "n", GPU, 2),
        Holding("default/g", "n", GPU * 2),
    )


def test_a_pod_on_a_node_that_is_not_there_is_a_problem_unless_lenient() -> None:
    texts = (node("node-1"), pod_group({"minMember": 0}), pod("p", "g", nodeName="nod-1"))

    assert problems(*texts) == [
        '3:spec.nodeName: There is no node "nod-1". Did you mean "node-1"? Allowed: "node-1".'
    ]
    found = reading(*texts, lenient=True)
    assert found.problems == ()
    assert found.cluster.holdings == ()


def test_a_pod_on_a_node_that_cannot_be_read_is_no_mistake() -> None:
    broken = node("n").replace('"8"', "[]")

    assert len(problems(broken, pod("p", nodeName="n"))) == 1


def test_workloads_queue_by_priority_then_creation_then_name() -> None:
    def group(name: str, priority: str = "", created: str = "", namespace: str = "a") -> str:
        spec = {"priorityClassName": priority} if priority else {}
        metadata = {"creationTimestamp": created} if created else {}
        return pod_group(spec, name=name, namespace=namespace, **metadata)

    classes = """
        {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mine}, value: 110}
        ---
        {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 60, globalDefault: true}
    """
    texts = [
        group("z", namespace="a"),
        group("a", namespace="b"),
        group("later", created="2025-01-01T12:00:00Z"),
        group("sooner", created="2025-01-01T12:30:00+02:00"),
        group("train", "train"),
        group("build", "build"),
        group("mine", "mine"),
        group("inference", "inference"),
        group("semi", "build-preemptible"),
        group("critical", "system-node-critical"),
        dedent(classes),
    ]
    wanted = ["critical", "inference", "mine", "build", "semi", "sooner", "later", "z", "a", "train"]

    for seed in range(5):
        random.Random(seed).shuffle(texts)
        found = reading(*texts)
        assert found.problems == ()
        assert [workload.object.name for workload in found.workloads] == wanted


def test_a_priority_class_of_the_cluster_replaces_one_that_kai_brings() -> None:
    own = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: train}, value: 7}"
    (workload,) = reading(own, pod_group({"priorityClassName": "train"})).workloads

    assert workload.priority == 7


@pytest.mark.parametrize(
    "time", ["yesterday", "2025-01-01", "2025-01-01T00:00:00", "0001-01-01T00:00:00+14:00"]
)
def test_a_creation_time_must_be_one(time: str) -> None:
    assert problems(pod_group({}, creationTimestamp=time)) == [
        f'1:metadata.creationTimestamp: "{time}" is not a time. Write it as in 2025-01-31T12:00:00Z.'
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "[1, 2]", "1:-: Found a list where an object with apiVersion and kind is expected.", id="a list"
        ),
        pytest.param(
            "hello",
            '1:-: Found "hello", a string, where an object with apiVersion and kind is expected.',
            id="a word",
        ),
        pytest.param(
            "a: 1", '1:apiVersion: An object needs apiVersion, a string such as "v1".', id="no apiVersion"
        ),
        pytest.param(
            "apiVersion: 1", '1:apiVersion: An object needs apiVersion, a string such as "v1".', id="a number"
        ),
        pytest.param(
            "apiVersion: v1", '1:kind: An object needs kind, a string such as "Node".', id="no kind"
        ),
        pytest.param(
            "{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGrop}",
            '1:kind: There is no kind "PodGrop" in this API group. Did you mean "PodGroup"?'
            ' Allowed: "BindRequest", "PodGroup", "Queue".',
            id="a misspelt kind",
        ),
        pytest.param(
            "{apiVersion: schedulng.run.ai/v2alpha2, kind: PodGroup}",
            '1:apiVersion: There is no API group "schedulng.run.ai". Did you mean "scheduling.run.ai"?',
            id="a misspelt group",
        ),
        pytest.param(
            "{apiVersion: scheduling.run.ai/v2, kind: PodGroup}",
            '1:apiVersion: PodGroup is not read in version "v2". Did you mean "scheduling.run.ai/v2alpha2"?'
            ' Allowed: "scheduling.run.ai/v2alpha2".',
            id="another version",
        ),
        pytest.param(
            "{apiVersion: v2, kind: Pod}",
            '1:apiVersion: Pod is not read in version "v2". Allowed: "v1".',
            id="another version of the core",
        ),
    ],
)
def test_what_has_no_known_kind_is_a_problem(text: str, want: str) -> None:
    assert problems(text) == [want]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
        ("scheduling.run.ai/v1alpha2", "BindRequest"),
    ],
)
def test_kinds_of_others_are_passed_over(api_version: str, kind: str) -> None:
    found = reading(f"{{apiVersion: {api_version}, kind: {kind}, anything: [1]}}")

    assert found.problems == ()
    assert [(skipped.document, skipped.api_version, skipped.kind) for skipped in found.skipped] == [
        (1, api_version, kind)
    ]


def test_lists_are_flattened_and_paths_go_through_them() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [json.loads(node("b")), {"kind": "Node"}]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [json.loads(node("a")), inner, 5]}
    found = reading(json.dumps(outer))

    assert [one.name for one in found.cluster.nodes] == ["a", "b"]
    assert [str(problem) for problem in found.problems] == [
        'f:1:items[1].items[1].apiVersion: An object needs apiVersion, a string such as "v1".',
        "f:1:items[2]: Found 5, a number, where an object with apiVersion and kind is expected.",
    ]


def test_items_of_a_typed_list_need_not_say_what_they_are() -> None:
    items = [{"metadata": {"name": "a"}, "spec": {"nope": 1}}, {"metadata": {"name": "b"}}]
    found = reading(json.dumps({"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": items}))

    assert [one.name for one in found.cluster.nodes] == ["a", "b"]
    assert [(problem.problem.where, problem.object) for problem in found.problems] == [
        ("items[0].spec.nope", ObjectName("v1", "Node", "", "a"))
    ]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param('"kind": "List", "items": null', id="items that are null"),
        pytest.param('"kind": "List"', id="no items at all"),
        pytest.param('"kind": "NodeList", "metadata": {"resourceVersion": "1"}', id="a typed list"),
    ],
)
def test_a_list_without_items_is_empty(fields: str) -> None:
    found = reading(f'{{"apiVersion": "v1", {fields}}}')

    assert (found.problems, found.skipped) == ((), ())


def test_a_list_whose_items_are_misspelt_is_not_taken_for_an_empty_one() -> None:
    assert problems('{"apiVersion": "v1", "kind": "List", "itmes": []}') != []


def test_problems_come_in_the_order_of_the_documents() -> None:
    sources = [
        Source("b", f"{pod('p', 'nope')}\n---\n{pod_group({'minMember': -1})}".encode()),
        Source("a", f"a: b: c\n---\n{node('n').replace('8', '-8')}".encode()),
    ]

    assert [(problem.source, problem.document) for problem in read(sources).problems] == [
        ("b", 1),
        ("b", 2),
        ("a", 1),
        ("a", 2),
    ]


def test_the_order_of_documents_never_shows() -> None:
    spec = {
        "subGroups": [{"name": name, "minMember": 1} for name in "ab"],
        "topologyConstraint": {"topology": "tree"},
    }
    texts = [
        TOPOLOGY,
        TOPOLOGY.replace("name: tree", "name: other"),
        *(node(name) for name in "xyz"),
        pod_group(spec),
        pod_group({}, name="h"),
        *(pod(f"p{i}", "g", "ab"[i % 2], gpus=i % 3 + 1) for i in range(6)),
        *(pod(f"q{i}", "h", nodeName="xyz"[i % 3]) for i in range(6)),
    ]

    def shuffled(seed: int) -> Reading:
        given = [*texts]
        random.Random(seed).shuffle(given)
        return reading(*given)

    first = shuffled(0)
    assert first.problems == ()
    assert all(shuffled(seed) == first for seed in range(1, 6))


def test_nothing_is_something() -> None:
    found = read([])

    assert (found.cluster.nodes, found.workloads, found.problems, found.skipped) == ((), (), (), ())


def test_many_nodes_can_be_read() -> None:
    one = json.loads(node("n", **{"cpu": "128", "memory": "2Ti", "nvidia.com/gpu": "8", "pods": "110"}))
    items = [
        {**one, "metadata": {"name": f"n{i}", "labels": {"zone": "z", "rack": f"r{i // 16}"}}}
        for i in range(20_000)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    found = read([Source("f", text.encode())])

    assert len(found.cluster.nodes) == 20_000
    assert found.problems == ()


def test_a_second_file_of_a_kind_without_names_is_told_at_the_key_that_it_is_known_by() -> None:
    assert problems("operator: {}", "operator: {}") == [
        '2:operator: There is already a OperatorConfiguration "dynamo-operator" in f, document 1.'
        " Remove one, or rename it."
    ]


def test_objects_without_a_name_are_never_offered_as_one_that_was_meant() -> None:
    nameless = '{"apiVersion": "v1", "kind": "Node", "metadata": {}}'

    (found,) = (each for each in problems(nameless, pod("p", nodeName="nope")) if "nodeName" in each)

    assert found == '2:spec.nodeName: There is no node "nope". None is given; add it, or name none.'


def test_an_item_of_a_list_is_named_by_its_path() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(node("a"))] * 2})

    assert problems(listed) == [
        '1:items[1].metadata.name: There is already a Node "a" in f, document 1, items[0].'
        " Remove one, or rename it."
    ]
