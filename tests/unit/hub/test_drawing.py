from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.drawing import GPU, HOSTNAME, draw, parse
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.problems import InvalidError, OneOf, Problem
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import hub
from closeknit.hub.topology import Level, Topology
from closeknit.testing.random_clusters import TOPOLOGY, random_cluster
from tests.kit.problems import Finding, finding, findings

EXAMPLE = """\
z1
  b1
    r1
      x1: 8
      x2: 8 used=3 cpu=64 memory=512Gi pods=110 label:gpu=h100 taint:dedicated=ml:NoSchedule unschedulable not-ready
"""


def test_the_example_has_every_word() -> None:
    cluster = parse(EXAMPLE)

    domains = {"zone": "z1", "block": "b1", "rack": "r1"}
    assert cluster.topologies == (
        Topology("default", (Level("zone", "zone"), Level("block", "block"), Level("rack", "rack"))),
    )
    assert cluster.nodes == (
        Node("x1", {**domains, HOSTNAME: "x1"}, Resources({GPU: 8})),
        Node(
            "x2",
            {**domains, HOSTNAME: "x2", "gpu": "h100"},
            Resources({GPU: 8, "cpu": 64 * 10**9, "memory": 512 * 2**30, "pods": 110}),
            (Taint("dedicated", Effect.NO_SCHEDULE, "ml"),),
            unschedulable=True,
            ready=False,
        ),
    )
    assert cluster.holdings == (Holding("used", "x2", Resources({GPU: 1}), 3),)
    assert draw(cluster) == EXAMPLE


@pytest.mark.parametrize(
    ("word", "holding"),
    [
        pytest.param(
            "used=2:train", Holding("train", "x1", Resources({GPU: 1}), 2), id="a workload by its name"
        ),
        pytest.param(
            "used=2:train:cpu=500m,port=80/UDP",
            Holding("train", "x1", Resources({"cpu": 5 * 10**8}), 2, frozenset({HostPort(80, "UDP")})),
            id="resources and a port",
        ),
        pytest.param(
            "used=1:train:port=80",
            Holding("train", "x1", Resources(), 1, frozenset({HostPort(80)})),
            id="a port whose protocol is left to be TCP",
        ),
        pytest.param("used=1:train:none", Holding("train", "x1", Resources()), id="pods that hold nothing"),
    ],
)
def test_holdings(word: str, holding: Holding) -> None:
    assert parse(f"x1: 8 cpu=4 {word}").holdings == (holding,)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        pytest.param("x1: 1", {HOSTNAME: "x1"}, id="a host outside every domain has its hostname"),
        pytest.param("r1\n  x1: 1", {"rack": "r1", HOSTNAME: "x1"}, id="one level is a rack"),
        pytest.param(
            "a\n  b\n    c\n      d\n        x1: 1",
            {"region": "a", "zone": "b", "block": "c", "rack": "d", HOSTNAME: "x1"},
            id="four levels start with a region",
        ),
        pytest.param(
            "b1\n  r1\n  x1: 1 label:rack=r9",
            {"block": "b1", "rack": "r9", HOSTNAME: "x1"},
            id="a host beside the racks lacks their label unless it is written",
        ),
        pytest.param("x1: no-hostname", {}, id="even the hostname can lack"),
    ],
)
def test_labels(text: str, labels: dict[str, str]) -> None:
    assert dict(parse(text).nodes[0].labels) == labels


def test_levels_and_topology_are_named_by_the_caller() -> None:
    cluster = parse("b1\n  x1: 1", topology="t", levels=("t/block", "t/rack"), host_level=True)

    assert cluster.topologies == (
        Topology("t", (Level("t/block", "t/block"), Level("t/rack", "t/rack"), Level(HOSTNAME, "host"))),
    )
    assert dict(cluster.nodes[0].labels) == {"t/block": "b1", HOSTNAME: "x1"}


def test_indentation_is_free_as_long_as_it_is_consistent() -> None:
    wide = """

        b1
            # A comment.
            r1
                x1: 1

            r2
             x2: 2
    """

    assert parse(wide).nodes == parse("b1\n  r1\n    x1: 1\n  r2\n    x2: 2").nodes


def test_hosts_without_finer_labels_are_drawn_behind_the_domains_beside_them() -> None:
    text = "b1\n  r1\n    x2: 2\n  x1: 1\nx0: 1\n"

    assert draw(parse(text)) == text


def test_a_fraction_of_a_unit_is_not_offered() -> None:
    assert parse("x1: 1500m").nodes[0].allocatable == Resources({GPU: 1})


def test_an_empty_drawing_is_an_empty_cluster() -> None:
    assert parse("\n# Nothing.\n") == Cluster((Topology("default", ()),), ())


WORDS = (
    "cpu",
    "ephemeral-storage",
    "label",
    "memory",
    "no-hostname",
    "not-ready",
    "pods",
    "taint",
    "unschedulable",
    "used",
)


