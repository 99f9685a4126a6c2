"""The judges' own reading of the semantics, against numbers worked out by hand."""

from __future__ import annotations

import itertools

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.nodes import Effect, Node, NodeFilter, Operator, Requirement, Taint, Term, Toleration
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import HostPort, PodSet, Request
from closeknit.hub.topology import Level, Topology
from closeknit.testing.builders import group, pods, request
from closeknit.testing.drawings import free, outline, parse
from closeknit.testing.meaning import broken, order, wishes_of
from closeknit.testing.scene import Scene, Spread, accepts

CLUSTER = parse("""
    z1
      b1
        r1
          x1: 4
          x2: 4
        r2
          x3: 4
      b2
        r1
          x4: 4
      x5: 4
      x6: 4
    z2
      b1
        r1
          x7: 4
    x8: 4
    x9: 4
""")


def asked(preferred: str | None) -> Request:
    return request("train", pods("a", 4, minimum=0), preferred=preferred)


@pytest.mark.parametrize(
    ("preferred", "spread", "wishes"),
    [
        pytest.param(
            "rack",
            {"x1": 2, "x2": 2},
            Wishes(0, (0, 0, 0), (1, 1, 1), 0, 8, (2,)),
            id="the preferred level is shared",
        ),
        pytest.param(
            "block",
            {"x1": 4},
            Wishes(0, (0, 0, 0), (1, 1), 0, 12, (1, 1)),
            id="sharing a finer level shares the preferred",
        ),
        pytest.param(
            "rack",
            {"x1": 2, "x3": 2},
            Wishes(0, (0, 0, 1), (1, 1, 2), 0, 12, (2,)),
            id="one level coarser costs one",
        ),
        pytest.param(
            "rack",
            {"x1": 2, "x4": 1},
            Wishes(1, (0, 0, 2), (1, 2, 2), 0, 12, (2,)),
            id="racks of one name are two racks",
        ),
        pytest.param(
            "block",
            {"x1": 1, "x4": 1},
            Wishes(2, (0, 1, 0), (1, 2), 0, 16, (2, 2)),
            id="counted from the preferred level",
        ),
        pytest.param(
            "rack",
            {"x1": 1, "x3": 1, "x7": 1},
            Wishes(1, (0, 0, 6), (2, 2, 3), 0, 16, (3,)),
            id="where nothing is shared, all levels and the number of domains of the preferred one",
        ),
        pytest.param(
            "zone",
            {"x1": 1, "x7": 1},
            Wishes(2, (3, 0, 0), (2,), 0, 28, (2, 2, 2)),
            id="two zones where one is preferred",
        ),
        pytest.param(
            "block",
            {"x5": 1, "x6": 1},
            Wishes(2, (0, 1, 0), (1, 2), 0, 8, (2, 2)),
            id="nodes without a label count as a domain each, and share what they have labels for",
        ),
        pytest.param(
            "rack",
            {"x5": 4},
            Wishes(0, (0, 0, 2), (1, 1, 1), 0, 4, (1,)),
            id="one node without a label shares no rack",
        ),
        pytest.param(
            "rack",
            {"x8": 2, "x9": 2},
            Wishes(0, (0, 0, 5), (2, 2, 2), 0, 8, (2,)),
            id="nodes outside the tree are domains by themselves at every level",
        ),
        pytest.param(
            "zone",
            {"x8": 4},
            Wishes(0, (2, 0, 0), (1,), 0, 4, (1, 1, 1)),
            id="one node outside the tree shares none",
        ),
        pytest.param("rack", {}, Wishes(4, (0, 0, 0), (0, 0, 0), 0, 0, (0,)), id="no pod has no distance"),
        pytest.param(
            None,
            {"x1": 1, "x7": 1},
            Wishes(2, (0, 0, 0), (2, 2, 2), 0, 12, (2,)),
            id="no preference, no distance",
        ),
    ],
)
def test_wishes_of_one_group(preferred: str | None, spread: dict[str, int], wishes: Wishes) -> None:
    assert wishes_of(Scene.of(CLUSTER, asked(preferred)), {"a": spread}) == wishes


def test_distances_of_groups_that_prefer_one_level_add_up_and_running_pods_count() -> None:
    tree = request(
        "train",
        group("g", pods("a", 2, bound=["x1"]), preferred="rack"),
        group("h", pods("b", 2), preferred="rack"),
        preferred="block",
    )

    assert wishes_of(Scene.of(CLUSTER, tree), {"a": {"x3": 1}, "b": {"x3": 1, "x4": 1}}) == Wishes(
        0, (0, 1, 3), (1, 2, 3), 0, 16, (3,)
    )


def test_who_names_no_topology_is_seen_along_the_only_one() -> None:
    plain, named = request("train", pods("a", 2), topology=None), request("train", pods("a", 2))
    spread = {"a": {"x1": 1, "x8": 1}}

    assert wishes_of(Scene.of(CLUSTER, plain), spread) == wishes_of(Scene.of(CLUSTER, named), spread)


