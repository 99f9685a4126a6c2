from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.hub.cluster import Cluster, Holding
from closeknit.hub.drawing import GPU, HOSTNAME, draw, parse
from closeknit.hub.nodes import Effect, Node, Taint
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import HostPort
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.testing.random_clusters import TOPOLOGY, random_cluster

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


KNOWN = (
    'Allowed: "cpu", "ephemeral-storage", "label", "memory", "no-hostname", "not-ready", "pods", "taint"'
    " and 2 more. A resource of another name needs a slash in it."
)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param(
            "r1\n  x1: 8\nr2\n  x1: 8",
            4,
            'Host "x1" is already drawn on line 2. Give each host of the cluster its own name.',
            id="a host twice",
        ),
        pytest.param(
            "b1\n  r1\n  r1",
            3,
            'Domain "b1/r1" is already drawn on line 2. Draw all of it in one place, or give this one its own name.',
            id="a domain twice",
        ),
        pytest.param(
            "r1\n  x1: 8\n    x2: 8",
            3,
            'Host "x1" holds nothing further. Indent by 2, or drop the colon to make it a domain.',
            id="a host inside a host",
        ),
        pytest.param(
            "b1\n    r1\n  x1: 8",
            3,
            "The line is indented by 2, which matches no line above it. Indent by 0 or 4.",
            id="a line between two columns",
        ),
        pytest.param("r1\n\tx1: 8", 2, "The line is indented with a tab. Indent with spaces.", id="a tab"),
        pytest.param(
            "rack one",
            1,
            '"rack one" does not start with one name. Write a domain as one word,'
            " or a host as one word, a colon and its GPUs.",
            id="a domain of two words",
        ),
        pytest.param(
            ": 8",
            1,
            '": 8" does not start with one name. Write a domain as one word,'
            " or a host as one word, a colon and its GPUs.",
            id="a host without a name",
        ),
        pytest.param(
            "a\n  b\n    c\n      d\n        e",
            5,
            '"e" lies 5 levels deep. The levels are region, zone, block, rack. Name as many as are drawn.',
            id="more levels than have usual names",
        ),
        pytest.param(
            "x1: eight",
            1,
            'Host "x1": nvidia.com/gpu: "eight" is not a quantity. Write a number with an optional suffix'
            " (n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi or Ei), such as 8, 500m or 1.5Gi.",
            id="GPUs that are no number",
        ),
        pytest.param(
            "x1: -1",
            1,
            'Host "x1": nvidia.com/gpu: "-1" is negative. Write zero or more.',
            id="less than none",
        ),
        pytest.param(
            "x1: 8 cpus=4",
            1,
            f'Host "x1": "cpus=4" is not understood. Did you mean "cpu"? {KNOWN}',
            id="a misspelt word",
        ),
        pytest.param("x1: 8 8", 1, f'Host "x1": "8" is not understood. {KNOWN}', id="GPUs twice"),
        pytest.param(
            "x1: cpu=1 cpu=2", 1, 'Host "x1": cpu is written twice. Write it once.', id="a resource twice"
        ),
        pytest.param(
            "x1: pods=0",
            1,
            'Host "x1": pods=0 cannot be drawn. Write unschedulable instead.',
            id="a host for no pods at all",
        ),
        pytest.param(
            "x1: 8 taint:NoSchedule",
            1,
            'Host "x1": "taint:NoSchedule" is not a taint. Write taint:KEY=VALUE:EFFECT or taint:KEY:EFFECT.',
            id="a taint without a key",
        ),
        pytest.param(
            "x1: 8 taint:a=b:noschedule",
            1,
            'Host "x1": "noschedule" is not a taint\'s effect. Did you mean "NoSchedule"?'
            ' Allowed: "NoExecute", "NoSchedule", "PreferNoSchedule".',
            id="an effect that there is not",
        ),
        pytest.param(
            "x1: 8 used=all",
            1,
            'Host "x1": "used=all" does not start with a number of pods. '
            "Write used=3, used=3:train or used=3:train:cpu=4,port=80/TCP.",
            id="a use without a number",
        ),
        pytest.param(
            "x1: 8 used=1:train:port=http",
            1,
            'Host "x1": "port=http" is not a port. Write port=80 or port=80/UDP.',
            id="a port that is no number",
        ),
        pytest.param(
            "x1: 8 used=5 used=4:train",
            1,
            'Host "x1": 9 of nvidia.com/gpu are used, but it has 8.',
            id="more used than there is",
        ),
        pytest.param(
            "x1: 8 pods=2 used=3",
            1,
            'Host "x1": 3 of pods are used, but it has 2.',
            id="more pods than the host takes",
        ),
    ],
)
def test_a_problem_is_found_at_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(InvalidError) as caught:
        parse(text)

    assert str(caught.value) == f"line {line}: {message}"


def test_hosts_below_the_last_named_level_are_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        parse("b1\n  r1\n    x1: 1", levels=("block",))

    assert str(caught.value) == 'line 2: "r1" lies 2 levels deep. The levels are block.'


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

    assert str(caught.value) == (
        'topology: There is no topology "defualt". Did you mean "default"? Allowed: "default".'
    )


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
