"""What nobody here counts is told and no reason to refuse a file; who binds pods leaves them pending with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects.reading import SCHEDULERS
from tests.unit.dialects.grove import sets
from tests.unit.dialects.kit import TOPOLOGY, node, pod, pod_group, reading
from tests.unit.dialects.kueue import kit as kueue

CLAIM: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
SAID = (
    'There is no ResourceClaimTemplate "one" in sight, so what it stands for was not counted.'
    " Give it beside the pods."
)


def job(**metadata: Any) -> str:
    template = {"spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}], **CLAIM}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", **metadata}}
    return json.dumps({**body, "spec": {"template": template}})


CASES = [
    pytest.param(
        [pod_group({"minMember": 1}), pod("p", "g", schedulerName="kai-scheduler", **CLAIM)],
        SAID,
        id="a pod of a PodGroup",
    ),
    pytest.param([job()], SAID, id="a Job that KAI groups"),
    pytest.param(
        [
            sets.gang(sets.members("a")),
            sets.made_pod("a-0", "gang", "a", spec=sets.pod_spec(1, **CLAIM)),
        ],
        SAID,
        id="a pod of a PodGang",
    ),
    pytest.param(
        [sets.pod_clique_set(sets.clique("a", podSpec=sets.pod_spec(1, **CLAIM)))],
        SAID,
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
        SAID,
        id="a Job that queues in Kueue",
    ),
    pytest.param([pod("p", schedulerName="kai-scheduler", **CLAIM)], SAID, id="a lone pod"),
]


@pytest.mark.parametrize(("texts", "note"), CASES)
def test_a_file_is_planned_without_what_is_not_counted_and_a_note_says_so(
    texts: list[str], note: str
) -> None:
    found = reading(*texts)

    assert [*map(str, found.problems)] == []
    (workload,) = found.workloads
    assert workload.request is not None
    assert note in map(str, workload.notes)


@pytest.mark.parametrize(
    ("texts", "note"),
    [each for each in CASES if each.id not in ("a pod of a PodGang", "a Job that KAI groups")],
)
def test_who_binds_pods_leaves_them_pending_with_that_reason(texts: list[str], note: str) -> None:
    metadata = {"annotations": {SCHEDULERS: "kai-scheduler"}}
    bound = {"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": []}

    workloads = reading(json.dumps(bound), *texts).workloads

    assert workloads
    for workload in workloads:
        assert workload.request is None
        assert note in map(str, workload.problems)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param(
            pod_group({"minMember": 1, "colour": "red"}),
            "1:spec.colour: There is no field",
            id="an unknown field",
        ),
        pytest.param(
            pod_group({"minMember": 1, "priorityClassName": "mine"}),
            'spec.priorityClassName: There is no PriorityClass "mine".',
            id="an unknown priority class",
        ),
        pytest.param(
            pod("p", nodeName="gone"), '1:spec.nodeName: There is no node "gone".', id="an unknown node"
        ),
        pytest.param(
            kueue.job(), 'metadata.labels["kueue.x-k8s.io/queue-name"]: There is no LocalQueue', id="a queue"
        ),
    ],
)
def test_what_lenient_passes_over_is_told(text: str, note: str) -> None:
    strict = reading(TOPOLOGY, text)
    lenient = reading(TOPOLOGY, text, lenient=True)

    assert len(strict.problems) == 1
    assert lenient.problems == ()
    told = [str(each).removeprefix("f:") for each in lenient.notes]
    told += (str(each) for workload in lenient.workloads for each in workload.notes)
    assert [each for each in told if note.removeprefix("1:") in each], told
    assert all(workload.request is not None for workload in lenient.workloads)


def test_a_name_that_the_server_would_give_follows_from_the_content() -> None:
    def made(*gpus: int) -> list[tuple[str, int]]:
        texts = [pod("", "", schedulerName="kai-scheduler", gpus=each) for each in gpus]
        named = [text.replace('"name": ""', '"generateName": "train-"') for text in texts]
        found = reading(node("n"), *named)
        assert found.problems == ()
        requests = [each.request for each in found.workloads]
        return sorted(
            (pods.pods[0], pods.resources["nvidia.com/gpu"])
            for each in requests
            if each is not None
            for pods in each.root.pod_sets()
        )

    assert made(1, 2, 2) == made(2, 1, 2)
    assert len({name for name, _ in made(1, 2, 2)}) == 3
    assert all(name.startswith("train-") and len(name) == 11 for name, _ in made(1, 2))