@pytest.mark.parametrize(
    "topologies",
    [
        pytest.param((), id="without a topology"),
        pytest.param((*CLUSTER.topologies, Topology("a", (Level("row"),))), id="beside another layout"),
        pytest.param(
            (*CLUSTER.topologies, Topology("a", CLUSTER.topologies[0].levels[::-1])),
            id="beside the same levels in another order",
        ),
    ],
)
def test_where_no_layout_covers_all_only_nodes_are_counted(topologies: tuple[Topology, ...]) -> None:
    plain = request("train", pods("a", 2), topology=None)
    scene = Scene.of(replace(CLUSTER, topologies=topologies), plain)

    assert wishes_of(scene, {"a": {"x1": 1, "x8": 1}}) == Wishes(0, (), (2,), 0, 8)


def test_wishes_compare_from_the_top() -> None:
    vectors = [
        Wishes(0, (0, 9), (9, 9)),
        Wishes(0, (1, 0), (1, 1)),
        Wishes(0, (1, 0), (1, 2)),
        Wishes(1, (0, 0), (1, 1)),
    ]

    assert all(order(left) < order(right) for left, right in itertools.pairwise(vectors))


TREE = request(
    "train",
    group("g", pods("a", 2, minimum=1), pods("b", 2), required="rack", minimum=1),
    group("h", pods("c", 1), minimum=0),
    minimum=1,
)


@pytest.mark.parametrize(
    ("spread", "sentences"),
    [
        pytest.param({"a": {"x1": 1}}, [], id="one of two members is enough where one is the minimum"),
        pytest.param({"a": {"x1": 1}, "b": {"x2": 2}, "c": {"x7": 1}}, [], id="all of them may come"),
        pytest.param({}, [], id="a member with a minimum of nothing is formed by nothing"),
        pytest.param(
            {"b": {"x1": 1}},
            [
                "pod set b gets 1 new pods, but b is not formed",
                "pod set b gets 1 new pods, but g is not formed",
            ],
            id="half a pod set is not placed",
        ),
        pytest.param(
            {"a": {"x1": 1, "x3": 1}},
            ["group g must share one rack, but uses x1, x3"],
            id="a required level is kept by all pods",
        ),
        pytest.param(
            {"a": {"x5": 1}},
            ["group g must share one rack, but uses x5"],
            id="a node without the label is in no rack",
        ),
        pytest.param(
            {"a": {"x1": 3}},
            ["pod set a gets 3 new pods, but only 2 are open"],
            id="more pods than there are",
        ),
        pytest.param({"d": {"x1": 1}}, ["pod set d is not in the request"], id="pods nobody asked for"),
        pytest.param({"a": {"x1": 2, "x2": -1}}, ["pod set a gets -1 pods on x2"], id="less than no pods"),
        pytest.param(
            {"a": {"y1": 1}},
            ["pod set a is placed on y1, which does not exist"],
            id="a node that is not there",
        ),
    ],
)
def test_rules_about_numbers_and_levels(spread: Spread, sentences: list[str]) -> None:
    if spread == {"a": {"y1": 1}}:
        tree = request("train", *TREE.root.members[1:], pods("a", 1))
    else:
        tree = TREE

    assert list(broken(Scene.of(CLUSTER, tree), spread)) == sentences


def port_at(name: str, address: str) -> PodSet:
    return replace(pods(name, 1), host_ports=frozenset([HostPort(80, "TCP", address)]))


