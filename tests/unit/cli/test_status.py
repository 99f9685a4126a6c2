"""``closeknit status`` prints what operators would write; ``validate --old`` what may not change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from closeknit.hub.sentences import cli, grove
from tests.kit.problems import line
from tests.scenario.commands import EXAMPLES, run

TOPOLOGY = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: tree}
spec: {levels: [{domain: rack, key: topology/rack}]}
"""
SET = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: serving, uid: u-1}
spec:
  replicas: 1
  template:
    topologyConstraint: {topologyName: tree, pack: {required: DOMAIN}}
    cliques:
    - name: a
      spec: {roleName: a, replicas: 2, podSpec: {containers: [{name: main, image: i}]}}
"""
DEPLOYMENT = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: graph, uid: u-2}
spec:
  topologyConstraint: {topologyProfile: tree, packDomain: DOMAIN}
  services: {A: {replicas: 1}}
"""


def file(folder: Path, name: str, *texts: str) -> Path:
    path = folder / name
    path.write_text("\n---\n".join(texts), encoding="utf-8")
    return path


def test_a_set_that_lost_its_domain_says_so_in_groves_words(tmp_path: Path) -> None:
    given = file(tmp_path, "set.yaml", TOPOLOGY, SET.replace("DOMAIN", "block"))

    result = run("status", "-f", given)

    assert result.exit_code == 0
    assert (
        "PodCliqueSet default/serving: TopologyLevelsUnavailable is True (ClusterTopologyLevelsUnavailable):"
        in result.stdout
    )


@pytest.mark.requirement("D3", "D50")
def test_a_deployment_that_lost_its_domain_never_speaks_of_grove(tmp_path: Path) -> None:
    given = file(tmp_path, "graph.yaml", TOPOLOGY, DEPLOYMENT.replace("DOMAIN", "block"))

    result = run("status", "-f", given)
    noted = run("validate", "-f", given)

    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if "DynamoGraphDeployment" in line]
    assert lines[0].startswith(
        "DynamoGraphDeployment default/graph: TopologyConstraintsEnforced is False (TopologyLevelsUnavailable):"
    )
    assert "spec.topologyConstraint" in noted.stderr
    for text in (*lines, noted.stderr):
        assert not any(word in text for word in ("Grove", "Clique", "clique"))


def test_json_lists_conditions_and_events_by_object() -> None:
    result = run("status", "-f", EXAMPLES / "dynamo", "-o", "json")

    objects = json.loads(result.stdout)["objects"]
    by_kind = {each["object"]["kind"]: each for each in objects}
    condition = by_kind["DynamoGraphDeployment"]["conditions"][0]
    assert (by_kind["DynamoGraphDeployment"]["dialect"], condition["type"], condition["status"]) == (
        "dynamo",
        "TopologyConstraintsEnforced",
        "True",
    )


def test_files_with_problems_are_told_and_end_with_2(tmp_path: Path) -> None:
    given = file(tmp_path, "set.yaml", TOPOLOGY, SET.replace("replicas: 2", "replicas: two"))

    result = run("status", "-f", given)

    assert result.exit_code == 2
    assert "replicas" in result.stderr


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        pytest.param("replicas: 1", "replicas: 3", "", id="what may change is not told"),
        pytest.param(
            "roleName: a",
            "roleName: b",
            line(
                grove.FIELD_CHANGED,
                "spec.template.cliques[0].spec.roleName",
                old='"a"',
                new='"b"',
                kind="PodCliqueSet",
            ),
            id="a role may not change",
        ),
    ],
)
@pytest.mark.requirement("D49")
def test_two_versions_are_compared(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = SET.replace("DOMAIN", "rack")
    old = file(tmp_path, "old.yaml", TOPOLOGY, text)
    new = file(tmp_path, "new.yaml", TOPOLOGY, text.replace(before, after))

    result = run("validate", "-f", new, "--old", old)

    assert result.exit_code == (2 if message else 0)
    assert message in result.stderr
    if not message:
        assert result.stderr == ""


@pytest.mark.requirement("D36", "D49")
def test_two_versions_of_a_deployment_are_compared(tmp_path: Path) -> None:
    levels = TOPOLOGY.replace("[{domain: rack", "[{domain: zone, key: topology/zone}, {domain: rack")
    old, new = (
        file(tmp_path, f"{domain}.yaml", levels, DEPLOYMENT.replace("DOMAIN", domain))
        for domain in ("rack", "zone")
    )

    result = run("validate", "-f", new, "--old", old)

    assert result.exit_code == 2
    changed = line(
        grove.FIELD_CHANGED,
        "spec.topologyConstraint.packDomain",
        old='"rack"',
        new='"zone"',
        kind="DynamoGraphDeployment",
    )
    assert changed in result.stderr


def test_versions_that_share_no_object_get_a_note(tmp_path: Path) -> None:
    old = file(tmp_path, "old.yaml", TOPOLOGY)
    new = file(tmp_path, "new.yaml", TOPOLOGY.replace("tree", "other"))

    result = run("validate", "-f", new, "--old", old)

    assert result.stderr.startswith("note: ")
    assert result.stderr.count("\n") == 1


def test_standard_input_cannot_be_compared() -> None:
    result = run("validate", "-f", "-", "--old", EXAMPLES / "kai", given=TOPOLOGY)

    assert result.exit_code == 2
    assert result.stderr == line(cli.OLD_FROM_STDIN, "--old") + "\n"


def test_objects_that_stand_in_both_files_get_no_such_note(tmp_path: Path) -> None:
    given = file(
        tmp_path, "set.yaml", TOPOLOGY, SET.replace("DOMAIN", "rack").replace("replicas: 2", "replicas: x")
    )

    result = run("validate", "-f", given, "--old", given)

    assert "note:" not in result.stderr
