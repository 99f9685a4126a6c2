"""Topologies that go on below hosts, in the words of those who take no level there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, read, translate
from closeknit.hub.topology import Level, Topology

BINDING = """
apiVersion: grove.io/v1alpha1
kind: ClusterTopologyBinding
metadata: {name: t}
spec:
  levels:
  - {domain: rack, key: topology/rack}
  - {domain: host, key: kubernetes.io/hostname}
  - {domain: numa, key: topology/numa}
"""
SET = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: chat}
spec:
  replicas: 1
  template:
    topologyConstraint: {topologyName: t, pack: {required: rack, preferred: numa}}
    cliques:
    - name: server
      topologyConstraint: {pack: {required: numa}}
      spec: {roleName: server, replicas: 2, podSpec: {containers: [{name: main, image: i}]}}
"""
GANG = """
apiVersion: scheduler.grove.io/v1alpha1
kind: PodGang
metadata: {name: chat-0, annotations: {grove.io/topology-name: t}}
spec:
  podgroups:
  - name: server
    minReplicas: 2
    podReferences: []
    topologyConstraint: {packConstraint: {required: topology/numa}}
"""
DEPLOYMENT = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat}
spec:
  topologyConstraint: {clusterTopologyName: t, packDomain: numa}
  components:
  - name: server
    replicas: 2
    podTemplate: {spec: {containers: [{name: main, image: i}]}}
"""


def objects(text: str, target: str) -> list[dict[str, Any]]:
    made = translate([Source("f", f"{BINDING}---{text}".encode())], target)
    assert [str(problem) for problem in made.problems] == []
    return list(made.objects)


@pytest.mark.requirement("G14")
@pytest.mark.parametrize("target", ["kai", "kueue"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SET, id="a set"),
        pytest.param(GANG, id="a gang"),
        pytest.param(DEPLOYMENT, id="a deployment"),
    ],
)
def test_single_nodes_are_the_finest_level(text: str, target: str) -> None:
    made = objects(text, target)
    (topology,) = (each for each in made if each["kind"] == "Topology")

    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "topology/rack",
        "kubernetes.io/hostname",
    ]
    assert "numa" not in json.dumps([each for each in made if each["kind"] != "Topology"]).replace(
        "topology-numa", ""
    )
    assert "kubernetes.io/hostname" in json.dumps([each for each in made if each["kind"] != "Topology"])


@pytest.mark.parametrize("text", [pytest.param(SET, id="a set"), pytest.param(GANG, id="a gang")])
def test_what_is_written_for_kai_can_be_read_again(text: str) -> None:
    written = "\n".join(json.dumps(each) for each in objects(text, "kai"))

    assert read([Source("f", written.encode())]).problems == ()


def test_grove_keeps_its_levels() -> None:
    (gang,) = objects(SET, "podgang")

    assert "topology/numa" in json.dumps(gang)


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param(
            ["a", "kubernetes.io/hostname", "b"], ["a", "kubernetes.io/hostname"], id="a level below"
        ),
        pytest.param(["a", "kubernetes.io/hostname"], ["a", "kubernetes.io/hostname"], id="none below"),
        pytest.param(["a", "b"], ["a", "b"], id="no level of nodes"),
    ],
)
def test_a_topology_down_to_nodes(labels: list[str], want: list[str]) -> None:
    topology = Topology("t", tuple(Level(label) for label in labels))

    assert list(topology.down_to_nodes().labels) == want
