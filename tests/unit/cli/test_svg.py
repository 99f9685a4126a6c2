"""The picture is well-formed, tells everything in text too, and escapes what users wrote."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from closeknit.cli import occupancy, shapes, svg
from closeknit.hub import drawing
from closeknit.hub.cluster import Cluster
from closeknit.hub.resources import Resources

NS = {"s": "http://www.w3.org/2000/svg"}
TWO_RACKS = """
    r1
      x1: 8 used=3:default/a used=2:default/b
      x2: 4 used=1:default/c
    r2
      x3: 8 unschedulable
      x4: 0 cpu=8 used=1:default/a:cpu=1
"""


def picture(cluster: Cluster, *colored: str) -> svg.Picture:
    return svg.Picture(
        title="A <title> & more",
        description="d",
        root=occupancy.tree(cluster, cluster.topologies[0], occupancy.uses_by_node(cluster.holdings)),
        resources=occupancy.resources_that_matter(cluster),
        legend=[svg.Entry(name, f"{name}: placed") for name in colored],
        levels=cluster.topologies[0].labels,
    )


def drawn(cluster: Cluster, *colored: str) -> ET.Element:
    return ET.fromstring("".join(svg.drawn(picture(cluster, *colored))))


def cells(host: str, root: ET.Element) -> list[str]:
    """The looks of a node's cells, in their order."""
    for group in root.iter(f"{{{NS['s']}}}g"):
        title = group.find("s:title", NS)
        if title is not None and (title.text or "").startswith(f"{host},"):
            return [rect.attrib["class"] for rect in group.findall("s:rect", NS)][1:]
    raise AssertionError(host)


def test_there_is_one_cell_for_each_gpu_colored_by_workload_and_grey_where_it_was_in_use() -> None:
    root = drawn(drawing.parse(TWO_RACKS), "default/a", "default/b")

    assert cells("x1", root) == ["w0"] * 3 + ["w1"] * 2 + ["free"] * 3
    assert cells("x2", root) == ["held"] + ["free"] * 3
    assert cells("x3", root) == ["free"] * 8


def test_a_pod_without_gpus_is_a_dot() -> None:
    root = drawn(drawing.parse(TWO_RACKS), "default/a")

    assert [circle.attrib["class"] for circle in root.iter(f"{{{NS['s']}}}circle")] == ["w0"]


@pytest.mark.requirement("O44")
def test_domains_are_drawn_around_their_nodes() -> None:
    root = drawn(drawing.parse(TWO_RACKS))
    boxes = {}
    for group in root.iter(f"{{{NS['s']}}}g"):
        title, rect = group.find("s:title", NS), group.find("s:rect", NS)
        if title is not None and rect is not None:
            name = (title.text or "").split(":")[0].split(",")[0].split(" ")[-1]
            x, y, w, h = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
            boxes[name] = (x, y, x + w, y + h)

    for outer, inner in (("r1", "x1"), ("r1", "x2"), ("r2", "x3"), ("r2", "x4")):
        assert boxes[outer][0] < boxes[inner][0]
        assert boxes[outer][1] < boxes[inner][1]
        assert boxes[outer][2] > boxes[inner][2]
        assert boxes[outer][3] > boxes[inner][3]
    for one, other in (("x1", "x2"), ("x3", "x4"), ("r1", "r2")):
        apart_across = boxes[one][2] <= boxes[other][0] or boxes[other][2] <= boxes[one][0]
        apart_down = boxes[one][3] <= boxes[other][1] or boxes[other][3] <= boxes[one][1]
        assert apart_across or apart_down


def test_the_picture_has_a_title_and_a_description_for_those_who_cannot_see_it() -> None:
    root = drawn(drawing.parse(TWO_RACKS))

    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "title desc"
    assert root.findtext("s:title", namespaces=NS) == "A <title> & more"
    assert root.findtext("s:desc", namespaces=NS) == "d"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a&b", '"x"', "\x1b[31m", "[bold]x[/bold]"])
def test_names_are_escaped(name: str) -> None:
    cluster = drawing.parse(f"{name.split('<', maxsplit=1)[0] or 'r'}\n  x: 1\n")
    text = "".join(svg.drawn(picture(cluster, name)))
    root = ET.fromstring(text)

    assert "<script" not in text
    shown = name.replace("\x1b", "\ufffd")
    assert f"{shown}: placed" in [node.text for node in root.iter(f"{{{NS['s']}}}text")]


def test_two_thousand_nodes_stay_a_picture() -> None:
    steps = shapes.parse("zone=2,block=4,rack=16,host=16")
    offered = Resources({"nvidia.com/gpu": 8})
    cluster = Cluster((shapes.topology(steps, "t", ""),), tuple(shapes.nodes(steps, "", offered)))
    root = drawn(cluster)

    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert width < 3000
    assert height < 3000
    assert len(list(root.iter(f"{{{NS['s']}}}rect"))) > 2048 * 9


def test_nodes_without_gpus_show_their_cpu_and_a_cell_stands_for_several() -> None:
    root = drawn(drawing.parse("r\n  x: cpu=256 used=1:a:cpu=128\n"), "a")

    assert cells("x", root) == ["w0"] * 32 + ["free"] * 32


def test_an_empty_cluster_is_an_empty_picture() -> None:
    assert drawn(drawing.parse("")).tag.endswith("svg")
