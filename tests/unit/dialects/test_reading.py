"""A mixed bag of documents: who holds what, the queue, and the order of problems."""

from __future__ import annotations

import json
import random
from textwrap import dedent
from typing import Any

import pytest

from closeknit.dialects import Reading, Source, read
from closeknit.hub.cluster import Holding
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core
from tests.kit.common_problems import not_found
from tests.kit.problems import finding
from tests.unit.dialects.kit import TOPOLOGY, held, node, pod, pod_group, reading, reported

GPU = Resources({"nvidia.com/gpu": 1})


@pytest.mark.requirement("K67", "K68")
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
    assert tuple(held(found)) == (
        Holding("Pod default/lone", "n", Resources(), 1, frozenset({HostPort(80)})),
        Holding("Pod default/x", "n", GPU),
        Holding("ReplicaSet default/o", "n", GPU, 2),
        Holding("default/g", "m", GPU),
        Holding("default/g", "n", GPU, 2),
        Holding("default/g", "n", GPU * 2),
    )


def test_a_pod_on_a_node_that_is_not_there_is_a_problem_unless_lenient() -> None:
    texts = (node("node-1"), pod_group({"minMember": 0}), pod("p", "g", nodeName="nod-1"))

    assert reported(*texts) == [not_found("3:spec.nodeName", "node", "nod-1", "node-1")]
    found = reading(*texts, lenient=True)
    assert found.problems == ()
    assert tuple(held(found)) == ()


def test_a_pod_on_a_node_that_cannot_be_read_is_no_mistake() -> None:
    broken = node("n").replace('"8"', "[]")

    assert len(reported(broken, pod("p", nodeName="n"))) == 1


@pytest.mark.requirement("A44", "K78")
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
    assert reported(pod_group({}, creationTimestamp=time)) == [
        finding(core.NOT_A_TIME, "1:metadata.creationTimestamp", value=time)
    ]


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


@pytest.mark.requirement("A56")
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
