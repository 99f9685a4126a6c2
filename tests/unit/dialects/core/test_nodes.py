"""Nodes as placing needs them, and what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.problems import Meant
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core, hub, wire
from tests.kit.problems import Finding, finding
from tests.unit.dialects.expected import (
    IN_QUOTES,
    MOST,
    misspelt,
    unknown_choice,
    with_suggestions,
    wrong_type,
)
from tests.unit.dialects.kit import reading, reported


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
                finding(hub.NEGATIVE, '1:status.allocatable["nvidia.com/gpu"]', value="-8"),
                finding(hub.UNKNOWN_SUFFIX, "1:status.allocatable.cpu", value="lots"),
            ],
            id="quantities that are none",
        ),
        pytest.param(
            {"status": {"allocatable": {"memory": 2**63}}},
            [
                finding(
                    hub.TOO_LARGE,
                    "1:status.allocatable.memory",
                    value=2**63,
                    most=MOST,
                )
            ],
            id="a quantity that overflows",
        ),
        pytest.param(
            {"status": {"allocatable": {"cpu": [1]}}},
            [wrong_type("1:status.allocatable.cpu", "a list", "a quantity, such as 8, 500m or 1.5Gi,")],
            id="a list for a quantity",
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "", "effect": "noschedule"}, {"value": "x"}]}},
            [
                finding(wire.MISSING_FIELD, "1:spec.taints[1].key"),
                finding(wire.MISSING_FIELD, "1:spec.taints[1].effect"),
            ],
            id="a taint without key and effect",
        ),
        pytest.param(
            {"spec": {"taints": [{"key": "", "effect": "noschedule"}]}},
            [
                finding(core.TAINT_WITHOUT_KEY, "1:spec.taints[0].key"),
                unknown_choice(
                    "1:spec.taints[0].effect", "noschedule", ("NoExecute", "NoSchedule", "PreferNoSchedule")
                ),
            ],
            id="a taint with an unknown effect",
        ),
        pytest.param(
            {"metadata": {"name": "n", "labels": {"rack": 1, "zone": True}}},
            [
                wrong_type("1:metadata.labels.rack", "1, a number,", "a string", IN_QUOTES),
                wrong_type("1:metadata.labels.zone", "true, a truth value,", "a string", IN_QUOTES),
            ],
            id="labels that are no strings",
        ),
        pytest.param(
            {"metadata": {"name": "N_1"}},
            [finding(wire.INVALID_NAME, "1:metadata.name", name="N_1")],
            id="a name that Kubernetes would refuse",
        ),
        pytest.param({"metadata": {}}, [finding(wire.NAMELESS, "1:metadata.name")], id="no name"),
        pytest.param(
            {"metadata": "n"},
            [wrong_type("1:metadata", '"n", a string,', "a mapping")],
            id="no metadata",
        ),
        pytest.param(
            {"status": {"allocatible": {}}},
            [misspelt("1:status.allocatible", "allocatible", "allocatable")],
            id="a slip of the pen in the status",
        ),
        pytest.param(
            {"spec": {"unschedulabel": True, "colour": 1}},
            [
                misspelt("1:spec.unschedulabel", "unschedulabel", "unschedulable"),
                finding(
                    wire.UNKNOWN_FIELD,
                    "1:spec.colour",
                    field="colour",
                    remedy=Meant(
                        "colour",
                        (
                            "configSource",
                            "externalID",
                            "podCIDR",
                            "podCIDRs",
                            "providerID",
                            "taints",
                            "unschedulable",
                        ),
                    ),
                ),
            ],
            id="unknown fields",
        ),
    ],
)
def test_problems_of_nodes(fields: dict[str, Any], want: list[Finding]) -> None:
    given = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, **fields}

    assert with_suggestions(reported(json.dumps(given))) == want
