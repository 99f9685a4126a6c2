"""Every command on small files: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from closeknit.cli.app import app
from closeknit.dialects import DIALECTS
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import cli
from tests.kit.problems import line
from tests.unit.cli.running import Run, domains, numbers, outcomes, pod_group


@pytest.mark.parametrize(
    ("stdin", "status", "placements"),
    [
        pytest.param("", 0, [], id="an empty file"),
        pytest.param("# nothing\n---\n---\n", 0, [], id="empty documents"),
        pytest.param(pod_group("a", 1), 3, [("unplaceable", [(1, 0)])], id="no nodes"),
        pytest.param(pod_group("a", 0), 0, [("placed", [])], id="a workload of no pods"),
        pytest.param("a: [", 2, [], id="text that is no YAML"),
        pytest.param("{a: 1, a: 2}", 2, [], id="a key given twice"),
        pytest.param("- 1\n- 2\n", 2, [], id="a list where an object belongs"),
        pytest.param("[" * 10_000, 2, [], id="ten thousand nested lists"),
        pytest.param("\x00\x01", 2, [], id="bytes that are no text"),
    ],
)
def test_odd_input_is_answered_and_never_with_a_traceback(
    stdin: str, status: int, placements: list[tuple[str, list[tuple[int, int]]]]
) -> None:
    """A placement is its status, and how many pods each group wants and how many would fit."""
    run = Run("plan", "-f", "-", stdin=stdin)
    in_json = Run("plan", "-f", "-", "-o", "json", stdin=stdin)

    assert run.status == in_json.status == status
    assert [
        (outcome["status"], [(short["wanted"], short["fits"]) for short in outcome["shortfalls"]])
        for outcome in outcomes(in_json)
    ] == placements
    assert [pod for outcome in outcomes(in_json) for pod in outcome["pods"]] == []
    if status == 2:
        assert run.err.startswith("<stdin>:")
    assert "Traceback" not in run.err


def test_a_kind_that_nobody_reads_is_mentioned() -> None:
    run = Run("plan", "-f", "-", stdin="apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")

    assert run.status == 0
    (note,) = run.err.splitlines()
    assert note.startswith("note: ")
    assert numbers(note) == [1]
    assert "Service (v1)" in note


def test_two_nodes_of_one_name_are_refused() -> None:
    node = (
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n"
    )
    run = Run("plan", "-f", "-", stdin=node * 2 + pod_group("a", 1))

    assert run.status == 2
    assert "n1" in run.err


def test_control_characters_in_names_stay_out_of_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[31m.yaml"
    file.write_text("[")
    run = Run("validate", "-f", str(tmp_path))

    assert run.status == 2
    assert "\x1b" not in run.err
    assert "a\\x1b[31m.yaml" in run.err


def test_validate_lists_every_problem_of_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(pod_group("a", -1) + pod_group("b", 1, "rack"))
    (tmp_path / "c.yaml").write_text(
        "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata: {name: another}\n"
        "spec: {levels: [{nodeLabel: rack}]}\n"
    )
    (tmp_path / "b.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {alocatable: {}}\n"
    )
    run = Run("validate", "-f", str(tmp_path))

    assert run.status == 2
    assert run.out == ""
    assert f"{tmp_path}/a.yaml:1:spec.minMember: " in run.err
    assert f"{tmp_path}/a.yaml:2:spec.topologyConstraint.topology: " in run.err
    assert f"{tmp_path}/b.yaml:1:status.alocatable: " in run.err
    assert "allocatable" in run.err
    assert numbers(run.err.splitlines()[-1]) == [3]


def test_lenient_passes_over_unknown_fields() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {alocatable: {}}\n"

    assert Run("validate", "-f", "-", stdin=node).status == 2
    assert Run("validate", "-f", "-", "--lenient", stdin=node).status == 0


def test_validate_sums_up_what_is_valid(cluster: str) -> None:
    run = Run("validate", "-f", cluster, "-f", "-", stdin=pod_group("a", 99, "rack"))

    assert run.status == 0
    # Workloads, nodes, running pods and topologies, of which the names follow.
    assert numbers(run.out) == [1, 5, 4, 1]
    assert "(t)" in run.out


def test_topology_as_json_counts_every_domain(cluster: str) -> None:
    told = Run("topology", "-f", cluster, "-o", "json").json()
    (topology,) = told["topologies"]

    assert topology["levels"] == ["block", "rack", "kubernetes.io/hostname"]
    assert topology["cluster"]["nodes"] == 5
    assert topology["cluster"]["capacity"]["nvidia.com/gpu"] == "40"
    assert topology["cluster"]["used"] == {"nvidia.com/gpu": "4", "pods": "4"}
    assert [inner["domain"] for inner in topology["cluster"]["domains"][0]["domains"]] == [
        ["b1", "r1"],
        ["b1", "r2"],
    ]
    assert [finding["kind"] for finding in topology["findings"]] == ["crossing"]


def test_topology_check_reports_instead_of_drawing(cluster: str) -> None:
    run = Run("topology", "-f", cluster, "--check")

    assert run.status == 0
    heading, remark = run.out.splitlines()
    assert (heading.partition(":")[0], numbers(heading)) == ("t", [1])
    assert remark.startswith("  rack r1 ")
    assert "b1, b2" in remark


def test_an_unknown_topology_is_refused(cluster: str) -> None:
    run = Run("topology", "-f", cluster, "--topology", "tt")

    assert run.status == 2
    remedy = OneOf.among("tt", ["t"])
    assert run.err == (
        line(cli.UNKNOWN_TOPOLOGY, "--topology", holders="The files hold", topology="tt", remedy=remedy)
        + "\n"
    )


def test_topology_without_a_topology_lists_the_nodes() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n"
    run = Run("topology", "-f", "-", stdin=node)

    assert domains(run.out) == [(2, "cluster", [1, 0, 8]), (4, "n1", [0, 8])]
    for more in (["--check"], ["-o", "json"], ["-o", "svg"]):
        assert Run("topology", "-f", "-", *more, stdin=node).status == 0


def test_nodes_of_a_shape_are_read_back() -> None:
    nodes = Run("nodes", "--shape", "zone=2,rack=2,host=3", "--gpus", "4", "--topology", "mine")
    told = Run("topology", "-f", "-", stdin=nodes.out)

    levels = told.out.splitlines()[0]
    assert levels == "mine: topology/zone > topology/rack > kubernetes.io/hostname"
    # Equal domains share a line, which counts them first; then the nodes of one, and its GPUs.
    assert domains(told.out) == [
        (2, "cluster", [12, 0, 48]),
        (4, "zone-1, zone-2", [2, 6, 0, 24]),
        (6, "rack-1-1, rack-1-2", [2, 3, 0, 12]),
        (8, "host-1-1-1 to host-1-1-3", [3, 0, 4]),
    ]


def test_nodes_as_json_are_one_list_that_reads_back() -> None:
    nodes = Run("nodes", "--shape", "rack=2,host=3", "-o", "json")

    assert nodes.json()["kind"] == "List"
    assert numbers(Run("validate", "-f", "-", stdin=nodes.out).out)[:2] == [0, 6]


def test_pods_of_a_drawing_use_what_they_are_drawn_with(tmp_path: Path) -> None:
    drawing = tmp_path / "c.txt"
    drawing.write_text("r1\n  x1: 8 used=2:team/etl used=1:web:cpu=4 cpu=8 taint:a=b:NoSchedule\n")
    nodes = Run("nodes", "--drawing", str(drawing), "--levels", "example.com/rack", "--topology", "t")
    told = Run("topology", "-f", "-", "-o", "json", stdin=nodes.out).json()

    assert told["topologies"][0]["levels"] == ["example.com/rack", "kubernetes.io/hostname"]
    assert told["topologies"][0]["cluster"]["capacity"] == {
        "cpu": "8",
        "memory": "1Ti",
        "nvidia.com/gpu": "8",
        "pods": "110",
    }
    assert told["topologies"][0]["cluster"]["used"] == {"cpu": "4", "nvidia.com/gpu": "2", "pods": "3"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], line(cli.NEITHER_SHAPE_NOR_DRAWING), id="neither a shape nor a drawing"),
        pytest.param(
            ["--shape", "host=1", "--drawing", "x"], line(cli.SHAPE_AND_DRAWING), id="a shape and a drawing"
        ),
        pytest.param(
            ["--shape", "host=1", "--levels", "rack"], line(cli.LEVELS_OF_SHAPE), id="levels of a shape"
        ),
        pytest.param(
            ["--shape", "host=1", "--cpu", "many", "--memory", "-1"], "--cpu: ", id="CPUs that are no number"
        ),
        pytest.param(
            ["--shape", "host=1", "--cpu", "many", "--memory", "-1"], "--memory: ", id="negative memory"
        ),
        pytest.param(["--drawing", "."], line(cli.DRAWING_IS_DIRECTORY, "."), id="a directory"),
        pytest.param(
            ["--drawing", "no-such-file"],
            line(cli.NO_SUCH_FILE, "no-such-file", remedy=""),
            id="a file that is not there",
        ),
    ],
)
def test_nodes_refuses_what_makes_no_sense(arguments: list[str], message: str) -> None:
    run = Run("nodes", *arguments)

    assert run.status == 2
    assert message in run.err


def test_problems_of_a_drawing_name_file_and_line(tmp_path: Path) -> None:
    drawing = tmp_path / "c.txt"
    drawing.write_text("r1\n  x1: lots\n  x1: 8\n")
    run = Run("nodes", "--drawing", str(drawing))

    assert run.status == 2
    assert run.err.startswith(f"{drawing}:line 2: ")
    assert f"{drawing}:line 3: " in run.err


def test_the_demo_shows_a_cluster_a_plan_and_an_explanation(tmp_path: Path) -> None:
    run = Run("demo")
    files = str(tmp_path / "demo")
    Run("demo", "--write", files)

    assert run.status == 0
    assert run.err == ""
    for command in (("topology", "--topology", "datacenter"), ("plan",), ("explain", "too-tight")):
        shown = Run(*command, "-f", files).out
        assert shown
        assert shown in run.out
    assert "PodGroup inference/chat" in run.out


def test_the_demo_can_be_taken_home(tmp_path: Path) -> None:
    assert Run("demo", "--write", str(tmp_path / "demo")).status == 0
    planned = Run("plan", "-f", str(tmp_path / "demo"), "-o", "json")
    assert planned.status == 3
    assert {each["dialect"] for each in json.loads(planned.out)["outcomes"]} == {
        dialect.name for dialect in DIALECTS if dialect.kinds
    }
    assert Run("validate", "-f", str(tmp_path / "demo")).status == 0
    (tmp_path / "file").write_text("")
    assert Run("demo", "--write", str(tmp_path / "file")).status == 2


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_every_command_has_help_with_an_example(command: str) -> None:
    run = Run(command, "--help")

    assert run.status == 0
    assert f"closeknit {command}" in run.out.split("Examples:")[1]


def test_the_version_is_told() -> None:
    assert Run("--version").out.startswith("closeknit ")


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plam"], ["plan", "--no-such"], ["plan", "-f", "x", "-o", "xml"]]
)
def test_wrong_usage_ends_with_two(arguments: list[str]) -> None:
    assert Run(*arguments).status == 2
