"""KAI's design for topology at several levels, passage by passage.

Each example of the design stands in ``examples/kai`` with its own names and values, and goes through
``validate``, ``translate`` and ``plan``. A test is named after its passage.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import kai
from tests.kit.problems import line
from tests.scenario.commands import EXAMPLES, Journey, Json, journey, refused, run

FOLDER = EXAMPLES / "kai"
ZONE, BLOCK, RACK = 1, 2, 3
"""How deep the levels of the cluster lie."""

CLUSTER = """\
zone-a
  block-1
    rack-1
      node-1: 10
    rack-2
      node-2: 5
  block-2
    rack-3
      node-3: 9
    rack-4
      node-4: 9
zone-b
  block-3
    rack-5
      node-5: 10
    rack-6
      node-6: {last}
"""


def through(sample: str, *pods: Path, nodes: Path = FOLDER / "nodes.yaml") -> Journey:
    """One of the samples, with pods or with those that are assumed, on a cluster."""
    made = journey(FOLDER / f"{sample}.yaml", *pods, nodes, to="kai")
    assert (made.outcome["dialect"], made.outcome["workload"]["name"]) == ("kai", sample)
    return made


def drawn(folder: Path, last: int) -> Path:
    """A cluster whose last rack has this many GPUs; only with six can two racks of a block take the workers."""
    (folder / "cluster.txt").write_text(CLUSTER.format(last=last))
    result = run("nodes", "--drawing", folder / "cluster.txt", "--topology", "cluster-topology")
    (folder / "nodes.yaml").write_text(result.stdout)
    return folder / "nodes.yaml"


def in_todays_spelling(sample: str) -> Json:
    """The sample as it stands, with the name that the list of subgroups has today, and its namespace."""
    given: Json = yaml.safe_load((FOLDER / f"{sample}.yaml").read_text(encoding="utf-8"))
    given["metadata"]["namespace"] = "default"
    given["spec"]["subGroups"] = given["spec"].pop("subgroups")
    return given


@pytest.mark.requirement("A8", "A23", "A24")
@pytest.mark.parametrize(
    "pods",
    [
        pytest.param((), id="assumed pods of one GPU"),
        pytest.param(
            (FOLDER / "pods/sample1.yaml",),
            id="the pods of the design, which ask for nothing",
            marks=pytest.mark.requirement("A36"),
        ),
        pytest.param((FOLDER / "sample1-pods.yaml",), id="pods of four GPUs"),
    ],
)
def test_example_independent_subgroup_constraints(pods: tuple[Path, ...]) -> None:
    """Pods of each subgroup are on the same rack, which may be another one for each."""
    made = through("sample1", *pods)

    (group,) = made.made("PodGroup")
    assert group == in_todays_spelling("sample1")
    assert made.placed
    assert [len(made.pods(name)) for name in ("subgroup-a", "subgroup-b")] == [2, 3]
    for name in ("subgroup-a", "subgroup-b"):
        assert len(made.domains(RACK, name)) == 1
        reached = made.group(name)
        assert (reached["required"], reached["parent"], reached["satisfied"]) == ("topology/rack", None, True)


@pytest.mark.requirement("A25")
def test_example_independent_subgroup_constraints_possibly_on_different_racks() -> None:
    """With four GPUs a pod no rack of the cluster takes both subgroups."""
    made = through("sample1", FOLDER / "sample1-pods.yaml")

    assert made.domains(RACK, "subgroup-a").isdisjoint(made.domains(RACK, "subgroup-b"))


@pytest.mark.requirement("A26")
def test_example_pods_reference_the_pod_group_and_their_subgroup() -> None:
    made = through("sample1", FOLDER / "pods/sample1.yaml")

    assert {pod["name"]: pod["podSet"] for pod in made.pods()} == {
        "pod-a1": "subgroup-a",
        "pod-a2": "subgroup-a",
        "pod-b1": "subgroup-b",
        "pod-b2": "subgroup-b",
        "pod-b3": "subgroup-b",
    }


@pytest.mark.requirement("A27")
def test_example_pods_placement_waits_until_min_member_of_each_subgroup_is_met(tmp_path: Path) -> None:
    """The two pods that the design shows are fewer than its subgroups need."""
    pods = yaml.safe_load_all((FOLDER / "pods/sample1.yaml").read_text(encoding="utf-8"))
    shown = [pod for pod in pods if pod["metadata"]["name"] in {"pod-a1", "pod-b1"}]
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all(shown))

    problems = refused(FOLDER / "sample1.yaml", FOLDER / "nodes.yaml", tmp_path / "pods.yaml")

    assert [problem.split(": ")[0] for problem in problems] == [
        "spec.subgroups[0].minMember",
        "spec.subgroups[1].minMember",
    ]


@pytest.mark.requirement("A1", "A2", "A3", "A4", "A28", "A29", "A30", "A31", "A33")
@pytest.mark.parametrize(
    "pods",
    [
        pytest.param((), id="assumed pods of one GPU"),
        pytest.param((FOLDER / "pods/sample2.yaml",), id="pods that ask for nothing"),
        pytest.param((FOLDER / "sample2-pods.yaml",), id="pods of two GPUs"),
    ],
)
def test_advanced_example_cross_subgroup_and_hierarchical_constraints(pods: tuple[Path, ...]) -> None:
    """One zone for all, one block for the workers, one rack for prefill and one for decode."""
    made = through("sample2", *pods)

    (group,) = made.made("PodGroup")
    assert group == in_todays_spelling("sample2")
    assert made.placed
    assert [len(made.pods(name)) for name in ("api-server", "prefill", "decode")] == [1, 3, 5]
    assert len(made.domains(ZONE)) == 1
    assert len(made.domains(BLOCK, "prefill") | made.domains(BLOCK, "decode")) == 1
    assert [len(made.domains(RACK, name)) for name in ("prefill", "decode")] == [1, 1]
    assert [made.group(name)["parent"] for name in ("prefill", "decode")] == ["workers", "workers"]
    assert (made.group("api-server")["required"], made.group("api-server")["parent"]) == (None, None)


@pytest.mark.requirement("A3", "A11", "A29", "A30", "A31")
def test_advanced_example_prefill_and_decode_have_a_rack_each_under_one_block(tmp_path: Path) -> None:
    """Pods of two GPUs on racks that take one of the two: only block-3 has two that are large enough."""
    made = through("sample2", FOLDER / "sample2-pods.yaml", nodes=drawn(tmp_path, last=6))

    assert made.placed
    assert made.domains(RACK, "decode") == {("zone-b", "block-3", "rack-5")}
    assert made.domains(RACK, "prefill") == {("zone-b", "block-3", "rack-6")}
    assert made.domains(ZONE) == {("zone-b",)}


@pytest.mark.requirement("A32")
def test_advanced_example_a_subgroup_beside_the_workers_has_a_rack_of_its_own(tmp_path: Path) -> None:
    given = yaml.safe_load((FOLDER / "sample2.yaml").read_text(encoding="utf-8"))
    close = {"topology": "cluster-topology", "requiredTopologyLevel": "topology/rack"}
    given["spec"]["subgroups"].append({"name": "c", "minMember": 9, "topologyConstraint": close})
    del given["spec"]["topologyConstraint"]
    (tmp_path / "group.yaml").write_text(yaml.safe_dump(given))

    made = journey(tmp_path / "group.yaml", drawn(tmp_path, last=5), to="kai")

    assert made.placed
    assert len(made.pods("c")) == 9
    assert len(made.domains(RACK, "c")) == 1
    assert (made.group("c")["required"], made.group("c")["parent"]) == ("topology/rack", None)


@pytest.mark.requirement("A11", "A16", "A38")
def test_advanced_example_is_not_placed_where_no_block_takes_all_workers(tmp_path: Path) -> None:
    """Zone-a has racks for prefill and for decode, but not in one block."""
    made = through("sample2", FOLDER / "sample2-pods.yaml", nodes=drawn(tmp_path, last=5))

    assert (made.status, made.outcome["status"], made.outcome["pods"]) == (3, "unplaceable", [])


@pytest.mark.requirement("A34")
def test_example_pods_for_hierarchical_pod_group_name_subgroups_that_it_does_not_have() -> None:
    """The design's pods say subgroup-a, -b and -c, and its PodGroup has api-server, prefill and decode."""
    assert refused(EXAMPLES / "invalid") == [
        line(
            kai.NO_SUCH_SUBGROUP,
            'metadata.labels["kai.scheduler/subgroup-name"]',
            group="default/sample2",
            subgroup=subgroup,
            allowed=OneOf(subgroup, ("api-server", "decode", "prefill")),
        )
        for subgroup in ("subgroup-a", "subgroup-b", "subgroup-c")
    ]
    assert run("plan", "-f", EXAMPLES / "invalid").exit_code == 2
    assert run("translate", "-f", EXAMPLES / "invalid", "--to", "kai").exit_code == 2


@pytest.mark.requirement("A17")
def test_topology_constraints_a_preferred_level_is_shared_if_possible(tmp_path: Path) -> None:
    """A rack is preferred for both subgroups of sample1; where none has room, they are placed all the same."""
    given = yaml.safe_load((FOLDER / "sample1.yaml").read_text(encoding="utf-8"))
    for part in given["spec"]["subgroups"]:
        constraint = part["topologyConstraint"]
        constraint["preferredTopologyLevel"] = constraint.pop("requiredTopologyLevel")
    given["metadata"]["annotations"] = {"closeknit.dev/pod-resources": '{"nvidia.com/gpu": "5"}'}
    (tmp_path / "group.yaml").write_text(yaml.safe_dump(given))
    made = journey(tmp_path / "group.yaml", drawn(tmp_path, last=5), to="kai")

    assert made.placed
    assert made.group("subgroup-a")["satisfied"]
    assert not made.group("subgroup-b")["satisfied"]
