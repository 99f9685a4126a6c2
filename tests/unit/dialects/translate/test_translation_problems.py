"""What a target has no words for is told at its object, the rest is translated, and nothing is lost in silence."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from closeknit.dialects import TARGETS, Source, Translation, translate
from closeknit.dialects.kai import KAI
from closeknit.dialects.kueue import KUEUE
from closeknit.dialects.translate.translation import translate_with
from closeknit.hub.problems import InvalidError, Problem
from closeknit.hub.sentences import grove, kueue, wire
from tests.kit.problems import finding, findings
from tests.unit.dialects.kit import TOPOLOGY, pod, pod_group, reading

GROUP = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: two-of-three}
spec:
  topologyConstraint: {topology: tree, requiredTopologyLevel: topology/rack}
  minSubGroup: 2
  subGroups: [{name: a, minMember: 1}, {name: b, minMember: 2}, {name: c, minMember: 3}]
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: plain}
spec: {minMember: 2}
"""


NOT_IN_KUEUE = kueue.MINIMUM_OF_MEMBERS.at(("JobSet",), name="default/two-of-three", least=2, members=3)
NOT_IN_GROVE = grove.SOME_NEEDED.at(member="default/two-of-three", least=2, members=3)


@pytest.mark.parametrize(
    ("target", "family", "reason"),
    [
        pytest.param("kueue", "kueue", NOT_IN_KUEUE, id="kueue"),
        pytest.param("grove", "grove", NOT_IN_GROVE, id="grove"),
        pytest.param("podgang", "grove", NOT_IN_GROVE, id="podgang"),
    ],
)
def test_one_workload_that_cannot_be_said_keeps_no_other_from_it(
    target: str, family: str, reason: Problem
) -> None:
    found = translate([Source("topology", TOPOLOGY.encode()), Source("groups", GROUP.encode())], target)
    names = {each["metadata"]["name"] for each in found.objects}

    assert any("plain" in name for name in names)
    assert findings(found.problems) == [
        finding(
            wire.NOT_EXPRESSIBLE,
            "1:metadata.name",
            kind="PodGroup",
            name="two-of-three",
            family=family,
            problem=reason,
        )
    ]
    for problem in found.problems:
        assert problem.source == "groups"
        assert problem.object is not None
        assert problem.object.name == "two-of-three"
    assert found.unwritten == ()


def test_a_workload_is_said_once_and_not_what_its_operator_makes_of_it() -> None:
    found = translate([Source("groups", pod_group({"minMember": 2}).encode())], "grove")

    assert {each["kind"] for each in found.objects} == {"PodCliqueSet"}


def translated(target: str, *texts: str) -> Translation:
    return translate([Source("f", "\n---\n".join(texts).encode())], target)


def test_a_workload_whose_pods_are_all_there_is_named_as_one_that_nothing_is_left_of() -> None:
    found = translated("pods", pod_group({}), pod("p", "g"))

    assert (found.objects, found.problems) == ((), ())
    assert [(name.kind, name.namespace, name.name) for name in found.unwritten] == [
        ("PodGroup", "default", "g")
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_of_a_workload_that_is_written_something_is_left(target: str) -> None:
    found = translated(target, pod_group({}))

    assert found.objects
    assert found.unwritten == ()


def test_a_workload_with_problems_is_told_by_them_alone() -> None:
    found = translated("grove", pod_group({"minSubGroup": 1}))

    assert (found.objects, found.unwritten) == ((), ())
    assert len(found.problems) == 1


def test_what_can_be_translated_to_follows_from_the_families() -> None:
    with pytest.raises(InvalidError) as refused:
        translate_with((KAI, KUEUE), [Source("f", b"")], "grove", lenient=False)

    assert findings(refused.value.problems) == [
        finding(wire.UNKNOWN_TARGET, "--to", target="grove", targets="kai, kueue, pods")
    ]


def test_documents_that_nobody_reads_are_told_of() -> None:
    found = translated("kai", "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: d}}")

    assert [(each.document, each.kind) for each in found.skipped] == [(1, "Ingress")]


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  template:
    spec:
      nodeSelector: {pool: a}
      containers: [{name: main, image: i, resources: {requests: {nvidia.com/gpu: 2}}}]
---
{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: q}, spec: {clusterQueue: c}}
---
{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: f}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: c}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
"""


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(JOB, id="a Job of Kueue"),
        pytest.param(f"{TOPOLOGY}\n---\n{GROUP}".replace("minSubGroup: 2", ""), id="PodGroups of KAI"),
    ],
)
def test_gangs_refer_to_pods_that_are_written_beside_them(given: str) -> None:
    found = translated("podgang", given)
    pods = {each["metadata"]["name"] for each in found.objects if each["kind"] == "Pod"}
    gangs = [each for each in found.objects if each["kind"] == "PodGang"]
    references = {
        one["name"] for gang in gangs for group in gang["spec"]["podgroups"] for one in group["podReferences"]
    }
    again = reading(*(json.dumps(each) for each in found.objects))

    assert found.problems == again.problems == ()
    assert references == pods
    assert pods
    assert len(again.workloads) == len(gangs) == len(reading(given).workloads)


@pytest.mark.parametrize("target", ["kai", "podgang"])
def test_a_topology_of_settings_is_written_for_the_deployments_that_speak_of_it(target: str) -> None:
    settings = """
    operator: {topologyAwareScheduling: {domainToLabelMapping: {rack: topology/rack}}}
    """
    deployment = """
    apiVersion: nvidia.com/v1alpha1
    kind: DynamoGraphDeployment
    metadata: {name: NAME}
    spec: {services: {Worker: {replicas: 2, topologyConstraint: {packDomain: rack}}}}
    """
    two = [deployment.replace("NAME", name) for name in ("a", "b")]
    found = translated(target, *(dedent(each) for each in (settings, *two)))
    again = reading(*(json.dumps(each) for each in found.objects))

    assert found.problems == again.problems == ()
    assert [each.name for each in again.cluster.topologies] == ["dynamo-domains"]
    assert len(again.workloads) == 2