def on_host(problem: Problem) -> Finding:
    """A problem of host x1, drawn on the first line."""
    return finding(hub.DRAWN_HOST, "line 1", host="x1", problem=problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "r1\n  x1: 8\nr2\n  x1: 8",
            finding(hub.HOST_DRAWN_TWICE, "line 4", host="x1", line=2),
            id="a host twice",
        ),
        pytest.param(
            "b1\n  r1\n  r1",
            finding(hub.DOMAIN_DRAWN_TWICE, "line 3", domain="b1/r1", line=2),
            id="a domain twice",
        ),
        pytest.param(
            "r1\n  x1: 8\n    x2: 8",
            finding(hub.INSIDE_A_HOST, "line 3", host="x1", column=2),
            id="a host inside a host",
        ),
        pytest.param(
            "b1\n    r1\n  x1: 8",
            finding(hub.INDENTED_BETWEEN, "line 3", column=2, allowed="0 or 4"),
            id="a line between two columns",
        ),
        pytest.param("r1\n\tx1: 8", finding(hub.INDENTED_WITH_TAB, "line 2"), id="a tab"),
        pytest.param(
            "rack one",
            finding(hub.NOT_ONE_NAME, "line 1", line="rack one"),
            id="a domain of two words",
        ),
        pytest.param(
            ": 8",
            finding(hub.NOT_ONE_NAME, "line 1", line=": 8"),
            id="a host without a name",
        ),
        pytest.param(
            "a\n  b\n    c\n      d\n        e",
            finding(
                hub.DRAWN_TOO_DEEP,
                "line 5",
                domain="e",
                depth=5,
                remedy="The levels are region, zone, block, rack. Name as many as are drawn.",
            ),
            id="more levels than have usual names",
        ),
        pytest.param(
            "x1: eight",
            on_host(
                hub.RESOURCE_AMOUNT.at(
                    resource="nvidia.com/gpu", problem=hub.UNKNOWN_SUFFIX.at(value="eight")
                )
            ),
            id="GPUs that are no number",
        ),
        pytest.param(
            "x1: -1",
            on_host(hub.RESOURCE_AMOUNT.at(resource="nvidia.com/gpu", problem=hub.NEGATIVE.at(value="-1"))),
            id="less than none",
        ),
        pytest.param(
            "x1: 8 cpus=4",
            on_host(
                hub.UNKNOWN_WORD.at(
                    word="cpus=4",
                    remedy=OneOf("cpus", WORDS),
                )
            ),
            id="a misspelt word",
        ),
        pytest.param(
            "x1: 8 8",
            on_host(
                hub.UNKNOWN_WORD.at(
                    word="8",
                    remedy=OneOf("8", WORDS),
                )
            ),
            id="GPUs twice",
        ),
        pytest.param(
            "x1: cpu=1 cpu=2",
            on_host(hub.RESOURCE_TWICE.at(resource="cpu")),
            id="a resource twice",
        ),
        pytest.param(
            "x1: pods=0",
            on_host(hub.NO_PODS_DRAWN.at()),
            id="a host for no pods at all",
        ),
        pytest.param(
            "x1: 8 taint:NoSchedule",
            on_host(hub.NOT_A_TAINT.at(word="taint:NoSchedule")),
            id="a taint without a key",
        ),
        pytest.param(
            "x1: 8 taint:a=b:noschedule",
            on_host(
                hub.UNKNOWN_EFFECT.at(
                    effect="noschedule",
                    remedy=OneOf("noschedule", ("NoExecute", "NoSchedule", "PreferNoSchedule")),
                )
            ),
            id="an effect that there is not",
        ),
        pytest.param(
            "x1: 8 used=all",
            on_host(hub.USED_WITHOUT_NUMBER.at(word="used=all")),
            id="a use without a number",
        ),
        pytest.param(
            "x1: 8 used=1:train:port=http",
            on_host(hub.NOT_A_PORT.at(word="port=http")),
            id="a port that is no number",
        ),
        pytest.param(
            "x1: 8 used=5 used=4:train",
            on_host(hub.MORE_USED_THAN_OFFERED.at(used="9", resource="nvidia.com/gpu", offered="8")),
            id="more used than there is",
        ),
        pytest.param(
            "x1: 8 pods=2 used=3",
            on_host(hub.MORE_USED_THAN_OFFERED.at(used="3", resource="pods", offered="2")),
            id="more pods than the host takes",
        ),
    ],
)
def test_a_problem_is_found_at_its_line(text: str, problem: Finding) -> None:
    with pytest.raises(InvalidError) as caught:
        parse(text)

    assert findings(caught.value.problems) == [problem]


def test_hosts_below_the_last_named_level_are_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        parse("b1\n  r1\n    x1: 1", levels=("block",))

    assert findings(caught.value.problems) == [
        finding(hub.DRAWN_TOO_DEEP, "line 2", domain="r1", depth=2, remedy="The levels are block.")
    ]


def test_all_problems_come_at_once_in_the_order_of_lines() -> None:
    with pytest.raises(InvalidError) as caught:
        parse("r1\n  x1: x cpu=y\n  x1: 1\nr1\n  x3: used=1")

    assert [problem.where for problem in caught.value.problems] == [
        "line 2",
        "line 2",
        "line 3",
        "line 4",
        "line 5",
    ]


def test_a_drawing_by_an_unknown_topology_is_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        draw(parse("x1: 1"), "defualt")

    assert findings(caught.value.problems) == [
        finding(hub.UNKNOWN_TOPOLOGY, "topology", topology="defualt", remedy=OneOf("defualt", ("default",)))
    ]


@given(st.integers(0, 10**6))
def test_every_cluster_is_read_back_as_it_was_drawn(seed: int) -> None:
    cluster = random_cluster(Random(seed))
    topology = cluster.topology(TOPOLOGY)
    assert topology is not None
    levels = tuple(label for label in topology.labels if label != HOSTNAME)

    again = parse(draw(cluster, TOPOLOGY), levels=levels, host_level=HOSTNAME in topology.labels)

    assert sorted(again.nodes, key=_name) == sorted(cluster.nodes, key=_name)
    assert sorted(map(repr, again.holdings)) == sorted(map(repr, cluster.holdings))
    assert again.topology(TOPOLOGY) == topology


def _name(node: Node) -> str:
    return node.name
