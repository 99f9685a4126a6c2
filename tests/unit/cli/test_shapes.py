"""Clusters by shape."""

from __future__ import annotations

import pytest

from closeknit.cli import shapes
from closeknit.hub.problems import InvalidError
from closeknit.hub.resources import Resources


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


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param("", ['"" is not a level. Write NAME=NUMBER, such as rack=8.'], id="nothing"),
        pytest.param(
            "rack=0,hst=3",
            [
                '"0" is not a number of "rack". Write a whole number from 1 on.',
                'The finest level is "hst". End with the hosts in each, such as host=16.',
            ],
            id="all problems come at once",
        ),
        pytest.param("host=2,rack=3", ["host is the finest level. Name it last."], id="hosts above racks"),
        pytest.param(
            "rack=2,rack=2,host=2", ['Level "rack" is named twice. Name each level once.'], id="a level twice"
        ),
        pytest.param(
            "<img onerror>=2,rack 1=2,host=2",
            [
                f'"{name}" is not a name of a level, because no node can have that label. Write letters, digits,'
                " dashes, dots and underscores, with a letter or digit at both ends, such as rack."
                for name in ("<img onerror>", "rack 1")
            ],
            id="names that are no labels",
        ),
        pytest.param(
            "rack=-1,host=1",
            ['"-1" is not a number of "rack". Write a whole number from 1 on.'],
            id="negative",
        ),
        pytest.param(
            "rack=1000,host=2000",
            [
                (
                    "That makes 2000000 nodes: each number counts the children of one parent, not all of"
                    " them. At most 1000000 are made."
                )
            ],
            id="more nodes than anybody means",
        ),
        pytest.param(
            "rack=99999999999999999999,host=1",
            ['"99999999999999999999" is not a number of "rack". Write a whole number from 1 on.'],
            id="a number that is no count",
        ),
    ],
)
def test_a_wrong_shape_is_refused_with_every_problem(text: str, messages: list[str]) -> None:
    with pytest.raises(InvalidError) as refused:
        shapes.parse(text)

    assert [problem.message for problem in refused.value.problems] == messages
