"""Every command on small files: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from closeknit.cli.app import app
from closeknit.dialects import DIALECTS
from tests.unit.cli.running import Run, pod_group


@pytest.mark.parametrize(
    ("stdin", "status", "told"),
    [
        pytest.param("", 0, "There is no workload in the files", id="an empty file"),
        pytest.param("# nothing\n---\n---\n", 0, "There is no workload", id="empty documents"),
        pytest.param(pod_group("a", 1), 3, "needs room for 1 pod; the cluster has none", id="no nodes"),
        pytest.param(pod_group("a", 0), 0, "placed, 0 pods on 0 nodes", id="a workload of no pods"),
        pytest.param("a: [", 2, "", id="text that is no YAML"),
        pytest.param("{a: 1, a: 2}", 2, "", id="a key given twice"),
        pytest.param("- 1\n- 2\n", 2, "", id="a list where an object belongs"),
        pytest.param("[" * 10_000, 2, "", id="ten thousand nested lists"),
        pytest.param("\x00\x01", 2, "", id="bytes that are no text"),
    ],
)
def test_odd_input_is_answered_and_never_with_a_traceback(stdin: str, status: int, told: str) -> None:
    run = Run("plan", "-f", "-", stdin=stdin)

    assert run.status == status
    assert told in run.out
    if status == 2:
        assert run.err.startswith("<stdin>:")
    assert "Traceback" not in run.err


def test_a_kind_that_nobody_reads_is_mentioned() -> None:
    run = Run("plan", "-f", "-", stdin="apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")

    assert run.status == 0
    assert run.err == "note: 1 document of kind Service (v1) was passed over: no dialect reads that kind.\n"


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
    assert "3 problems found." in run.err


def test_lenient_passes_over_unknown_fields() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {alocatable: {}}\n"

    assert Run("validate", "-f", "-", stdin=node).status == 2
    assert Run("validate", "-f", "-", "--lenient", stdin=node).status == 0


def test_validate_sums_up_what_is_valid(cluster: str) -> None:
    run = Run("validate", "-f", cluster, "-f", "-", stdin=pod_group("a", 99, "rack"))

    assert run.status == 0
    assert run.out == "Valid: 1 workload, 5 nodes, 4 running pods, 1 topology (t).\n"


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
    assert run.out == "t: 1 remark\n  rack r1 lies under 2 parents, which makes as many domains: b1, b2.\n"


def test_an_unknown_topology_is_refused(cluster: str) -> None:
    run = Run("topology", "-f", cluster, "--topology", "tt")

    assert run.status == 2
    assert 'Did you mean "t"?' in run.err


def test_topology_without_a_topology_lists_the_nodes() -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n"
    run = Run("topology", "-f", "-", stdin=node)

    assert run.out == (
        "no topology\n  cluster: 1 node, 0 of 8 nvidia.com/gpu used\n    n1: 0 of 8 nvidia.com/gpu used\n"
    )
    for more in (["--check"], ["-o", "json"], ["-o", "svg"]):
        assert Run("topology", "-f", "-", *more, stdin=node).status == 0


def test_nodes_of_a_shape_are_read_back() -> None:
    nodes = Run("nodes", "--shape", "zone=2,rack=2,host=3", "--gpus", "4", "--topology", "mine")
    told = Run("topology", "-f", "-", stdin=nodes.out)

    assert told.out == (
        "mine: topology/zone > topology/rack > kubernetes.io/hostname\n"
        "  cluster: 12 nodes, 0 of 48 nvidia.com/gpu used\n"
        "    zone-1, zone-2: 2 alike, each 6 nodes, 0 of 24 nvidia.com/gpu used\n"
        "      rack-1-1, rack-1-2: 2 alike, each 3 nodes, 0 of 12 nvidia.com/gpu used\n"
        "        host-1-1-1 to host-1-1-3: 3 alike, each 0 of 4 nvidia.com/gpu used\n"
    )


def test_nodes_as_json_are_one_list_that_reads_back() -> None:
    nodes = Run("nodes", "--shape", "rack=2,host=3", "-o", "json")

    assert nodes.json()["kind"] == "List"
    assert Run("validate", "-f", "-", stdin=nodes.out).out.startswith("Valid: 0 workloads, 6 nodes")


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
    ("arguments", "told"),
    [
        ([], "Neither --shape nor --drawing is given."),
        (["--shape", "host=1", "--drawing", "x"], "--shape and --drawing are both given."),
        (["--shape", "host=1", "--levels", "rack"], "--levels names the levels of a drawing"),
        (["--shape", "host=1", "--cpu", "many", "--memory", "-1"], "--cpu: "),
        (["--shape", "host=1", "--cpu", "many", "--memory", "-1"], "--memory: "),
        (["--drawing", "."], "A drawing is a file"),
        (["--drawing", "no-such-file"], "There is no such file"),
    ],
)
def test_nodes_refuses_what_makes_no_sense(arguments: list[str], told: str) -> None:
    run = Run("nodes", *arguments)

    assert run.status == 2
    assert told in run.err


def test_problems_of_a_drawing_name_file_and_line(tmp_path: Path) -> None:
    drawing = tmp_path / "c.txt"
    drawing.write_text("r1\n  x1: lots\n  x1: 8\n")
    run = Run("nodes", "--drawing", str(drawing))

    assert run.status == 2
    assert run.err.startswith(f"{drawing}:line 2: ")
    assert f"{drawing}:line 3: " in run.err


def test_the_demo_shows_a_cluster_a_plan_and_an_explanation() -> None:
    run = Run("demo")

    assert run.status == 0
    assert run.err == ""
    assert "PodGroup inference/chat: placed" in run.out
    assert "where one is preferred" in run.out
    assert "and it can be placed." in run.out


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
