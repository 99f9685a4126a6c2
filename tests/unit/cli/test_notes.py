"""What commands tell of workloads that are valid and have lost something nevertheless."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from closeknit.hub.sentences import grove
from tests.kit.problems import text
from tests.scenario.commands import run

NODE = """
apiVersion: v1
kind: Node
metadata:
  name: a
  labels: {zone: z, kubernetes.io/hostname: a}
status:
  allocatable: {cpu: "8", pods: "9"}
---
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: grove-topology}
spec:
  levels:
  - {domain: zone, key: zone}
  - {domain: host, key: kubernetes.io/hostname}
"""
SET = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat, uid: 4f0c}
spec:
  replicas: 1
  template:
    topologyConstraint:
      topologyName: grove-topology
      pack: {required: rack}
    cliques:
    - name: server
      spec:
        roleName: server
        replicas: 1
        podSpec:
          containers: [{name: main, image: i, resources: {requests: {cpu: 1}}}]
"""
DEPLOYMENT = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat, uid: 4f0c}
spec:
  topologyConstraint: {clusterTopologyName: grove-topology, packDomain: rack}
  components:
  - name: server
    replicas: 1
    podTemplate:
      spec:
        containers: [{name: main, image: i, resources: {requests: {cpu: 1}}}]
"""


def lost_domain(condition: str, reason: str) -> str:
    """The note on a level that a topology has lost, with the condition that an operator would write."""
    facts = {"topology": "grove-topology", "domain": "rack"}
    return text(grove.LOST_DOMAIN, **facts, condition=condition, reason=reason)


@pytest.fixture(
    params=[
        pytest.param(
            (
                SET,
                "PodCliqueSet default/chat",
                "spec.template.topologyConstraint.pack.required",
                lost_domain("TopologyLevelsUnavailable", "ClusterTopologyLevelsUnavailable"),
            ),
            id="a set",
        ),
        pytest.param(
            (
                DEPLOYMENT,
                "DynamoGraphDeployment default/chat",
                "spec.topologyConstraint.packDomain",
                lost_domain("TopologyConstraintsEnforced", "TopologyLevelsUnavailable"),
            ),
            id="a deployment",
        ),
    ]
)
def lost(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, str, str]:
    """Files in which a running workload's topology has lost a level, and what is to be said of whom."""
    text, who, path, message = request.param
    file = tmp_path / "lost.yaml"
    file.write_text(f"{NODE}---{text}")
    return file, who, path, message


@pytest.mark.requirement("G68")
def test_validate_tells_and_succeeds(lost: tuple[Path, str, str, str]) -> None:
    file, who, path, message = lost
    told = run("validate", "-f", file)

    assert told.exit_code == 0
    assert f"note: {who}: {path}: {message}\n" in told.stderr


def test_plan_tells_and_places(lost: tuple[Path, str, str, str]) -> None:
    file, who, path, message = lost
    told = run("plan", "-f", file)

    assert told.exit_code == 0
    assert f"{who}: note: {path}: {message}\n" in told.stdout


def test_explain_tells(lost: tuple[Path, str, str, str]) -> None:
    file, _, path, message = lost
    told = run("explain", "-f", file, "chat")

    assert f"note: {path}: {message}" in " ".join(told.stdout.split())


def test_json_has_notes_only_where_there_are_any(lost: tuple[Path, str, str, str]) -> None:
    file, _, path, message = lost
    (outcome,) = json.loads(run("plan", "-f", file, "-o", "json").stdout)["outcomes"]
    (note,) = outcome["notes"]
    assert (outcome["status"], note["path"], note["message"]) == ("placed", path, message)

    file.write_text(file.read_text().replace("rack", "zone"))
    (outcome,) = json.loads(run("plan", "-f", file, "-o", "json").stdout)["outcomes"]
    assert "notes" not in outcome


def test_what_does_not_run_yet_is_refused_instead(lost: tuple[Path, str, str, str]) -> None:
    file, _, _, _ = lost
    file.write_text(file.read_text().replace(", uid: 4f0c", ""))

    assert run("validate", "-f", file).exit_code == 2
