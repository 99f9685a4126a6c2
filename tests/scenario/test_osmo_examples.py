"""The folder of OSMO's examples as a whole, and the training run over two NVL72 racks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.scenario.commands import EXAMPLES, journey, planned, run, translated

FOLDER = EXAMPLES / "osmo"
LEVELS = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/spine",
    "topology.kubernetes.io/rack",
    "nvidia.com/gpu-clique",
)


@pytest.mark.parametrize(
    "drawing", sorted(FOLDER.rglob("*.txt")), ids=lambda path: str(path.relative_to(FOLDER))
)
def test_the_nodes_of_a_cluster_are_those_of_its_drawing(drawing: Path) -> None:
    deepest = 3 if "use-case-4" in drawing.name else 4
    manifests = drawing.with_name("nodes.yaml" if drawing.stem == "cluster" else f"{drawing.stem}.yaml")

    result = run("nodes", "--drawing", drawing, "--levels", ",".join(LEVELS[:deepest]))

    assert result.stdout == manifests.read_text(encoding="utf-8")


def test_all_workflows_of_the_folder_are_placed_together() -> None:
    status, outcomes = planned(FOLDER)

    assert status == 0
    assert sorted(outcomes) == [
        "best-effort-topology",
        "multiple-nvl72-racks",
        "multiple-nvl72-same-zone",
        "single-nvl72-rack",
    ]
    assert {outcome["status"] for outcome in outcomes.values()} == {"placed"}
    assert all(outcome["proven"] for outcome in outcomes.values())


def test_a_training_run_gets_two_whole_nvl72_racks_of_one_zone() -> None:
    folder = FOLDER / "nvl72"
    files = [folder / name for name in ("pool.json", "backend.json", "training.yaml")]
    made = journey(*files, to="kai", nodes=folder / "nodes.yaml")

    assert made.placed
    assert made.outcome["proven"]
    assert len(made.pods()) == 2 * 18 + 2 + 1
    assert made.domains(1, "training-model") == {("zone-a",)}
    ((one,), (two,)) = (made.domains(4, f"training-model-{model}") for model in (1, 2))
    assert one != two
    assert [len({pod["node"] for pod in made.pods(f"training-model-{model}")}) for model in (1, 2)] == [
        18,
        18,
    ]
    where = {pod["name"].rpartition("-")[0]: pod["podSet"] for pod in made.pods()}
    assert (where["loader-1"], where["monitor"]) == ("training-catch-all", "catch-all-gpu-clique")


@pytest.mark.parametrize("target", ["grove", "podgang", "kueue"])
def test_every_workflow_can_be_said_in_the_words_of(target: str) -> None:
    assert translated(target, FOLDER)


def test_what_is_translated_is_placed_like_the_workflow(tmp_path: Path) -> None:
    files = (FOLDER / "pool.yaml", FOLDER / "multiple-nvl72-same-zone.yaml")
    nodes = FOLDER / "clusters" / "use-case-3.yaml"
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(translated("kai", *files)))

    ((_, before), (_, after)) = planned(*files, nodes), planned(tmp_path / "objects.yaml", nodes)
    (first,), (again,) = before.values(), after.values()

    assert again["workload"]["kind"] == "PodGroup"
    assert (again["pods"], again["groups"]) == (first["pods"], first["groups"])
