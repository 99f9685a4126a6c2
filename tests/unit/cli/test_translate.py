"""``translate`` says why there is nothing to be seen of something, and ends as if all were well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from closeknit.cli.app import app

GROUP = json.dumps(
    {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {},
    }
)
GROVE_EXAMPLES = (Path("examples/grove/hierarchical-inference.yaml"), Path("examples/grove/gang"))
POD = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"pod-group-name": "train"}},
        "spec": {"containers": [{"name": "main"}]},
    }
)


@pytest.mark.parametrize(
    ("manifests", "target", "notes"),
    [
        pytest.param(GROUP, "pods", [], id="what is written needs no note"),
        pytest.param(
            f"{GROUP}\n{POD}",
            "pods",
            [["PodGroup default/train", "pods", "kai, grove, podgang, kueue, kubernetes"]],
            id="a workload of which nothing is left is named",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Node, metadata: {name: n1}}",
            "kueue",
            [["kueue"]],
            id="files without a workload are told of",
        ),
        pytest.param(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}",
            "kai",
            [["1", "Deployment (apps/v1)"], ["kai"]],
            id="a document that nobody reads is told of",
        ),
    ],
)
def test_nothing_is_left_out_in_silence(manifests: str, target: str, notes: list[list[str]]) -> None:
    run = CliRunner().invoke(app, ["translate", "-f", "-", "--to", target], input=manifests)

    for note, names in zip(run.stderr.splitlines(), notes, strict=True):
        assert note.startswith("note: ")
        assert [name for name in names if name not in note] == []
    assert run.exit_code == 0
    assert bool(run.stdout) == (not notes)


def test_what_is_worth_knowing_of_a_workload_is_told_as_by_validate() -> None:
    """A set that stands in the cluster asks for a level that its topology has lost."""
    binding = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": "tree"},
        "spec": {"levels": [{"domain": "zone", "key": "topology/zone"}]},
    }
    given = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "serve", "uid": "1"},
        "spec": {
            "replicas": 1,
            "template": {
                "topologyConstraint": {"topologyName": "tree", "pack": {"required": "rack"}},
                "cliques": [{"name": "a", "spec": {"roleName": "a", "replicas": 2}}],
            },
        },
    }
    files = f"{json.dumps(binding)}\n{json.dumps(given)}"
    validated = CliRunner().invoke(app, ["validate", "-f", "-"], input=files)
    translated = CliRunner().invoke(app, ["translate", "-f", "-", "--to", "podgang"], input=files)

    assert translated.stderr.startswith("note: PodCliqueSet default/serve: ")
    assert translated.stderr == validated.stderr
    assert translated.exit_code == 0
    assert "kind: PodGang" in translated.stdout


def test_what_is_written_under_another_name_is_told() -> None:
    set_of_one = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "train"},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": "a", "spec": {"replicas": 2}}]}},
    }
    files = "\n".join([GROUP, json.dumps(set_of_one)])
    run = CliRunner().invoke(app, ["translate", "-f", "-", "--to", "grove"], input=files)

    assert run.stderr.startswith("note: PodGroup default/train: ")
    assert run.stderr.count("\n") == 1
    for name in ('"train-podgroup"', "PodCliqueSet default/train"):
        assert name in run.stderr
    assert run.exit_code == 0
    assert "  name: train-podgroup\n" in run.stdout


@pytest.mark.parametrize("queue", ["", "team"])
def test_pod_groups_that_kai_would_pass_over_are_named(queue: str) -> None:
    group = json.loads(GROUP)
    group["spec"]["queue"] = queue
    run = CliRunner().invoke(app, ["translate", "-f", "-", "--to", "kai"], input=json.dumps(group))

    noted = [line for line in run.stderr.splitlines() if "train" in line and "kai.scheduler/queue" in line]
    assert len(noted) == (not queue)


@pytest.mark.parametrize(
    "example", [*sorted(Path("examples/grove").glob("disaggregated-*.yaml")), *GROVE_EXAMPLES], ids=str
)
def test_every_pod_group_of_the_examples_of_grove_has_a_queue(example: Path) -> None:
    run = CliRunner().invoke(app, ["translate", "-f", str(example), "--to", "kai", "-o", "json"])
    written = json.loads(run.stdout)
    groups = [each for each in written["items"] if each["kind"] == "PodGroup"]

    assert groups
    assert [each["metadata"]["name"] for each in groups if not each["spec"].get("queue")] == []
