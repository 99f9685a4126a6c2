"""Any request as a PodCliqueSet, and objects in Grove's earlier spelling."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from closeknit import Engine, Placed
from closeknit.dialects.grove.express import express
from closeknit.hub.nodes import Effect, NodeFilter, Operator, Preference, Requirement, Term, Toleration
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, HostPort, Member, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import grove
from closeknit.hub.topology import Level, Topology
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.testing.random_requests import random_instance
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.kit import reported
from tests.unit.dialects.kit import request as only_request

TREE = Topology(
    "tree", (Level("z", "zone"), Level("example.com/topology-rack"), Level("kubernetes.io/hostname"))
)


def written(root: Group, topology: Topology | None = TREE) -> list[dict[str, Any]]:
    request = Request("ns/w", root, topology.name if topology else None)
    workload = PlaceableWorkload(ObjectName("v1", "Any", "ns", "w"), "any", request)
    return list(express(workload, {topology.name: topology} if topology else {}))


def pods(name: str, count: int = 1, minimum: int | None = None, **more: Any) -> PodSet:
    return PodSet(name, count, Resources({"nvidia.com/gpu": 1}), minimum, **more)


def again(objects: list[dict[str, Any]]) -> Request:
    return only_request(*(json.dumps(each) for each in objects))


def test_levels_are_called_by_their_names_or_by_what_their_labels_say() -> None:
    binding, _ = written(Group("ns/w", (Group("a", (pods("a/1"),), required="z"),)))

    assert [level["domain"] for level in binding["spec"]["levels"]] == ["zone", "rack", "host"]


def test_a_set_a_scaling_group_and_cliques() -> None:
    workers = Group(
        "workers",
        (Group("a", (pods("a/1", 3, 2),), "kubernetes.io/hostname"), pods("b")),
        "example.com/topology-rack",
    )
    _, made = written(Group("ns/w", (workers, pods("c")), "z", "example.com/topology-rack"))
    template = made["spec"]["template"]

    assert made["metadata"] == {"name": "w", "namespace": "ns"}
    assert template["topologyConstraint"] == {
        "topologyName": "tree",
        "pack": {"required": "zone", "preferred": "rack"},
    }
    assert template["podCliqueScalingGroups"] == [
        {
            "name": "workers",
            "cliqueNames": ["a", "b"],
            "topologyConstraint": {"topologyName": "tree", "pack": {"required": "rack"}},
        }
    ]
    assert [
        (each["name"], each["spec"]["replicas"], each["spec"]["minAvailable"]) for each in template["cliques"]
    ] == [("a", 3, 2), ("b", 1, 1), ("c", 1, 1)]


def test_groups_that_say_nothing_disappear_and_a_chain_becomes_one() -> None:
    loose = Group("loose", (pods("a"), pods("b")))
    chain = Group("outer", (Group("inner", (pods("c"), pods("d")), "example.com/topology-rack"),), "z")
    _, made = written(Group("ns/w", (loose, chain)))
    template = made["spec"]["template"]

    assert "topologyConstraint" not in template
    assert [
        (each["name"], each["topologyConstraint"]["pack"]) for each in template["podCliqueScalingGroups"]
    ] == [("outer", {"required": "rack"})]


@pytest.mark.parametrize(
    ("root", "want"),
    [
        pytest.param(
            Group("ns/w", (pods("a"), pods("b")), minimum=1),
            finding(grove.SOME_NEEDED, least=1, member="ns/w", members=2),
            id="some of several",
        ),
        pytest.param(
            Group("ns/w", (pods("a", 2, 0),)),
            finding(grove.NONE_NEEDED, member="a"),
            id="pods of which none is needed",
        ),
        pytest.param(
            Group(
                "ns/w",
                (
                    pods("x"),
                    Group(
                        "g", (pods("y"), Group("h", (pods("a"), pods("b")), "kubernetes.io/hostname")), "z"
                    ),
                ),
            ),
            finding(grove.GROUP_TOO_DEEP, member="h"),
            id="groups within scaling groups",
        ),
        pytest.param(
            Group("ns/w", ()),
            finding(grove.NOTHING_TO_RUN, member="ns/w"),
            id="nothing",
        ),
    ],
)
def test_what_cannot_be_said_is_told(root: Group, want: Finding) -> None:
    with pytest.raises(InvalidError) as caught:
        written(root)

    assert findings(caught.value.problems) == [want]


def test_wishes_about_nodes_survive() -> None:
    rule = Requirement("gpu", Operator.IN, ("a", "b"))
    here = Requirement("metadata.name", Operator.IN, ("x",))
    given = PodSet(
        "a",
        2,
        Resources({"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 4}),
        filter=NodeFilter(
            selector=(("k", "v"),),
            affinity=(Term((rule,)), Term((here,))),
            preferences=(Preference(5, Term((rule,))),),
            tolerations=(Toleration("t", "v", Effect.NO_SCHEDULE), Toleration("u")),
        ),
        host_ports=frozenset({HostPort(80), HostPort(53, "UDP")}),
    )
    (made,) = written(Group("ns/w", (given,)), None)
    (found,) = again([made]).root.pod_sets()

    assert (found.resources, found.filter, found.host_ports) == (
        given.resources,
        given.filter,
        given.host_ports,
    )


def meaning(member: Member) -> tuple[int, int, list[tuple[Any, ...]]]:
    """Pods in all, pods needed, and what each pod set asks for: what every spelling must keep."""
    sets = [member] if isinstance(member, PodSet) else list(member.pod_sets())
    asked = sorted((each.count, each.least, tuple(each.resources.items())) for each in sets if each.count)
    return sum(each.count for each in sets), sum(each.least for each in sets), asked


def test_random_requests_are_said_and_understood_or_refused() -> None:
    said = compared = 0
    for seed in range(300):
        cluster, request = random_instance(random.Random(seed))
        topologies = {topology.name: topology for topology in cluster.topologies}
        workload = PlaceableWorkload(ObjectName("v1", "Any", "ns", "w"), "any", request)
        try:
            objects = list(express(workload, topologies))
        except InvalidError:
            continue
        said += 1
        assert reported(*(json.dumps(each) for each in objects)) == []
        found = again(objects)
        assert meaning(found.root) == meaning(request.root)
        # Pods that run already are no part of what is written, so the two then ask for different things.
        if not any(each.bound for each in request.root.pod_sets()):
            engine = Engine(cluster)
            first, second = engine.decide(request), engine.decide(found)
            assert type(first) is type(second)
            if isinstance(first, Placed) and isinstance(second, Placed) and first.proven and second.proven:
                assert first.wishes.left_out == second.wishes.left_out
                compared += 1
    assert said > 30
    assert compared > 10
