"""Traces and sites are read, and every problem is told at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.dialects.text.documents import Source
from closeknit.hub.problems import InvalidError
from closeknit.hub.resources import Resources
from closeknit.simulator.scenario import Submission
from closeknit.simulator.traces import own, tables
from tests.unit.simulator.sites import GPU, site


def read(text: str, limit: int = 100) -> tuple[Submission, ...]:
    return own.read(Source("t.yaml", text.encode()), site(), 1, limit)


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidError) as caught:
        read(text)
    return [str(problem) for problem in caught.value.problems]


def test_workloads_are_read_in_the_order_of_their_times() -> None:
    found = read(
        """
        workloads:
        - {name: late, at: 1h, runs: 90s, pods: 2, required: rack, resources: {nvidia.com/gpu: 4, cpu: 500m}}
        - {name: early, at: 5, runs: 1d, preferred: block, priority: -1, nodeSelector: {gpu: [a, b], disk: c}}
        """
    )

    early, late = found
    assert (early.name, early.at, early.runs, early.priority) == ("early", 5.0, 86_400.0, -1)
    assert early.ask.selector == (("disk", ("c",)), ("gpu", ("a", "b")))
    assert (early.ask.pods, early.ask.preferred, early.ask.resources) == (1, "block", Resources({GPU: 1}))
    assert (late.at, late.runs, late.ask.required) == (3600.0, 90.0, "rack")
    assert late.ask.resources == Resources({GPU: 4, "cpu": 500_000_000})


def test_a_trace_may_draw_workloads() -> None:
    found = read("generate: {workloads: 20, sizes: {8: 1}, median: 10m, sigma: 0, load: 1.0}")

    assert len(found) == 20
    assert {(each.ask.pods, each.runs) for each in found} == {(1, 600.0)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("workloads: [{name: a, at: -5, runs: 3}]", ['t.yaml:workloads[0].at: "-5" is no time. Write seconds from 0 on, such as 90, or 90s, 15m, 2h, 1d.'], id="a negative time"),
        pytest.param("workloads: [{name: a, runs: 3}]", ["t.yaml:workloads[0].at: The field is missing. Write when it arrives, such as 90s."], id="a hole"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1, pod: 4}]", ['t.yaml:workloads[0].pod: There is no field "pod". Did you mean "pods"? Allowed: "at", "name", "nodeSelector", "pods", "preferred", "priority", "required", "resources" and 1 more.'], id="a misspelt field"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1, required: rak}]", ['t.yaml:workloads[0].required: The site has no level "rak". Did you mean "rack"? Allowed: "block", "host", "rack".'], id="an unknown level"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1, required: rack, preferred: block}]", ['t.yaml:workloads[0].preferred: The preferred level "block" is coarser than the required level "rack". Prefer a finer one, or leave it out.'], id="a preference that is coarser than the requirement"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1}, {name: a, at: 1, runs: 1}]", ['t.yaml: "a" is named twice. Give every workload a name of its own.'], id="a name twice"),
        pytest.param("workloads: [{name: A_b, at: x, runs: nan, pods: 0}]", None, id="all problems at once"),
        pytest.param("workloads: []", ["t.yaml: The trace holds no workload."], id="nothing in it"),
        pytest.param("- a", ["t.yaml: This is no mapping. Write workloads: with a list below it."], id="a list"),
        pytest.param("generate: {load: 0, sizes: {0: 1}}", None, id="a mix that makes no sense"),
    ],
)  # fmt: skip
def test_problems_are_told_at_their_field(text: str, expected: list[str] | None) -> None:
    found = problems(text)

    if expected is None:
        assert len(found) > 1
    else:
        assert found == expected


def test_more_workloads_than_allowed_are_refused() -> None:
    with pytest.raises(InvalidError, match="The trace holds more than 2 workloads"):
        read("generate: {workloads: 3}", limit=2)


PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1024,2,T4\nn1,32000,2048,8,G2\nn2,32000,2048,8,G2\n"


def openb(tmp_path: Path, rows: str) -> tuple[Submission, ...]:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS + rows)
    placed = tables.read_site(tmp_path / "nodes.csv", gpus=8, rack_size=2, block_size=1)
    return tables.read_workloads(tmp_path / "pods.csv", placed, 10, cut=False)[0]


def test_openb_lists_are_read_with_shared_devices_and_racks_in_their_order(tmp_path: Path) -> None:
    whole, shared = openb(
        tmp_path, "a,12000,16384,2,1000,,10,100,20\nb,6000,100,1,460,G2|T4,30,60,30\nc,1,1,0,0,,5,9,\n"
    )

    placed = tables.read_site(tmp_path / "nodes.csv", gpus=8, rack_size=2, block_size=1)
    assert [placed.topology.path(node.labels) for node in placed.nodes] == [
        ("block-0000", "rack-00000", "n0"),
        ("block-0000", "rack-00000", "n1"),
        ("block-0001", "rack-00001", "n2"),
    ]
    assert (placed.devices, placed.nodes[0].allocatable["cpu"]) == (18, 64 * 10**9)
    assert (whole.at, whole.runs, placed.devices_of(whole.ask)) == (10, 80, 2)
    assert (placed.devices_of(shared.ask), shared.ask.selector) == (0.46, ((tables.MODEL, ("G2", "T4")),))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param("a,1,1,1,1000,,-3,5,1", 'line 2:creation_time: "-3" is no number that is allowed here. Write a number from 0 on.', id="a negative time"),
        pytest.param("a,1,1,1,1000,,0,,0", 'line 2:deletion_time: "" is no number that is allowed here. Write a number from 0 on.', id="a hole"),
        pytest.param("a,1,1,1,1000,,7,5,7", "line 2: It ends at 5, before it starts at 7.0.", id="an end before its start"),
        pytest.param("a,1,1", "line 2: The row has 3 columns, and the header has 9.", id="a row that is cut off"),
    ],
)  # fmt: skip
def test_rows_with_holes_are_told_with_their_line(tmp_path: Path, row: str, expected: str) -> None:
    with pytest.raises(InvalidError) as caught:
        openb(tmp_path, f"{row}\n")

    assert str(caught.value.problems[0]).endswith(expected)


def test_a_long_table_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("name,at,runs,gpus\n" + "".join(f"g{i},{i},1,1\n" for i in range(50)) + "broken row\n")

    cut, _ = tables.read_workloads(path, site(), 20, cut=True)
    with pytest.raises(InvalidError, match="more than 20 workloads"):
        tables.read_workloads(path, site(), 20, cut=False)

    assert [each.name for each in cut] == [f"g{i}" for i in range(20)]


def test_hosts_with_switches_keep_leaves_of_one_name_apart(tmp_path: Path) -> None:
    path = tmp_path / "topology.csv"
    long = "0123456789abcdef" * 4
    path.write_text(f"ip,DSW,PSW,ASW\n{long},G6,P1,S1\nh2,G6,P2,S1\nh3,G6,P1,S1\n")

    found = tables.read_site(path, gpus=8, rack_size=1, block_size=1)

    assert [found.word(label) for label in found.levels] == ["DSW", "PSW", "ASW"]
    assert (found.rack, found.block) == ("topology/ASW", "topology/PSW")
    assert len({found.topology.path(node.labels)[:3] for node in found.nodes}) == 2
    assert found.nodes[0].name == long[:16]
    assert found.level("rack") == "topology/ASW"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"a,b\n", "There is no node in it.", id="no rows"),
        pytest.param(b"one\nx\n", "The columns are one. Known are those of openb", id="one column"),
        pytest.param(b"ip,rack\nx,\xff\n", "The file is no CSV in UTF-8", id="no text"),
        pytest.param(b"ip,rack\nx,r\nx,r\n", 'Node "x" is listed twice.', id="a node twice"),
    ],
)
def test_tables_that_are_no_site_are_refused(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "site.csv"
    path.write_bytes(content)

    with pytest.raises(InvalidError, match=expected):
        tables.read_site(path, gpus=8, rack_size=1, block_size=1)
