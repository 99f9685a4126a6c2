"""The topology constraints of a PodGroup and its subgroups, with the path and the facts that their author reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.request import Group
from closeknit.hub.sentences import core, kai
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.expected import unknown_level
from tests.unit.dialects.kit import TOPOLOGY, close, node, pod, pod_group, reading, reported


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"topologyConstraint": close("topology/rack", topology="treee")},
            [
                finding(
                    kai.TOPOLOGY_NOT_THERE,
                    "2:spec.topologyConstraint.topology",
                    topology="treee",
                    allowed=OneOf("treee", ("tree",)),
                )
            ],
            id="an unknown topology is named with the nearest one",
            marks=pytest.mark.requirement("A15"),
        ),
        pytest.param(
            {"topologyConstraint": {"requiredTopologyLevel": "topology/rack"}},
            [
                finding(
                    core.TOPOLOGY_MISSING, "2:spec.topologyConstraint.topology", allowed=OneOf("", ("tree",))
                )
            ],
            id="a level without a topology says nothing",
        ),
        pytest.param(
            {"topologyConstraint": close("topology/rak", "topology/row")},
            [
                unknown_level("2:spec.topologyConstraint.requiredTopologyLevel", "topology/rak"),
                unknown_level("2:spec.topologyConstraint.preferredTopologyLevel", "topology/row"),
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
                finding(
                    core.COARSER_LEVEL,
                    "2:spec.subgroups[0].topologyConstraint.requiredTopologyLevel",
                    level="topology/zone",
                    bound="topology/rack",
                    field=Field(("spec", "topologyConstraint", "requiredTopologyLevel")),
                    called="level",
                )
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
                finding(
                    core.COARSER_LEVEL,
                    "2:spec.subGroups[2].topologyConstraint.requiredTopologyLevel",
                    level="topology/zone",
                    bound="block",
                    field=Field(("spec", "subGroups", 0, "topologyConstraint", "requiredTopologyLevel")),
                    called="level",
                )
            ],
            id="a level is compared with the nearest ancestor that has one",
        ),
    ],
)
def test_refuses(spec: dict[str, Any], want: list[Finding]) -> None:
    assert reported(TOPOLOGY, pod_group(spec)) == want


@pytest.mark.parametrize(
    ("spec", "notes", "preferred"),
    [
        pytest.param(
            {"topologyConstraint": close("topology/rack", "topology/zone")},
            [
                finding(
                    core.PREFERENCE_SAYS_NOTHING,
                    "spec.topologyConstraint.preferredTopologyLevel",
                    level="topology/zone",
                    bound="topology/rack",
                    field=Field(("spec", "topologyConstraint", "requiredTopologyLevel")),
                )
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
                finding(
                    core.PREFERENCE_COARSER,
                    "spec.subGroups[0].topologyConstraint.preferredTopologyLevel",
                    level="block",
                    bound="topology/rack",
                    field=Field(("spec", "topologyConstraint", "preferredTopologyLevel")),
                )
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
                finding(
                    core.PREFERENCE_SAYS_NOTHING,
                    "spec.subGroups[0].topologyConstraint.preferredTopologyLevel",
                    level="block",
                    bound="topology/rack",
                    field=Field(("spec", "topologyConstraint", "requiredTopologyLevel")),
                )
            ],
            {"default/g": None, "a": None},
            id="coarser than the requirement above says nothing",
        ),
    ],
)
def test_a_preference_is_never_refused_but_noted_where_it_is(
    spec: dict[str, Any], notes: list[Finding], preferred: dict[str, str | None]
) -> None:
    found = reading(TOPOLOGY, pod_group(spec))

    assert found.problems == ()
    (workload,) = found.workloads
    assert findings(workload.notes) == notes
    assert isinstance(workload, PlaceableWorkload)
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

    assert reported(TOPOLOGY, other, pod_group(spec)) == [
        finding(
            kai.TWO_TOPOLOGIES,
            "3:spec.subGroups[0].topologyConstraint.topology",
            topology="other",
            other="tree",
            field=Field(("spec", "topologyConstraint", "topology")),
        ),
        finding(
            kai.TWO_TOPOLOGIES,
            "3:spec.subGroups[1].topologyConstraint.topology",
            topology="gone",
            other="tree",
            field=Field(("spec", "topologyConstraint", "topology")),
        ),
        finding(
            kai.TOPOLOGY_NOT_THERE,
            "3:spec.subGroups[1].topologyConstraint.topology",
            topology="gone",
            allowed=OneOf("gone", ("other", "tree")),
        ),
    ]


def test_an_unknown_topology_is_told_once_where_it_is_first_named() -> None:
    spec = {
        "subGroups": [
            {"name": name, "minMember": 1, "topologyConstraint": close("x", topology="gone")} for name in "ab"
        ]
    }

    assert reported(pod_group(spec)) == [
        finding(
            kai.TOPOLOGY_NOT_THERE,
            "1:spec.subGroups[0].topologyConstraint.topology",
            topology="gone",
            allowed=OneOf("gone", ()),
        )
    ]


@pytest.mark.parametrize("broken", ["levels: []", "levels: 5"])
def test_a_topology_with_problems_of_its_own_is_not_called_missing(broken: str) -> None:
    topology = TOPOLOGY.partition("spec:")[0] + f"spec: {{{broken}}}"

    assert reported(topology, pod_group({"topologyConstraint": close("topology/rack")}))[1:] == [
        finding(core.HAS_PROBLEMS, "2:spec.topologyConstraint.topology", kind="Topology", name="tree")
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
        assert isinstance(workload, PlaceableWorkload)
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

    assert (
        findings(workload.notes)
        == [
            finding(
                kai.RUNNING_APART,
                "spec.topologyConstraint",
                level="topology/rack",
                pods="x in z/b/r1, y in z/b/r2",
            )
        ][:notes]
    )
