"""Kubernetes' own gangs: what is refused, what is asked for, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, Translation, compare, translate
from closeknit.dialects.kubernetes import KUBERNETES
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import InvalidError
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.workload import ObjectName, Workload
from closeknit.scheduler.planning import plan
from tests.unit.dialects.kit import TOPOLOGY, close, pod_group, problems, reading, request

GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}


def group(name: str = "g", annotations: dict[str, str] | None = None, **spec: Any) -> str:
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return json.dumps({**kind, "metadata": metadata, "spec": {**GANG, **spec}})


def workload(*templates: dict[str, Any]) -> str:
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "Workload", "metadata": {"name": "w"}}
    return json.dumps({**kind, "spec": {"podGroupTemplates": list(templates)}})


def pod(name: str, group: str = "g", gpus: int = 1, **spec: Any) -> str:
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    given = {"containers": [container], "schedulingGroup": {"podGroupName": group}, **spec}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": given})


def node(name: str, rack: str, gpus: int = 1) -> str:
    metadata = {"name": name, "labels": {"t/rack": rack}}
    allocatable = {"nvidia.com/gpu": gpus, "pods": 9}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}
    )


def near(*keys: str) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": key} for key in keys]}}


def made_of(workload_name: str, template: str) -> dict[str, Any]:
    meant = {"workloadName": workload_name, "podGroupTemplateName": template}
    return {"podGroupTemplateRef": {"workload": meant}}


POLICY = "A group has exactly one policy. Write gang with minCount, or basic: {}."


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param((group(),), [], id="a gang"),
        pytest.param((group(schedulingPolicy={"basic": {}}, **near("t/rack")),), [], id="a basic group"),
        pytest.param((group(schedulingPolicy={}),), [f"1:spec.schedulingPolicy: {POLICY}"], id="no policy"),
        pytest.param(
            (group(schedulingPolicy={"basic": {}, "gang": {"minCount": 1}}),),
            [f"1:spec.schedulingPolicy: {POLICY}"],
            id="two policies",
        ),
        pytest.param(
            (group(schedulingPolicy={"gang": {"minCount": 0}}),),
            ["1:spec.schedulingPolicy.gang.minCount: 0 pods are no gang. Write one or more."],
            id="a gang of none",
        ),
        pytest.param(
            (group(**near("a", "b")),),
            ["1:spec.schedulingConstraints.topology: There are 2 constraints. A group has one at most."],
            id="two constraints",
        ),
        pytest.param(
            (group(**near("a b")),),
            [
                '1:spec.schedulingConstraints.topology[0].key: "a b" is not the key of a label. Write one such as'
                " topology.kubernetes.io/zone."
            ],
            id="a key that no label has",
        ),
        pytest.param(
            (group(disruptionMode="pod"),),
            ['1:spec.disruptionMode: "pod" is not known. Did you mean "Pod"? Allowed: "Pod", "PodGroup".'],
            id="a mode of disruption that is not known",
        ),
        pytest.param(
            (group(priority=2_000_000_000),),
            ["1:spec.priority: 2000000000 is out of range. Allowed are -2147483648 to 1000000000."],
            id="a priority of the system's",
        ),
        pytest.param(
            (group(resourceClaims=[{"name": "a", "resourceClaimName": "x"}, {"name": "a"}]),),
            [
                '1:spec.resourceClaims[1].name: "a" is already the name of spec.resourceClaims[0]. Give each its own.',
                "1:spec.resourceClaims[1]: A claim names either a ResourceClaim or a ResourceClaimTemplate. Write"
                " exactly one of the two.",
            ],
            id="claims of one name, and one that names nothing",
        ),
        pytest.param(
            (workload({"name": "t", **GANG}), group(**made_of("w", "t"))), [], id="made of a template"
        ),
        pytest.param(
            (workload({"name": "t", **GANG}), group(**made_of("v", "t"))),
            ['2:spec.podGroupTemplateRef.workload.workloadName: There is no Workload "v". Allowed: "w".'],
            id="made of a Workload that is not there",
        ),
        pytest.param(
            (workload({"name": "t", **GANG}), group(**made_of("w", "s"))),
            [
                '2:spec.podGroupTemplateRef.workload.podGroupTemplateName: There is no template "s". Allowed: "t".'
            ],
            id="made of a template that is not there",
        ),
        pytest.param(
            (workload(),),
            ["1:spec.podGroupTemplates: There are no templates. Describe at least one."],
            id="no templates",
        ),
        pytest.param(
            (workload(*({"name": f"t{i}", "schedulingPolicy": {}} for i in range(9))),),
            [
                "1:spec.podGroupTemplates: There are 9 templates. Allowed are at most 8.",
                *(f"1:spec.podGroupTemplates[{i}].schedulingPolicy: {POLICY}" for i in range(9)),
            ],
            id="too many templates, and every problem of each",
        ),
        pytest.param(
            (pod("a", "nope"), group()),
            ['1:spec.schedulingGroup.podGroupName: There is no PodGroup "nope". Allowed: "g".'],
            id="a pod of a group that is not there",
        ),
        pytest.param(
            (group(), pod("a")),
            [
                "1:spec.schedulingPolicy.gang.minCount: 2 pods must run at once, and 1 is given. Give 1 more, or none"
                " to have them assumed."
            ],
            id="fewer pods than must run",
        ),
    ],
)
def test_what_is_refused(texts: tuple[str, ...], want: list[str]) -> None:
    assert problems(*texts) == want


def test_a_template_that_no_group_is_made_of_asks_for_nothing_and_is_told() -> None:
    found = reading(workload({"name": "t", **GANG}))
    assert found.workloads == ()
    assert [each.problem.code.name for each in found.notes] == ["template-without-group"]


@pytest.mark.parametrize(
    ("texts", "counts"),
    [
        pytest.param((group(),), [(2, 2, 1)], id="assumed, with a GPU each"),
        pytest.param(
            (group(annotations={"closeknit.dev/pod-resources": '{"nvidia.com/gpu": 8}'}),),
            [(2, 2, 8)],
            id="assumed, as an annotation says",
        ),
        pytest.param((group(), pod("a"), pod("b"), pod("c")), [(3, 2, 1)], id="any two of three pods"),
        pytest.param(
            (group(schedulingPolicy={"basic": {}}), pod("a"), pod("b")), [(2, 1, 1)], id="without a gang, any"
        ),
        pytest.param(
            (group(), node("n", "r"), pod("a", nodeName="n"), pod("b")),
            [(2, 2, 1)],
            id="one that runs counts",
        ),
    ],
)
def test_what_is_asked_for(texts: tuple[str, ...], counts: list[tuple[int, int, int]]) -> None:
    asked = request(*texts)
    sets = asked.root.pod_sets()
    assert [(each.count, each.least, each.resources["nvidia.com/gpu"]) for each in sets] == counts


@pytest.mark.parametrize(
    ("spec", "pods", "want"),
    [
        pytest.param({"priority": 7}, (), 7, id="a number"),
        pytest.param({"priorityClassName": "high"}, (), 9, id="a class"),
        pytest.param({}, (pod("a", priority=3), pod("b", priority=5)), 5, id="the highest of its pods"),
    ],
)
def test_priority(spec: dict[str, Any], pods: tuple[str, ...], want: int) -> None:
    high = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}"
    (found,) = reading(group(**spec), high, *pods).workloads
    assert found.priority == want


@pytest.mark.parametrize(
    ("racks", "want"),
    [
        pytest.param(("r1", "r2", "r2"), ["n1", "n2"], id="the rack that has room for both"),
        pytest.param(("r1", "r2"), None, id="no rack has room for both"),
    ],
)
def test_a_gang_lands_on_nodes_with_one_value_of_its_label(
    racks: tuple[str, ...], want: list[str] | None
) -> None:
    found = reading(group(**near("t/rack")), *(node(f"n{i}", rack) for i, rack in enumerate(racks)))
    (verdict,) = plan(Engine(found.cluster), found.cluster, found.workloads)
    placed = verdict.outcome if isinstance(verdict.outcome, Placed) else None
    assert (sorted(each.node for each in placed.assignments) if placed else None) == want


def test_a_gang_cannot_say_which_of_its_pods_must_run() -> None:
    gpu = Resources({"nvidia.com/gpu": 1})
    some, all_ = PodSet("a", 2, gpu, minimum=1), PodSet("b", 2, gpu)
    asked = Request("default/g", Group("default/g", (some, all_)))
    named = ObjectName("v1", "Pod", "default", "g")
    assert KUBERNETES.express is not None
    with pytest.raises(InvalidError, match="counts all its pods alike"):
        list(KUBERNETES.express(Workload(named, "kai", asked), {}))


def test_groups_of_one_name_in_two_families_stay_apart() -> None:
    found = reading(
        group(), pod_group({"minMember": 1}, name="g"), node("n", "r"), pod("a", nodeName="n"), pod("b")
    )
    assert sorted(each.request.name for each in found.workloads if each.request) == [
        "kai PodGroup default/g",
        "kubernetes PodGroup default/g",
    ]
    assert [each.workload for each in found.cluster.holdings] == ["kubernetes PodGroup default/g"]


def test_nothing_in_a_group_can_change() -> None:
    old, new = ([Source("f", text.encode())] for text in (group(), group(disruptionMode="PodGroup")))
    assert [each.problem.code.name for each in compare(old, new).problems] == ["group-fixed"]


def translated(target: str, *texts: str) -> Translation:
    return translate([Source("f", "\n---\n".join(texts).encode())], target)


@pytest.mark.parametrize(
    ("target", "kinds"),
    [
        pytest.param(
            "kubernetes", ["Workload", "PodGroup", "Pod", "Pod"], id="itself, with the pods that it lacks"
        ),
        pytest.param("pods", ["Pod", "Pod"], id="the pods that it lacks"),
        pytest.param("kai", ["Topology", "PodGroup", "Pod", "Pod"], id="KAI"),
        pytest.param("grove", ["ClusterTopologyBinding", "PodCliqueSet"], id="Grove"),
    ],
)
def test_what_a_group_becomes(target: str, kinds: list[str]) -> None:
    made = translated(target, workload({"name": "t", **GANG}), group(**near("t/rack"), **made_of("w", "t")))
    assert (made.problems, [each["kind"] for each in made.objects]) == ((), kinds)


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(
            {"minMember": 2, "topologyConstraint": close("topology/rack")},
            {"schedulingPolicy": {"gang": {"minCount": 2}}, **near("topology/rack")},
            id="a gang in a rack",
        ),
        pytest.param({"minMember": 0}, {"schedulingPolicy": {"basic": {}}}, id="none of which must run"),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]},
            {"schedulingPolicy": {"gang": {"minCount": 3}}},
            id="subgroups that are all needed and have no level of their own",
        ),
        pytest.param(
            {"subGroups": [{"name": "a", "minMember": 1, "topologyConstraint": close("topology/rack")}]},
            "gang-without-groups",
            id="a subgroup with a level of its own",
        ),
        pytest.param(
            {"minSubGroup": 1, "subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]},
            "gang-counted-as-one",
            id="one subgroup or the other",
        ),
    ],
)
def test_what_others_become(spec: dict[str, Any], want: dict[str, Any] | str) -> None:
    made = translated("kubernetes", pod_group(spec), TOPOLOGY)
    if isinstance(want, str):
        ((_, inner),) = [fact for fact in made.problems[0].problem.facts if fact[0] == "problem"]
        assert inner.code.name == want  # type: ignore[union-attr]
        return
    groups = [each for each in made.objects if each["kind"] == "PodGroup"]
    assert ([each["spec"] for each in groups], made.problems) == ([want], ())
    # What is written asks for the same again.
    again = translated("kubernetes", *map(json.dumps, made.objects))
    assert [each["spec"] for each in again.objects if each["kind"] == "PodGroup"] == [want]


def test_a_preference_is_left_out_and_told() -> None:
    made = translated(
        "kubernetes", pod_group({"topologyConstraint": close(preferred="topology/rack")}), TOPOLOGY
    )
    assert (
        made.objects[0]["metadata"]["annotations"]["closeknit.dev/left-out"]
        == "default/g prefers topology/rack"
    )
