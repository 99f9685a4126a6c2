"""Nodes as placing needs them, and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.resources import Resources
from tests.unit.dialects.kit import problems, reading


@pytest.mark.requirement("K61")
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