@pytest.mark.parametrize(
    ("drawing", "members", "spread", "sentences"),
    [
        pytest.param(
            "x1: 4 used=3",
            [pods("a", 2)],
            {"a": {"x1": 2}},
            ["node x1 has 1 of nvidia.com/gpu, but 2 are placed"],
            id="what others hold is taken",
        ),
        pytest.param(
            "x1: 4 cpu=1",
            [pods("a", 1, cpu="600m"), pods("b", 1, cpu="600m")],
            {"a": {"x1": 1}, "b": {"x1": 1}},
            ["node x1 has 1000000000 of cpu, but 1200000000 are placed"],
            id="pod sets share a node's resources",
        ),
        pytest.param(
            "x1: 4 pods=2 used=1",
            [pods("a", 2)],
            {"a": {"x1": 2}},
            ["node x1 has 1 of pods, but 2 are placed"],
            id="pods are counted where a node lists them",
        ),
        pytest.param(
            "x1: 9",
            [pods("a", 2, ports=[80])],
            {"a": {"x1": 2}},
            ["port 80/TCP of node x1 is used 2 times"],
            id="pods of one set do not share a port",
        ),
        pytest.param(
            "x1: 9 used=1:other:port=80/TCP",
            [pods("a", 1, ports=[80])],
            {"a": {"x1": 1}},
            ["port 80/TCP of node x1 is used 2 times"],
            id="a port that another workload holds is taken",
        ),
        pytest.param(
            "x1: 9 used=1:other:port=80/UDP",
            [pods("a", 1, ports=[80])],
            {"a": {"x1": 1}},
            [],
            id="a port of another protocol is another port",
        ),
        pytest.param(
            "x1: 9",
            [port_at("a", "10.0.0.1"), port_at("b", "10.0.0.2")],
            {"a": {"x1": 1}, "b": {"x1": 1}},
            [],
            id="a port of another address is another port",
        ),
        pytest.param(
            "x1: 9 used=1:other:port=80/TCP",
            [port_at("a", "10.0.0.1"), port_at("b", "10.0.0.2")],
            {"a": {"x1": 1}, "b": {"x1": 1}},
            [
                f"port {HostPort(80, 'TCP', '10.0.0.1')} of node x1 is used 2 times",
                f"port {HostPort(80, 'TCP', '10.0.0.2')} of node x1 is used 2 times",
            ],
            id="a port of all addresses is that of each",
        ),
        pytest.param(
            "x1: 4",
            [pods("a", 1, resources={"example.com/nic": 1})],
            {"a": {"x1": 1}},
            ["node x1 has 0 of example.com/nic, but 1 are placed"],
            id="a resource that a node does not list is not there",
        ),
        pytest.param(
            "x1: 4 not-ready",
            [pods("a", 1)],
            {"a": {"x1": 1}},
            ["node x1 does not take pods of a"],
            id="a node that is not ready takes nothing",
        ),
        pytest.param(
            "x1: 4 not-ready used=1:train",
            [pods("a", 1, bound=["x1"])],
            {},
            [],
            id="pods that run already are not asked where they run",
        ),
    ],
)
def test_rules_about_nodes(drawing: str, members: list[PodSet], spread: Spread, sentences: list[str]) -> None:
    scene = Scene.of(parse(drawing), request("train", *members))

    assert list(broken(scene, spread)) == sentences


def test_running_pods_that_break_a_requirement_break_it_for_good() -> None:
    tree = request(
        "train", group("g", pods("a", 4, bound=["x1", "x3"]), required="rack", minimum=0), minimum=0
    )

    assert list(broken(Scene.of(CLUSTER, tree), {})) == ["group g must share one rack, but uses x1, x3"]


NODE = Node("x1", {"gpu": "h100"}, taints=(Taint("dedicated", Effect.NO_EXECUTE, "ml"),))
TOLERANT = (Toleration("dedicated"),)
EXISTS = Requirement("gpu", Operator.EXISTS)
NAMED = Requirement("metadata.name", Operator.IN, ("x1",))
ELSEWHERE = Requirement("gpu", Operator.IN, ("a100",))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(NodeFilter(), False, id="a taint keeps pods away"),
        pytest.param(NodeFilter(tolerations=TOLERANT), True, id="unless they tolerate it"),
        pytest.param(NodeFilter((("gpu", "a100"),), tolerations=TOLERANT), False, id="another label value"),
        pytest.param(NodeFilter((("gpu", "h100"),), tolerations=TOLERANT), True, id="the label selected"),
        pytest.param(NodeFilter(affinity=(), tolerations=TOLERANT), False, id="no term is no match"),
        pytest.param(
            NodeFilter(affinity=(Term(()),), tolerations=TOLERANT), False, id="an empty term is no match"
        ),
        pytest.param(
            NodeFilter(affinity=(Term(()), Term((EXISTS,))), tolerations=TOLERANT),
            True,
            id="one term is enough",
        ),
        pytest.param(
            NodeFilter(affinity=(Term((EXISTS, ELSEWHERE)),), tolerations=TOLERANT),
            False,
            id="all requirements of a term must hold",
        ),
        pytest.param(
            NodeFilter(affinity=(Term((NAMED,)),), tolerations=TOLERANT), True, id="a node by its name"
        ),
    ],
)
def test_filters(wanted: NodeFilter, expected: bool) -> None:
    assert accepts(NODE, PodSet("a", 1, filter=wanted)) is expected


def test_a_taint_that_only_discourages_keeps_nobody_away() -> None:
    node = Node("x1", taints=(Taint("busy", Effect.PREFER_NO_SCHEDULE),))

    assert accepts(node, PodSet("a", 1))


def test_what_is_free_is_what_is_offered_without_what_is_held() -> None:
    left = free(parse("x1: 8 used=3 used=1:train:cpu=1 cpu=4 pods=10\nx2: 2"))

    assert {name: dict(resources) for name, resources in left.items()} == {
        "x1": {"nvidia.com/gpu": 5, "cpu": 3 * 10**9, "pods": 6},
        "x2": {"nvidia.com/gpu": 2},
    }


def test_an_outline_names_what_a_request_asks() -> None:
    tree = request(
        "train", group("g", pods("a", 3, minimum=1, bound=["x1"], ports=[80])), required="rack", minimum=0
    )

    assert outline(tree) == (
        "root: required=rack minimum=0 of 1\n"
        "  g:\n"
        "    a: 3 x Resources(nvidia.com/gpu=1) minimum=1 running on x1 port 80/TCP\n"
    )
