"""Every command on small files: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from closeknit.cli.app import app
from closeknit.dialects import DIALECTS

SCHEMA = json.loads((Path(__file__).parent / "outcomes.schema.json").read_text())
TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec:
  levels: [{nodeLabel: block}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]
---
"""
URGENT = """
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 9
"""
DRAWING = """
b1
  r1
    x1: 8
    x2: 8 used=4:other
  r2
    x3: 8
    x4: 8
b2
  r1
    x5: 8
"""


class Run:
    """One run of the command line."""

    def __init__(self, *arguments: str, stdin: str = "") -> None:
        self._result = CliRunner().invoke(app, list(arguments), input=stdin)
        # A command may end the process, and in no other way.
        assert self._result.exception is None or isinstance(self._result.exception, SystemExit), (
            self._result.exception
        )
        self.status = self._result.exit_code
        self.out = self._result.stdout
        self.err = self._result.stderr

    def json(self) -> Any:
        return json.loads(self.out)


def pod_group(
    name: str, members: int | None, required: str | None = None, *, gpus: int = 8, **more: Any
) -> str:
    """A PodGroup of equal pods, as YAML."""
    constraint = {"topology": "t"} | ({"requiredTopologyLevel": required} if required else {})
    spec = ({} if members is None else {"minMember": members}) | (
        {"topologyConstraint": constraint} if required else {}
    )
    metadata = {
        "name": name,
        "annotations": {"closeknit.dev/pod-resources": json.dumps({"nvidia.com/gpu": str(gpus)})},
    }
    manifest = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": metadata | more.pop("metadata", {}),
        "spec": spec | more,
    }
    return f"---\n{yaml.safe_dump(manifest)}"


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """A directory with the drawn cluster as manifests."""
    (tmp_path / "cluster.txt").write_text(DRAWING)
    nodes = Run("nodes", "--drawing", str(tmp_path / "cluster.txt"), "--prefix", "")
    (tmp_path / "nodes.yaml").write_text(TOPOLOGY + nodes.out)
    return str(tmp_path)


def outcomes(run: Run) -> list[dict[str, Any]]:
    output = run.json()
    jsonschema.validate(output, SCHEMA)
    listed = output["outcomes"]
    assert isinstance(listed, list)
    return listed


# ---- plan ----


def test_plan_places_each_workload_beside_the_earlier_ones(cluster: str) -> None:
    run = Run(
        "plan",
        "-f",
        cluster,
        "-f",
        "-",
        "-o",
        "json",
        stdin=pod_group("a", 2, "rack") + pod_group("b", 2, "rack"),
    )

    first, second = outcomes(run)
    assert run.status == 3
    assert [pod["node"] for pod in first["pods"]] == ["x3", "x4"]
    assert first["pods"][0]["domain"] == ["b1", "r2", "x3"]
    assert first["groups"][0]["domains"] == [["b1", "r2"]]
    assert second["status"] == "unplaceable"
    assert second["shortfalls"][0]["wanted"] == 2
    assert run.err == ""


def test_plan_places_all_and_ends_with_zero(cluster: str) -> None:
    run = Run("plan", "-f", cluster, "-f", "-", stdin=pod_group("a", 2, "rack"))

    assert run.status == 0
    assert run.out == (
        "PodGroup default/a: placed, 2 pods on 2 nodes\n"
        "PodGroup default/a: group default/a: in one rack: b1/r2 (required)\n"
        "PodGroup default/a: pod a-0 (default) on x3\n"
        "PodGroup default/a: pod a-1 (default) on x4\n"
        "1 workload: 1 placed.\n"
    )


@pytest.mark.parametrize(
    ("groups", "order"),
    [
        pytest.param([pod_group("b", 1), pod_group("a", 1)], ["a", "b"], id="names decide last"),
        pytest.param(
            [
                pod_group("a", 1, metadata={"creationTimestamp": "2025-01-01T12:00:00+02:00"}),
                pod_group("b", 1, metadata={"creationTimestamp": "2025-01-01T09:00:00Z"}),
                pod_group("c", 1, metadata={"creationTimestamp": "2024-01-01T00:00:00Z"}),
                pod_group("d", 1),
            ],
            ["c", "b", "a", "d"],
            id="the older goes first, whatever the offset of its time, and an unknown age last",
        ),
        pytest.param(
            [
                pod_group("a", 1, metadata={"creationTimestamp": "2024-01-01T00:00:00Z"}),
                pod_group("b", 1, priorityClassName="urgent"),
                URGENT,
            ],
            ["b", "a"],
            id="priority goes before age",
        ),
    ],
)
def test_the_queue_has_an_order(cluster: str, groups: list[str], order: list[str]) -> None:
    run = Run("plan", "-f", cluster, "-f", "-", "-o", "json", stdin="".join(groups))
    again = Run("plan", "-f", "-", "-f", cluster, "-o", "json", stdin="".join(reversed(groups)))

    names = [name.removesuffix("-0") for name in (pod["workload"]["name"] for pod in outcomes(run))]
    assert names == order
    assert again.out == run.out


