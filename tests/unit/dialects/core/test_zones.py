"""A level below hosts: nodes are left out of which no NUMA zone has room, as far as zones are in sight."""

from __future__ import annotations

import json

import pytest

from closeknit.hub.outcome import Unplaceable
from tests.unit.dialects.grove.sets import LEVELS, clique, pod_clique_set, topology
from tests.unit.dialects.kit import reading
from tests.unit.dialects.verdicts import decided, nodes_of

GPU = "nvidia.com/gpu"
TREE = topology({**LEVELS, "numa": "example.com/numa"})
PAIR = pod_clique_set(clique("a", 2, domain="numa"))


def node(name: str, gpus: int = 8) -> str:
    labels = dict.fromkeys(LEVELS.values(), name)
    allocatable = {GPU: gpus, "pods": 110}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": allocatable},
        }
    )


def zones(name: str, *gpus: int, kind: str = "Node", counted: str = "available") -> str:
    """What each zone of a node has left."""
    made = [
        {"name": f"node-{i}", "type": kind, "resources": [{"name": GPU, "capacity": 8, counted: str(left)}]}
        for i, left in enumerate(gpus)
    ]
    head = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}
    return json.dumps({**head, "metadata": {"name": name}, "zones": made})


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param([zones("n1", 1, 1), zones("n2", 0, 2)], {"n2"}, id="one zone must have room for all"),
        pytest.param([zones("n1", 1, 1)], {"n2"}, id="a node without zones in sight is taken as it is"),
        pytest.param(
            [zones("n2", 1, 1, counted="allocatable")], {"n1"}, id="where nobody counts, all that a zone has"
        ),
        pytest.param([zones("n1", 1, 1, kind="Cache"), zones("n2", 1)], {"n1"}, id="other zones are none"),
    ],
)
def test_the_node_has_a_zone_with_room(given: list[str], want: set[str]) -> None:
    verdicts = decided(TREE, node("n1"), node("n2"), *given, PAIR)

    assert nodes_of(verdicts["pcs"]) == want


def test_without_a_zone_with_room_it_is_not_placed() -> None:
    verdicts = decided(TREE, node("n1"), zones("n1", 1, 1), PAIR)

    assert isinstance(verdicts["pcs"].outcome, Unplaceable)


def test_zones_do_not_matter_to_who_asks_for_a_host() -> None:
    verdicts = decided(TREE, node("n1"), zones("n1", 1, 1), pod_clique_set(clique("a", 2, domain="host")))

    assert nodes_of(verdicts["pcs"]) == {"n1"}


def test_the_note_says_who_keeps_the_level() -> None:
    (workload,) = reading(TREE, node("n1"), zones("n1", 2), PAIR).workloads

    assert [note.code.name for note in workload.notes] == ["kept-by-kubelets"]
