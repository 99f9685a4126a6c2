"""A request as KAI's objects: what is written says the same when it is read again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects import Source, read
from closeknit.dialects.kai.to_pod_group import to_pod_group, to_topology_object
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import PlaceableWorkload

TREE = Topology("tree", (Level("zone", "z"), Level("block"), Level("rack")))
LEVELS = (None, *TREE.labels)


def read_back(request: Request) -> Request:
    documents = [to_topology_object(TREE), to_pod_group(request)]
    found = read([Source("f", "\n".join(json.dumps(document) for document in documents).encode())])
    assert [str(problem) for problem in found.problems] == []
    assert found.cluster.topologies == (TREE,)
    (workload,) = found.workloads
    assert isinstance(workload, PlaceableWorkload)
    return workload.request


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Random requests of the form that reading a PodGroup yields."""
    resources = draw(
        st.sampled_from([Resources({"nvidia.com/gpu": 1}), Resources({"cpu": 1, "memory": 2**30})])
    )
    count = 0

    def pods(group: str, stem: str) -> PodSet:
        number = draw(st.integers(0, 3))
        return PodSet(f"{group}/1", number, resources, pods=tuple(f"{stem}-{i}" for i in range(number)))

    def finer(than: int) -> int:
        level: int = draw(st.sampled_from([0, *range(max(than, 1), len(LEVELS))]))
        return level

    def group(depth: int, required: int, preferred: int) -> Group:
        nonlocal count
        count += 1
        name = f"g{count:02}"
        required_here = finer(required)
        bound = max(required_here, required)
        preferred_here = finer(max(bound, preferred))
        members: tuple[Member, ...]
        if depth == 3 or draw(st.booleans()):
            members, minimum = (pods(name, f"w-{name}"),), None
        else:
            inner = [
                group(depth + 1, bound, max(preferred_here, preferred))
                for _ in range(draw(st.integers(1, 3)))
            ]
            members, minimum = tuple(inner), draw(st.sampled_from([None, *range(len(inner) + 1)]))
        return Group(name, members, LEVELS[required_here], LEVELS[preferred_here], minimum)

    root = group(0, 0, 0)
    members = root.members if isinstance(root.members[0], Group) else (pods("default", "w"),)
    whole = Group("team/w", members, root.required, root.preferred, root.minimum)
    asked = any(
        member.required or member.preferred for member, _ in whole.walk() if isinstance(member, Group)
    )
    return Request("team/w", whole, "tree" if asked else None)


@settings(max_examples=150)
@given(requests())
def test_what_is_written_reads_back_as_the_same_request(request: Request) -> None:
    assert read_back(request) == request


def names(spec: dict[str, Any]) -> list[tuple[str, str | None, int | None, int | None]]:
    return [
        (part["name"], part.get("parent"), part.get("minMember"), part.get("minSubGroup"))
        for part in spec["subGroups"]
    ]


def test_a_pod_set_beside_others_becomes_a_leaf_of_its_own() -> None:
    leader, worker = PodSet("g/leader", 1), PodSet("g/worker", 4, minimum=3)
    root = Group("default/x", (Group("g", (leader, worker), required="rack"), PodSet("Extra Pods", 1)))

    spec = to_pod_group(Request("default/x", root, "tree"))["spec"]

    assert names(spec) == [
        ("g", None, None, None),
        ("g-leader", "g", 1, None),
        ("g-worker", "g", 3, None),
        ("extra-pods", None, 1, None),
    ]
    assert spec["subGroups"][0]["topologyConstraint"] == {"topology": "tree", "requiredTopologyLevel": "rack"}


def test_a_group_that_may_be_left_out_is_no_leaf() -> None:
    root = Group("default/x", (Group("g", (PodSet("g/1", 2),), minimum=0),))

    assert names(to_pod_group(Request("default/x", root))["spec"]) == [
        ("g", None, None, 0),
        ("g-1", "g", 2, None),
    ]


def test_a_group_without_members_needs_no_pods() -> None:
    root = Group("default/x", (Group("g", ()), Group("h", (PodSet("h/1", 1),))))

    assert names(to_pod_group(Request("default/x", root))["spec"]) == [
        ("g", None, 0, None),
        ("h", None, 1, None),
    ]


def test_names_that_would_be_alike_are_told_apart() -> None:
    root = Group("default/x", (PodSet("a/1", 1), Group("a-1", (PodSet("p", 1), PodSet("P", 1)))))

    assert [name for name, *_ in names(to_pod_group(Request("default/x", root))["spec"])] == [
        "a-1-2",
        "a-1",
        "p",
        "p-2",
    ]


def test_queue_and_priority_are_written_and_nothing_that_is_default() -> None:
    root = Group("x", (PodSet("default/1", 3, Resources({"nvidia.com/gpu": 1})),))

    assert to_pod_group(Request("x", root), queue="test", priority_class="train") == {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"queue": "test", "minMember": 3, "priorityClassName": "train"},
    }
