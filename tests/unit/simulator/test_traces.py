"""Traces and sites are read, and every problem is told at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from closeknit.hub.copying import replace
from closeknit.hub.problems import Code, Fact, InvalidError, OneOf
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import simulator
from closeknit.simulator.scenario import Submission
from closeknit.simulator.traces import own, tables
from closeknit.text.documents import Source
from tests.kit.problems import Finding, finding, findings
from tests.unit.simulator.sites import GPU, site


def read(text: str, limit: int = 100) -> tuple[Submission, ...]:
    return own.read(Source("t.yaml", text.encode()), site(), 1, limit)


def reported(reading: Callable[[], object]) -> list[Finding]:
    """The problems for which reading refuses a file."""
    with pytest.raises(InvalidError) as refused:
        reading()
    return findings(refused.value.problems)


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


FIELDS = ("at", "name", "nodeSelector", "pods", "preferred", "priority", "required", "resources", "runs")


def of_workload(code: Code, field: str, **facts: Fact) -> Finding:
    """A problem of a field of the first workload."""
    return finding(code, f"t.yaml:workloads[0].{field}", **facts)


def not_a_duration(field: str, value: str) -> Finding:
    return of_workload(simulator.NOT_A_DURATION, field, value=value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("workloads: [{name: a, at: -5, runs: 3}]", [not_a_duration("at", "-5")], id="a negative time"),
        pytest.param("workloads: [{name: a, runs: 3}]", [of_workload(simulator.MISSING_FIELD, "at", example="when it arrives, such as 90s")], id="a hole"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1, pod: 4}]", [of_workload(simulator.UNKNOWN_FIELD, "pod", name="pod", known=OneOf.among("pod", FIELDS))], id="a misspelt field"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1, required: rak}]", [of_workload(simulator.NO_SUCH_LEVEL, "required", level="rak", known=OneOf.among("rak", ["block", "host", "rack"]))], id="an unknown level"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1, required: rack, preferred: block}]", [of_workload(simulator.REQUIRED_COARSER, "preferred", preferred="block", required="rack")], id="a preference that is coarser than the requirement"),
        pytest.param("workloads: [{name: a, at: 0, runs: 1}, {name: a, at: 1, runs: 1}]", [finding(simulator.NAME_TWICE, "t.yaml", name="a")], id="a name twice"),
        pytest.param(
            "workloads: [{name: A_b, at: x, runs: nan, pods: 0}]",
            [
                of_workload(simulator.NO_NAME, "name", value="A_b"),
                not_a_duration("at", "x"),
                not_a_duration("runs", "nan"),
                of_workload(simulator.NOT_A_NUMBER, "pods", value="0", allowed="a whole number from 1 to 100000"),
            ],
            id="all problems at once",
        ),
        pytest.param("workloads: []", [finding(simulator.EMPTY_TRACE, "t.yaml")], id="nothing in it"),
        pytest.param("- a", [finding(simulator.NOT_A_MAPPING, "t.yaml", found="no mapping", example="workloads: with a list below it")], id="a list"),
        pytest.param(
            "generate: {load: 0, sizes: {0: 1}}",
            [
                finding(simulator.NOT_A_NUMBER, 't.yaml:generate.sizes["0"]', value="0: 1", allowed="whole numbers from 1 on, and how frequent each is"),
                finding(simulator.NOT_A_NUMBER, "t.yaml:generate.load", value="0", allowed="a number from 0.01 to 100"),
            ],
            id="a mix that makes no sense",
        ),
    ],
)  # fmt: skip
def test_problems_are_told_at_their_field(text: str, expected: list[Finding]) -> None:
    assert reported(lambda: read(text)) == expected


def test_more_workloads_than_allowed_are_refused() -> None:
    assert reported(lambda: read("generate: {workloads: 3}", limit=2)) == [
        finding(simulator.TOO_MANY_WORKLOADS, "t.yaml", most=2)
    ]


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


def not_a_number(column: str, value: str) -> Finding:
    return finding(simulator.NOT_A_NUMBER, f"line 2:{column}", value=value, allowed="a number from 0 on")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param("a,1,1,1,1000,,-3,5,1", not_a_number("creation_time", "-3"), id="a negative time"),
        pytest.param("a,1,1,1,1000,,0,,0", not_a_number("deletion_time", ""), id="a hole"),
        pytest.param(
            "a,1,1,1,1000,,7,5,7",
            finding(simulator.ENDS_BEFORE_START, "line 2", end="5", start="7.0"),
            id="an end before its start",
        ),
        pytest.param(
            "a,1,1", finding(simulator.SHORT_ROW, "line 2", found=3, wanted=9), id="a row that is cut off"
        ),
    ],
)
def test_rows_with_holes_are_told_with_their_line(tmp_path: Path, row: str, expected: Finding) -> None:
    assert reported(lambda: openb(tmp_path, f"{row}\n")) == [
        replace(expected, where=f"{tmp_path}/pods.csv:{expected.where}")
    ]


def test_a_long_table_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("name,at,runs,gpus\n" + "".join(f"g{i},{i},1,1\n" for i in range(50)) + "broken row\n")

    cut, _ = tables.read_workloads(path, site(), 20, cut=True)

    assert reported(lambda: tables.read_workloads(path, site(), 20, cut=False)) == [
        finding(simulator.TOO_MANY_WORKLOADS, str(path), most=20)
    ]
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
    ("content", "code", "facts"),
    [
        pytest.param(b"a,b\n", simulator.NO_NODES, {}, id="no rows"),
        pytest.param(
            b"one\nx\n",
            simulator.UNKNOWN_COLUMNS,
            {
                "found": "one",
                "known": "openb's list of nodes, and a list of hosts with the switches above each, coarsest first",
            },
            id="one column",
        ),
        pytest.param(
            b"ip,rack\nx,\xff\n",
            simulator.NOT_CSV,
            {"reason": "'utf-8' codec can't decode byte 0xff in position 10: invalid start byte"},
            id="no text",
        ),
        pytest.param(b"ip,rack\nx,r\nx,r\n", simulator.NODE_TWICE, {"name": "x"}, id="a node twice"),
    ],
)
def test_tables_that_are_no_site_are_refused(
    tmp_path: Path, content: bytes, code: Code, facts: dict[str, Fact]
) -> None:
    path = tmp_path / "site.csv"
    path.write_bytes(content)

    assert reported(lambda: tables.read_site(path, gpus=8, rack_size=1, block_size=1)) == [
        finding(code, str(path), **facts)
    ]