def test_an_invalid_workload_is_listed_and_the_others_are_still_planned(cluster: str) -> None:
    run = Run(
        "plan", "-f", cluster, "-f", "-", "-o", "json", stdin=pod_group("a", 2, "rock") + pod_group("b", 1)
    )

    first, second = outcomes(run)
    assert run.status == 2
    assert (first["status"], second["status"]) == ("invalid", "placed")
    (problem,) = first["problems"]
    assert problem["path"] == "spec.topologyConstraint.requiredTopologyLevel"
    assert '"rack"' in problem["message"]
    assert run.err.startswith("<stdin>:1:spec.topologyConstraint.requiredTopologyLevel: ")


def test_plan_draws(cluster: str) -> None:
    run = Run("plan", "-f", cluster, "-f", "-", "-o", "svg", stdin=pod_group("a", 2, "rack"))

    assert run.status == 0
    assert run.out.startswith("<svg ")
    assert run.out.count('class="w0" x=') == 16 + 1
    assert "PodGroup default/a: placed, 2 pods on 2 nodes" in run.out


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    drawing = tmp_path / "cluster.txt"
    drawing.write_text("[bold]r[/bold]\n  x1: 8\n<script>\n  x2: 1\n")
    nodes = Run("nodes", "--drawing", str(drawing), "--prefix", "").out
    topology = TOPOLOGY.replace("{nodeLabel: block}, ", "")
    run = Run("topology", "-f", "-", stdin=topology + nodes)

    assert "[bold]r[/bold]: 1 node, 0 of 8 nvidia.com/gpu used" in run.out
    picture = Run("topology", "-f", "-", "-o", "svg", stdin=topology + nodes).out
    assert "[bold]r[/bold]" in picture
    assert "<script>" not in picture


# ---- odd input ----


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


# ---- explain ----


def test_explain_a_placed_workload(cluster: str) -> None:
    run = Run("explain", "-f", cluster, "-f", "-", "a", stdin=pod_group("a", 2, "rack") + pod_group("0", 1))

    assert run.status == 0
    assert run.out == (
        "PodGroup default/a: placed, 2 pods on 2 nodes\n"
        "  Before it in the queue, 1 of 1 placed: PodGroup default/0.\n"
        "  Where its groups are\n"
        "    all pods in one rack: b1/r2 (required)\n"
        "    x3: 1 pod (a-0)\n"
        "    x4: 1 pod (a-1)\n"
        "  What they could choose from\n"
        "    default/a: of 3 rack only b1/r2 has room for it, where 2 pods would fit.\n"
        "  How good that is\n"
        "    No pod is left out.\n"
        "    It uses 1 of block, 1 of rack, 2 nodes.\n"
        "    No placement does better on these points.\n"
    )


def test_explain_a_workload_that_cannot_be_placed(cluster: str) -> None:
    run = Run("explain", "-f", cluster, "-f", "-", "default/a", stdin=pod_group("a", 3, "rack"))

    assert run.status == 3
    assert run.out.startswith(
        "PodGroup default/a: cannot be placed\n"
        "  default/a needs room for 3 pods in one rack; the best has room for 2.\n"
        "    Where most would fit\n"
        "      b1/r2: room for 2 pods; nvidia.com/gpu runs out.\n"
    )
    assert "Require block instead of rack for default/a, and it can be placed." in run.out
    assert "Ask for 2 pods of default/a instead of 3, and it can be placed." in run.out


def test_explain_says_why_a_preference_does_not_hold(cluster: str) -> None:
    constraint = {"topology": "t", "requiredTopologyLevel": "block", "preferredTopologyLevel": "rack"}
    stdin = pod_group("a", 3, topologyConstraint=constraint)
    run = Run("explain", "-f", cluster, "-f", "-", "a", stdin=stdin)
    entry = outcomes(Run("explain", "-f", cluster, "-f", "-", "a", "-o", "json", stdin=stdin))[0]

    assert run.status == 0
    assert "all pods over 2 domains of rack, where one is preferred: b1/r1, b1/r2" in run.out
    assert "  Why default/a does not get one rack\n" in run.out
    assert "default/a needs room for 3 pods in one rack; the best has room for 2." in run.out
    assert entry["groups"][0]["satisfied"] is False
    (missed,) = entry["missedPreferences"]
    assert missed["why"] == "lacking"
    assert missed["shortfalls"][0]["relaxations"] == []


