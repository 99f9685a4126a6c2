"""Pods that share a claim to devices share a node."""

from __future__ import annotations

import pytest

from closeknit.hub.sentences import claims
from tests.filters.cases import Object, node, pod
from tests.filters.claims import GPUS, claim, claiming, device, request, resource_slice
from tests.kit.problems import finding
from tests.unit.dialects.core.planned import TOPOLOGY, notes, placed


def test_pods_of_a_group_that_share_a_claim_share_a_node_and_its_devices() -> None:
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 3, "topologyConstraint": {"topology": "tree", "requiredTopologyLevel": "rack"}},
    }
    nodes = [node(name, labels={"rack": "r"}) for name in "abc"]
    slices = [resource_slice("b", [device("0"), device("1")]), resource_slice("c", [device("0")])]
    pods = [pod(f"p{i}", claiming("both"), annotations={"pod-group-name": "g"}) for i in range(3)]
    both = claim("both", request("gpus", 2))

    found = placed(TOPOLOGY, *nodes, GPUS, both, *slices, group, *pods)

    assert found == {"p0": "b", "p1": "b", "p2": "b"}


def sharing(least: int, *levels: str, of: dict[str, int]) -> list[Object]:
    """A PodGroup whose subgroups have so many pods each, all of which share claim both."""
    levels_of = [{"nodeLabel": each} for each in levels]
    topology = {**TOPOLOGY, "spec": {"levels": levels_of}}
    together = {"topology": "tree", "requiredTopologyLevel": "rack"}
    subgroups = [{"name": name, "minMember": max(count, 1)} for name, count in of.items()]
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minSubGroup": least, "topologyConstraint": together, "subGroups": subgroups},
    }
    made = [
        pod(f"{name}{i}", claiming("both"), annotations={"pod-group-name": "g"})
        for name, count in of.items()
        for i in range(count)
    ]
    for each in made:
        each["metadata"]["labels"] = {"kai.scheduler/subgroup-name": each["metadata"]["name"][:-1]}
    nodes = [node(name, labels={"rack": "r"}) for name in "abc"]
    slices = [resource_slice("b", [device("0"), device("1")]), resource_slice("c", [device("0")])]
    return [topology, *nodes, GPUS, claim("both", request("gpus", 2)), *slices, group, *made]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(
            sharing(2, "rack", "kubernetes.io/hostname", of={"left": 2, "right": 2}),
            id="pods of several groups",
        ),
        pytest.param(sharing(1, "rack", of={"left": 3}), id="pods of a topology without hosts"),
        pytest.param(
            sharing(2, "rack", of={"left": 1, "right": 3}), id="pods of several groups and no level of hosts"
        ),
    ],
)
def test_pods_that_share_a_claim_share_a_node_whatever_groups_they_are_in(objects: list[Object]) -> None:
    assert notes(*objects) == []
    found = placed(*objects)

    assert set(found.values()) == {"b"}
    assert len(found) == sum(each["kind"] == "Pod" for each in objects)


def test_pods_that_share_a_claim_and_need_not_run_are_told_of() -> None:
    assert notes(*sharing(1, "rack", of={"left": 1, "right": 1})) == [
        finding(claims.SHARED_ACROSS_GROUPS, name="both")
    ]
