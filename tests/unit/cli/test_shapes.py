"""Clusters by shape."""

from __future__ import annotations

import pytest

from closeknit.cli import shapes
from closeknit.hub.problems import Code, Fact, InvalidError
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import cli
from tests.kit.problems import Finding, finding, findings


def test_each_number_counts_the_children_of_one_parent() -> None:
    steps = shapes.parse("zone=2,rack=3,host=4")
    nodes = list(shapes.nodes(steps, "topology/", Resources({"nvidia.com/gpu": 8})))

    assert len(nodes) == 2 * 3 * 4
    assert len({node.name for node in nodes}) == 24
    assert dict(nodes[-1].labels) == {
        "topology/zone": "zone-2",
        "topology/rack": "rack-2-3",
        "kubernetes.io/hostname": "host-2-3-4",
    }


def test_a_level_with_a_slash_is_a_label_already() -> None:
    steps = shapes.parse("topology.kubernetes.io/zone=1, rack=1 ,host=1")
    (node,) = shapes.nodes(steps, "example.com/", Resources())

    assert shapes.topology(steps, "t", "example.com/").labels == (
        "topology.kubernetes.io/zone",
        "example.com/rack",
        "kubernetes.io/hostname",
    )
    assert node.labels["topology.kubernetes.io/zone"] == "zone-1"


def of_shape(code: Code, **facts: Fact) -> Finding:
    """A problem of the option ``--shape``."""
    return finding(code, "--shape", **facts)


@pytest.mark.parametrize(
    ("shape", "problems"),
    [
        pytest.param("", [of_shape(cli.NOT_A_LEVEL, word="")], id="nothing"),
        pytest.param(
            "rack=0,hst=3",
            [
                of_shape(cli.NOT_A_NUMBER_OF, number="0", level="rack"),
                of_shape(cli.NO_HOSTS, level="hst"),
            ],
            id="all problems come at once",
        ),
        pytest.param("host=2,rack=3", [of_shape(cli.HOST_NOT_LAST)], id="hosts above racks"),
        pytest.param(
            "rack=2,rack=2,host=2", [of_shape(cli.LEVEL_NAMED_TWICE, level="rack")], id="a level twice"
        ),
        pytest.param(
            "<img onerror>=2,rack 1=2,host=2",
            [
                of_shape(cli.NOT_A_LEVEL_NAME, level="<img onerror>"),
                of_shape(cli.NOT_A_LEVEL_NAME, level="rack 1"),
            ],
            id="names that are no labels",
        ),
        pytest.param(
            "rack=-1,host=1",
            [of_shape(cli.NOT_A_NUMBER_OF, number="-1", level="rack")],
            id="negative",
        ),
        pytest.param(
            "rack=1000,host=2000",
            [of_shape(cli.TOO_MANY_NODES, nodes=2_000_000, most=1_000_000)],
            id="more nodes than anybody means",
        ),
        pytest.param(
            "rack=99999999999999999999,host=1",
            [of_shape(cli.NOT_A_NUMBER_OF, number="99999999999999999999", level="rack")],
            id="a number that is no count",
        ),
    ],
)
def test_a_wrong_shape_is_refused_with_every_problem(shape: str, problems: list[Finding]) -> None:
    with pytest.raises(InvalidError) as refused:
        shapes.parse(shape)

    assert findings(refused.value.problems) == problems