def test_explain_says_nothing_of_preferences_that_hold(cluster: str) -> None:
    constraint = {"topology": "t", "preferredTopologyLevel": "rack"}
    run = Run(
        "explain", "-f", cluster, "-f", "-", "a", stdin=pod_group("a", 2, topologyConstraint=constraint)
    )

    assert "all pods in one rack: b1/r2 (preferred)" in run.out
    assert "Every preference for rack is met." in run.out
    assert "Why" not in run.out


def test_a_workload_that_shares_no_level_is_shown_by_its_nodes(cluster: str) -> None:
    run = Run("explain", "-f", cluster, "-f", "-", "a", stdin=pod_group("a", 4))

    assert "  Where its groups are\n    x1: 1 pod (a-0)\n" in run.out
    assert "all pods" not in run.out


def test_explain_says_that_a_coarser_preference_went_before(tmp_path: Path) -> None:
    # Block b1 takes the whole tree, but only b2 has a rack for the child's four pods.
    drawing = tmp_path / "cluster.txt"
    drawing.write_text("b1\n  r1\n    x1: 3\n  r2\n    x2: 3\nb2\n  r3\n    x3: 4\n")
    nodes = Run("nodes", "--drawing", str(drawing), "--prefix", "").out
    child = {"topology": "t", "preferredTopologyLevel": "rack"}
    stdin = pod_group(
        "a",
        None,
        gpus=1,
        topologyConstraint={"topology": "t", "preferredTopologyLevel": "block"},
        subGroups=[{"name": "c", "minMember": 4, "topologyConstraint": child}, {"name": "d", "minMember": 2}],
    )
    run = Run("explain", "-f", "-", "a", stdin=TOPOLOGY + nodes + stdin)

    assert (
        "Why c does not get one rack\n    It could, but a wish that goes before this one would suffer.\n"
        in run.out
    )


@pytest.mark.parametrize("name", ["a", "default/a", "PodGroup/default/a"])
def test_a_workload_is_found_by_each_of_its_names(cluster: str, name: str) -> None:
    assert Run("explain", "-f", cluster, "-f", "-", name, stdin=pod_group("a", 1)).status == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("trian", 'Did you mean "train"?', id="a slip is met with the nearest name"),
        pytest.param(
            "default/trian", 'Did you mean "default/train"?', id="and in the spelling that was used"
        ),
        pytest.param(
            "twice",
            'could be 2 workloads. Name one of them: "PodGroup/default/twice", "PodGroup/other/twice".',
            id="a name that two share is told apart",
        ),
    ],
)
def test_an_unknown_or_ambiguous_name_is_refused_with_what_was_meant(
    cluster: str, name: str, told: str
) -> None:
    groups = [
        pod_group("train", 1),
        pod_group("twice", 1),
        pod_group("twice", 1, metadata={"name": "twice", "namespace": "other"}),
    ]
    run = Run("explain", "-f", cluster, "-f", "-", name, stdin="".join(groups))

    assert run.status == 2
    assert told in run.err


# ---- validate ----


def test_validate_lists_every_problem_of_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(pod_group("a", -1) + pod_group("b", 1, "rack"))
    (tmp_path / "b.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {alocatable: {}}\n"
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
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {alocatable: {}}\n"

    assert Run("validate", "-f", "-", stdin=node).status == 2
    assert Run("validate", "-f", "-", "--lenient", stdin=node).status == 0


def test_validate_sums_up_what_is_valid(cluster: str) -> None:
    run = Run("validate", "-f", cluster, "-f", "-", stdin=pod_group("a", 99, "rack"))

    assert run.status == 0
    assert run.out == "Valid: 1 workload, 5 nodes, 4 running pods, 1 topology (t).\n"


# ---- topology ----


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


# ---- nodes ----


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


# ---- demo, help, version ----


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
        dialect.name for dialect in DIALECTS
    }
    assert Run("validate", "-f", str(tmp_path / "demo")).status == 0
    (tmp_path / "file").write_text("")
    assert Run("demo", "--write", str(tmp_path / "file")).status == 2


@pytest.mark.parametrize("command", ["plan", "explain", "validate", "topology", "nodes", "demo"])
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
