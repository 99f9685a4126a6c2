"""The topology constraints of a PodGroup and its subgroups, with the exact path and sentence that their author reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.request import Group
from tests.unit.dialects.kit import TOPOLOGY, close, node, pod, pod_group, problems, reading


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"topologyConstraint": close("topology/rack", topology="treee")},
            [
                '2:spec.topologyConstraint.topology: Topology "treee" is not there. Did you mean "tree"? Allowed: "tree".'
            ],
            id="an unknown topology is named with the nearest one",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            {"topologyConstraint": {"requiredTopologyLevel": "topology/rack"}},
            [
                '2:spec.topologyConstraint.topology: The topology whose levels are meant is missing. Allowed: "tree".'
            ],
            id="a level without a topology says nothing",
        ),
        pytest.param(
            {"topologyConstraint": close("topology/rak", "topology/row")},
            [
                '2:spec.topologyConstraint.requiredTopologyLevel: Topology "tree" has no level "topology/rak".'
                ' Did you mean "topology/rack"? Allowed: "block", "topology/block", "topology/rack", "topology/zone".',
                '2:spec.topologyConstraint.preferredTopologyLevel: Topology "tree" has no level "topology/row".'
                ' Did you mean "topology/zone"? Allowed: "block", "topology/block", "topology/rack", "topology/zone".',
            ],
            id="an unknown level is named with the nearest one",
            marks=pytest.mark.requirement("A20"),
        ),
        pytest.param(
            {
                "topologyConstraint": close("topology/rack"),
                "subgroups": [
                    {"name": "a", "minMember": 1, "topologyConstraint": close("topology/zone")},
                ],
            },
            [
                '2:spec.subgroups[0].topologyConstraint.requiredTopologyLevel: "topology/zone" is coarser than "topology/rack",'
                " which spec.topologyConstraint.requiredTopologyLevel names."
                ' Name "topology/rack" or a finer level, or leave it out.'
            ],
            id="a child coarser than the PodGroup is refused, naming both levels",
            marks=pytest.mark.requirement("A21"),
        ),
        pytest.param(
            {
                "subGroups": [
                    {"name": "top", "topologyConstraint": close("block")},
                    {"name": "mid", "parent": "top"},
                    {
                        "name": "low",
                        "parent": "mid",
                        "minMember": 1,
                        "topologyConstraint": close("topology/zone"),
                    },
                ]
            },
            [
                '2:spec.subGroups[2].topologyConstraint.requiredTopologyLevel: "topology/zone" is coarser than "block",'
                " which spec.subGroups[0].topologyConstraint.requiredTopologyLevel names."
                ' Name "block" or a finer level, or leave it out.'
            ],
            id="a level is compared with the nearest ancestor that has one",
        ),
    ],
)
def test_refuses(spec: dict[str, Any], want: list[str]) -> None:
    assert problems(TOPOLOGY, pod_group(spec)) == want


@pytest.mark.parametrize(
    ("spec", "notes", "preferred"),
    [
        pytest.param(
            {"topologyConstraint": close("topology/rack", "topology/zone")},
            [
                'spec.topologyConstraint.preferredTopologyLevel: "topology/zone" is coarser than "topology/rack",'
                " which spec.topologyConstraint.requiredTopologyLevel requires, so preferring it changes nothing."
            ],
            {"default/g": None},
            id="coarser than the requirement says nothing",
        ),
        pytest.param(
            {
                "topologyConstraint": close(preferred="topology/rack"),
                "subGroups": [
                    {"name": "a", "minMember": 1, "topologyConstraint": close(preferred="block")},
                    {"name": "b", "minMember": 1, "topologyConstraint": close("topology/zone")},
                ],
            },
            [
                'spec.subGroups[0].topologyConstraint.preferredTopologyLevel: "block" is coarser than'
                ' "topology/rack", which spec.topologyConstraint.preferredTopologyLevel prefers.'
                ' It counts only where "topology/rack" cannot be had.'
            ],
            {"default/g": "topology/rack", "a": "topology/block", "b": None},
            id="coarser than the preference above counts where that cannot be had",
            marks=pytest.mark.requirement("A19"),
        ),
        pytest.param(
            {
                "topologyConstraint": close("topology/rack"),
                "subGroups": [{"name": "a", "minMember": 1, "topologyConstraint": close(preferred="block")}],
            },
            [
                'spec.subGroups[0].topologyConstraint.preferredTopologyLevel: "block" is coarser than'
                ' "topology/rack", which spec.topologyConstraint.requiredTopologyLevel requires,'
                " so preferring it changes nothing."
            ],
            {"default/g": None, "a": None},
            id="coarser than the requirement above says nothing",
        ),
    ],
)
def test_a_preference_is_never_refused_but_noted_where_it_is(
    spec: dict[str, Any], notes: list[str], preferred: dict[str, str | None]
) -> None:
    found = reading(TOPOLOGY, pod_group(spec))

    assert found.problems == ()
    (workload,) = found.workloads
    assert [str(note) for note in workload.notes] == notes
    assert workload.request is not None
    groups = (member for member, _ in workload.request.root.walk() if isinstance(member, Group))
    assert {group.name: group.preferred for group in groups} == preferred


@pytest.mark.requirement("A22")
def test_a_second_topology_is_a_problem_that_names_both() -> None:
    other = TOPOLOGY.replace("name: tree", "name: other")
    spec = {
        "topologyConstraint": close("topology/zone"),
        "subGroups": [
            {"name": "a", "minMember": 1, "topologyConstraint": close("topology/rack", topology="other")},
            {"name": "b", "minMember": 1, "topologyConstraint": close("topology/rack", topology="gone")},
        ],
    }

    assert problems(TOPOLOGY, other, pod_group(spec)) == [
        '3:spec.subGroups[0].topologyConstraint.topology: "other" is not "tree",'
        " which spec.topologyConstraint.topology names. A PodGroup can speak of several only where their levels nest into one tree.",
        '3:spec.subGroups[1].topologyConstraint.topology: "gone" is not "tree",'
        " which spec.topologyConstraint.topology names. A PodGroup can speak of several only where their levels nest into one tree.",
        '3:spec.subGroups[1].topologyConstraint.topology: Topology "gone" is not there. Allowed: "other", "tree".',
    ]


def test_an_unknown_topology_is_told_once_where_it_is_first_named() -> None:
    spec = {
        "subGroups": [
            {"name": name, "minMember": 1, "topologyConstraint": close("x", topology="gone")} for name in "ab"
        ]
    }

    assert problems(pod_group(spec)) == [
        '1:spec.subGroups[0].topologyConstraint.topology: Topology "gone" is not there. None is given; add it, or name none.'
    ]


@pytest.mark.parametrize("broken", ["levels: []", "levels: 5"])
def test_a_topology_with_problems_of_its_own_is_not_called_missing(broken: str) -> None:
    topology = TOPOLOGY.partition("spec:")[0] + f"spec: {{{broken}}}"

    assert problems(topology, pod_group({"topologyConstraint": close("topology/rack")}))[1:] == [
        '2:spec.topologyConstraint.topology: Topology "tree" has problems of its own. Correct them first.'
    ]


@pytest.mark.parametrize(
    ("racks", "nests"),
    [
        pytest.param(
            {"a": ("z1", "r1"), "b": ("z1", "r2"), "c": ("z2", "r3")}, True, id="racks within zones"
        ),
        pytest.param(
            {"a": ("z1", "r1"), "b": ("z2", "r1"), "c": ("z2", "r2")}, False, id="racks across zones"
        ),
        pytest.param({}, True, id="no node that says otherwise"),
    ],
)
def test_topologies_whose_levels_nest_are_one_tree(racks: dict[str, tuple[str, str]], nests: bool) -> None:
    def layout(name: str, label: str) -> str:
        levels = [{"nodeLabel": label, "alias": "domain"}, {"nodeLabel": "kubernetes.io/hostname"}]
        body = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": name}}
        return json.dumps({**body, "spec": {"levels": levels}})

    nodes = []
    for name, (zone, rack) in racks.items():
        made = json.loads(node(name))
        made["metadata"]["labels"] = {"zone": zone, "rack": rack, "kubernetes.io/hostname": name}
        nodes.append(json.dumps(made))
    parts = [
        {"name": "a", "minMember": 1, "topologyConstraint": close("domain", topology="zones")},
        {"name": "b", "minMember": 1, "topologyConstraint": close("domain", topology="racks")},
    ]
    texts = (layout("zones", "zone"), layout("racks", "rack"), *nodes, pod_group({"subGroups": parts}))
    found = reading(*texts)

    assert bool(found.problems) != nests
    if nests:
        (joint,) = (each for each in found.cluster.topologies if each.name == "racks+zones")
        assert set(joint.labels) == {"zone", "rack", "kubernetes.io/hostname"}
        assert joint.labels.index("zone") < joint.labels.index("rack") or not racks
        (workload,) = found.workloads
        assert workload.request is not None
        groups = (member for member, _ in workload.request.root.walk() if isinstance(member, Group))
        assert {group.name: group.required for group in groups} == {
            "default/g": None,
            "a": "zone",
            "b": "rack",
        }


@pytest.mark.parametrize(("rack", "notes"), [("r1", 0), ("r2", 1)], ids=["one rack", "two racks"])
def test_running_pods_that_break_a_level_are_named(rack: str, notes: int) -> None:
    nodes = []
    for name, of in (("a", "r1"), ("b", rack)):
        made = json.loads(node(name))
        made["metadata"]["labels"] = {"topology/zone": "z", "topology/block": "b", "topology/rack": of}
        nodes.append(json.dumps(made))
    group = pod_group({"minMember": 3, "topologyConstraint": close("topology/rack")})
    running = (pod("x", "g", nodeName="a"), pod("y", "g", nodeName="b"))

    (workload,) = reading(TOPOLOGY, *nodes, group, *running, pod("w", "g")).workloads

    assert [str(note) for note in workload.notes] == [
        'spec.topologyConstraint: Its running pods lie in several domains of "topology/rack", which it requires:'
        " x in z/b/r1, y in z/b/r2. No further pod can join them all."
    ][:notes]
