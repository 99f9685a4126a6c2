"""Two objects of one identity are never written: the second gets another name, or both are told."""

from __future__ import annotations

import json

import pytest

from closeknit.dialects import Source, Translation, translate
from closeknit.dialects.translate.name_conflicts import key_of, other_names
from closeknit.hub.sentences import wire
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.problems import finding, findings
from tests.unit.dialects.grove.sets import clique, gang, group, members, pod_clique_set
from tests.unit.dialects.kit import pod, pod_group, reading

QUEUES = """
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


def job(name: str = "train", pods: int = 3) -> str:
    container = {"name": "main", "image": "i", "resources": {"requests": {"nvidia.com/gpu": 1}}}
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "q"}},
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "completionMode": "Indexed",
                "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
            },
        }
    )


def translated(target: str, *texts: str) -> Translation:
    found = translate([Source("f", "\n---\n".join(texts).encode())], target)
    identities = [key_of(each) for each in found.objects]
    assert len(identities) == len(set(identities))
    return found


def renamed(found: Translation) -> list[tuple[str, str, str]]:
    return [(each.object.kind, each.object.name, each.name) for each in found.renamed]


def pods_of_workloads(*texts: str) -> list[int]:
    """How many pods each workload has, fewest first; there must be no problem."""
    read = reading(*texts)
    assert [str(problem) for problem in read.problems] == []
    requests = [each.request for each in read.workloads if isinstance(each, PlaceableWorkload)]
    assert len(requests) == len(read.workloads)
    return sorted(sum(pods.count for pods in each.root.pod_sets()) for each in requests)


@pytest.mark.parametrize("target", ["kai", "grove", "podgang"])
@pytest.mark.parametrize("pods", [pytest.param(3, id="alike"), pytest.param(5, id="different")])
def test_workloads_of_one_name_are_written_side_by_side(target: str, pods: int) -> None:
    files = [pod_group({"minMember": 3}, "train"), QUEUES, job(pods=pods)]
    found = translated(target, *files)
    # The PodGroup that is written for KAI once more has its pods assumed.
    again = [json.dumps(each) for each in found.objects]

    assert found.problems == ()
    assert renamed(found) == [("Job", "train", "train-job")]
    assert pods_of_workloads(*again) == [3, pods]


def test_a_workload_that_is_said_over_makes_way_for_one_that_an_operator_names() -> None:
    waiting = [pod(f"p{i}", "train") for i in range(4)]
    found = translated("kueue", pod_group({"minMember": 2}, "train"), *waiting, QUEUES, job())

    assert found.problems == ()
    assert renamed(found) == [("PodGroup", "train", "train-podgroup")]
    assert {each["metadata"]["name"] for each in found.objects if each["kind"] == "Job"} == {
        "train",
        "train-podgroup",
    }


def test_a_workload_that_is_said_over_makes_way_for_one_that_is_in_the_files() -> None:
    """The set itself is not written, but what is written should stand beside it."""
    found = translated(
        "grove", pod_group({"minMember": 2}, "train"), pod_clique_set(clique("a"), name="train")
    )

    assert renamed(found) == [("PodGroup", "train", "train-podgroup")]
    assert [each.other for each in found.renamed] == [
        reading(pod_clique_set(clique("a"), name="train")).workloads[0].object
    ]


def test_names_that_become_one_only_when_they_are_written_are_told_apart() -> None:
    files = [pod_group({"minMember": number}, name) for name, number in (("a.b", 1), ("a-b", 2), ("a--b", 3))]
    found = translated("grove", *files)

    assert renamed(found) == [
        ("PodGroup", "a-b", "a-b-podgroup"),
        ("PodGroup", "a--b", "a--b-podgroup-2"),
    ]
    assert pods_of_workloads(*(json.dumps(each) for each in found.objects)) == [1, 2, 3]


def test_workloads_of_different_names_keep_them() -> None:
    found = translated("grove", pod_group({"minMember": 2}, "one"), QUEUES, job("two"))

    assert found.renamed == ()
    assert {each["metadata"]["name"] for each in found.objects} == {"one", "two"}


def test_where_operators_give_both_names_both_workloads_are_told() -> None:
    """A PodCliqueSet whose PodGang is called as that of another."""
    wide = pod_clique_set(clique("c"), groups=[group("b", "c", replicas=2, minAvailable=1)], name="a")
    found = translated("podgang", wide, pod_clique_set(clique("d"), name="a-0-b"))

    assert findings(found.problems) == [
        finding(
            wire.OBJECT_WRITTEN_TWICE,
            "2:metadata.name",
            kind="PodGang",
            name="a-0-b-0",
            other_kind="PodCliqueSet",
            other="a",
            own_kind="PodCliqueSet",
            own="a-0-b",
        )
    ]


def test_many_pods_of_one_name_are_told_once_for_each_kind() -> None:
    files = [pod_group({"minMember": 40}, "train-0-a"), pod_clique_set(clique("a", 40), name="train")]
    found = translated("pods", *files)

    assert findings(found.problems) == [
        finding(
            wire.OBJECT_WRITTEN_TWICE,
            "2:metadata.name",
            kind="Pod",
            name="train-0-a-0",
            other_kind="PodGroup",
            other="train-0-a",
            own_kind="PodCliqueSet",
            own="train",
        )
    ]


def test_what_was_made_of_a_set_already_is_no_clash() -> None:
    """The PodGroups that are in the files speak for the set."""
    given = pod_clique_set(clique("a", 2), name="train")
    made = [json.dumps(each) for each in translated("kai", given).objects]
    changed = [text.replace('"minMember": 2', '"minMember": 1') for text in made]
    found = translated("kai", given, *changed)

    assert found.problems == ()
    assert len(found.objects) == 1


def test_a_gang_by_itself_is_not_taken_for_another_workload() -> None:
    found = translated("kai", gang(members("a", 2), name="train"), QUEUES, job())

    assert renamed(found) == [("Job", "train", "train-job")]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("train", ["train-job", "train-job-2"], id="a short name"),
        pytest.param(
            "x" * 63, ["x" * 59 + "-job", "x" * 57 + "-job-2"], id="a name that fills a label stays one"
        ),
        pytest.param("x" * 253, ["x" * 249 + "-job", "x" * 247 + "-job-2"], id="the longest name"),
        pytest.param(
            f"{'x' * 58}-yyyy", ["x" * 58 + "-job", "x" * 57 + "-job-2"], id="no two dashes in a row"
        ),
    ],
)
def test_other_names(name: str, want: list[str]) -> None:
    names = other_names(name, "job")

    assert [next(names), next(names)] == want
