"""What nobody here counts is told and no reason to refuse a file; who binds pods leaves them pending with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroupSpec
from closeknit.dialects.reading import SCHEDULERS
from closeknit.hub.sentences import claims
from closeknit.hub.sentences import kueue as kueue_codes
from closeknit.hub.workload import InvalidWorkload, PlaceableWorkload
from tests.kit.common_problems import fields_of, not_found, unknown_field
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.grove import sets
from tests.unit.dialects.kit import TOPOLOGY, node, pod, pod_group, reading
from tests.unit.dialects.kueue import kit as kueue

CLAIM: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
NOT_COUNTED = finding(claims.NOT_IN_SIGHT, kind="ResourceClaimTemplate", name="one")
BUILT_IN_CLASSES = (
    "build",
    "build-preemptible",
    "inference",
    "system-cluster-critical",
    "system-node-critical",
    "train",
)


def job(**metadata: Any) -> str:
    template = {"spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}], **CLAIM}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", **metadata}}
    return json.dumps({**body, "spec": {"template": template}})


CASES = [
    pytest.param(
        [pod_group({"minMember": 1}), pod("p", "g", schedulerName="kai-scheduler", **CLAIM)],
        NOT_COUNTED,
        id="a pod of a PodGroup",
    ),
    pytest.param([job()], NOT_COUNTED, id="a Job that KAI groups"),
    pytest.param(
        [
            sets.gang(sets.members("a")),
            sets.made_pod("a-0", "gang", "a", spec=sets.pod_spec(1, **CLAIM)),
        ],
        NOT_COUNTED,
        id="a pod of a PodGang",
    ),
    pytest.param(
        [sets.pod_clique_set(sets.clique("a", podSpec=sets.pod_spec(1, **CLAIM)))],
        NOT_COUNTED,
        id="a clique",
    ),
    pytest.param(
        [
            kueue.topology(),
            kueue.flavor(),
            kueue.cluster_queue(),
            kueue.local_queue(),
            kueue.job(pod=CLAIM),
        ],
        NOT_COUNTED,
        id="a Job that queues in Kueue",
    ),
    pytest.param([pod("p", schedulerName="kai-scheduler", **CLAIM)], NOT_COUNTED, id="a lone pod"),
]


@pytest.mark.parametrize(("texts", "note"), CASES)
def test_a_file_is_planned_without_what_is_not_counted_and_a_note_says_so(
    texts: list[str], note: Finding
) -> None:
    found = reading(*texts)

    assert [*map(str, found.problems)] == []
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    assert note in findings(workload.notes)


@pytest.mark.parametrize(
    ("texts", "note"),
    [each for each in CASES if each.id not in ("a pod of a PodGang", "a Job that KAI groups")],
)
def test_who_binds_pods_leaves_them_pending_with_that_reason(texts: list[str], note: Finding) -> None:
    metadata = {"annotations": {SCHEDULERS: "kai-scheduler"}}
    bound = {"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": []}

    workloads = reading(json.dumps(bound), *texts).workloads

    assert workloads
    for workload in workloads:
        assert isinstance(workload, InvalidWorkload)
        assert note in findings(workload.problems)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param(
            pod_group({"minMember": 1, "colour": "red"}),
            unknown_field("2:spec.colour", *fields_of(PodGroupSpec)),
            id="an unknown field",
        ),
        pytest.param(
            pod_group({"minMember": 1, "priorityClassName": "mine"}),
            not_found("spec.priorityClassName", "PriorityClass", "mine", *BUILT_IN_CLASSES),
            id="an unknown priority class",
        ),
        pytest.param(
            pod("p", nodeName="gone"), not_found("2:spec.nodeName", "node", "gone"), id="an unknown node"
        ),
        pytest.param(
            kueue.job(),
            finding(
                kueue_codes.NO_LOCAL_QUEUE,
                'metadata.labels["kueue.x-k8s.io/queue-name"]',
                namespace="default",
                queue="team",
                remedy="Give it as well, with its ClusterQueue and ResourceFlavors.",
            ),
            id="a queue",
        ),
    ],
)
def test_what_lenient_passes_over_is_told(text: str, note: Finding) -> None:
    strict = reading(TOPOLOGY, text)
    lenient = reading(TOPOLOGY, text, lenient=True)

    assert len(strict.problems) == 1
    assert lenient.problems == ()
    of_workloads = (problem for workload in lenient.workloads for problem in workload.notes)
    assert note in [*findings(lenient.notes), *findings(of_workloads)]
    assert all(isinstance(workload, PlaceableWorkload) for workload in lenient.workloads)


def test_a_name_that_the_server_would_give_follows_from_the_content() -> None:
    def made(*gpus: int) -> list[tuple[str, int]]:
        texts = [pod("", "", schedulerName="kai-scheduler", gpus=each) for each in gpus]
        named = [text.replace('"name": ""', '"generateName": "train-"') for text in texts]
        found = reading(node("n"), *named)
        assert found.problems == ()
        return sorted(
            (pods.pods[0], pods.resources["nvidia.com/gpu"])
            for each in found.workloads
            if isinstance(each, PlaceableWorkload)
            for pods in each.request.root.pod_sets()
        )

    assert made(1, 2, 2) == made(2, 1, 2)
    assert len({name for name, _ in made(1, 2, 2)}) == 3
    assert all(name.startswith("train-") and len(name) == 11 for name, _ in made(1, 2))
