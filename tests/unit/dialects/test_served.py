"""Objects that a cluster serves, beside those of files."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from closeknit.dialects import Reading, Served, Source, compare, read
from closeknit.hub.sentences import core
from closeknit.hub.workload import PlaceableWorkload
from tests.kit.common_problems import wrong_type
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.grove.sets import gang, made_pod, members

GROUP = {
    "apiVersion": "scheduling.run.ai/v2alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g"},
    "spec": {"minMember": 2},
}


def pod(name: str, group: str = "g", **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"pod-group-name": group}},
        "spec": {"containers": [{"name": "c"}]},
        "status": status,
    }


def group(**spec: Any) -> dict[str, Any]:
    return {**GROUP, "spec": spec}


def served(*objects: Any, files: tuple[Any, ...] = (), namespace: str = "default") -> Reading:
    given = [json.loads(each) if isinstance(each, str) else each for each in objects]
    sources = [Source(f"f{i}", yaml.safe_dump(each).encode()) for i, each in enumerate(files)]
    return read([Served("the cluster (context c)", given, namespace), *sources])


def pods_of(found: Reading) -> dict[str, int]:
    """How many pods each workload asks for that could be compiled."""
    return {
        each.object.name: sum(one.count for one in each.request.root.pod_sets())
        for each in found.workloads
        if isinstance(each, PlaceableWorkload)
    }


def incomplete(kind: str, name: str, path: str, needed: int, created: int) -> Finding:
    """An object in the cluster has fewer pods than must run at once."""
    return finding(
        core.PODS_NOT_THERE,
        f"{kind}/default/{name} in the cluster (context c): {path}",
        needed="1 pod" if needed == 1 else f"{needed} pods",
        given="1 is there" if created == 1 else "none are there",
    )


@pytest.mark.parametrize(
    ("objects", "planned", "notes"),
    [
        pytest.param([GROUP], {}, [incomplete("PodGroup", "g", "spec.minMember", 2, 0)], id="no pod at all"),
        pytest.param(
            [GROUP, pod("a")],
            {},
            [incomplete("PodGroup", "g", "spec.minMember", 2, 1)],
            id="too few pods",
        ),
        pytest.param([GROUP, pod("a"), pod("b"), pod("c")], {"g": 3}, [], id="enough pods"),
        pytest.param(
            [group(subGroups=[{"name": "a", "minMember": 1}, {"name": "b", "minMember": 4}])],
            {},
            [
                incomplete("PodGroup", "g", "spec.subGroups[0].minMember", 1, 0),
                incomplete("PodGroup", "g", "spec.subGroups[1].minMember", 4, 0),
            ],
            id="each leaf is told",
        ),
        pytest.param(
            [gang(members("w", 2), named=""), made_pod("w-0", "gang", "w")],
            {},
            [incomplete("PodGang", "gang", "spec.podgroups[0].minReplicas", 2, 1)],
            id="a PodGang with too few pods",
        ),
        pytest.param(
            [gang(members("w", 1, "w-0", "w-9"), named=""), made_pod("w-0", "gang", "w")],
            {"gang": 1},
            [],
            id="a PodGang that refers to a pod which is not there",
        ),
    ],
)
def test_in_a_cluster_nothing_is_assumed(
    objects: list[Any], planned: dict[str, int], notes: list[Finding]
) -> None:
    found = served(*objects)

    assert found.problems == ()
    assert pods_of(found) == planned
    assert findings(found.notes) == notes


def test_in_a_file_pods_are_assumed_also_beside_a_cluster() -> None:
    found = served(files=(GROUP,))

    assert pods_of(found) == {"g": 2}
    assert (found.notes, found.live) == ((), frozenset())


def test_the_version_of_a_file_wins_in_whatever_order_they_are_given() -> None:
    found = served(GROUP, pod("a"), files=(group(minMember=5),))

    assert [str(each.by) for each in found.replaced] == ["f0, document 1"]
    assert [each.problem.path for each in found.problems] == [("spec", "minMember")]
    assert found.live == frozenset()


def test_problems_name_the_object_and_the_cluster() -> None:
    (problem,) = served(group(minMember="two")).problems

    assert problem.live
    assert findings([problem]) == [
        wrong_type("PodGroup/default/g in the cluster (context c): spec.minMember", "two", int)
    ]
    assert str(problem).startswith("PodGroup/default/g in the cluster (context c): spec.minMember: ")


def test_the_workloads_of_a_cluster_are_told_apart() -> None:
    other = {**GROUP, "metadata": {"name": "file"}}
    found = served(GROUP, pod("a"), pod("b"), files=(other,))

    assert {key.name for key in found.live} == {"g"}
    assert {each.object.name for each in found.workloads} == {"g", "file"}


def test_objects_of_files_belong_to_the_namespace_of_the_context() -> None:
    found = served(files=(GROUP,), namespace="team")

    assert [each.object.namespace for each in found.workloads] == ["team"]


def test_objects_of_files_are_compared_with_a_cluster() -> None:
    def topology(label: str) -> dict[str, Any]:
        return {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": [{"nodeLabel": label}]},
        }

    cluster = Served("the cluster", [topology("rack")])
    changed = Source("f", json.dumps(topology("row")).encode())

    assert [each.source for each in compare([cluster], [changed, cluster]).problems] == ["f"]
    assert compare([cluster], [cluster]).problems == ()
