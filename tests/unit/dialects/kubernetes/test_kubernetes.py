"""Kubernetes' own gangs: what is refused, what is asked for, and what they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from closeknit.dialects import Source, Translation, compare, translate
from closeknit.dialects.kubernetes import KUBERNETES
from closeknit.engine import Engine
from closeknit.hub.outcome import Placed
from closeknit.hub.problems import Field, InvalidError, Range
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources
from closeknit.hub.sentences import core, kai, kubernetes
from closeknit.hub.workload import ObjectName, PlaceableWorkload
from closeknit.scheduler.planning import plan
from tests.kit.problems import Finding, finding, findings
from tests.unit.dialects.expected import not_found, unknown_choice
from tests.unit.dialects.kit import TOPOLOGY, close, pod_group, reading, reported, request

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


@pytest.mark.parametrize(
    ("texts", "want"),
    [
        pytest.param((group(),), [], id="a gang"),
        pytest.param((group(schedulingPolicy={"basic": {}}, **near("t/rack")),), [], id="a basic group"),
        pytest.param(
            (group(schedulingPolicy={}),),
            [finding(kubernetes.NOT_ONE_POLICY, "1:spec.schedulingPolicy")],
            id="no policy",
        ),
        pytest.param(
            (group(schedulingPolicy={"basic": {}, "gang": {"minCount": 1}}),),
            [finding(kubernetes.NOT_ONE_POLICY, "1:spec.schedulingPolicy")],
            id="two policies",
        ),
        pytest.param(
            (group(schedulingPolicy={"gang": {"minCount": 0}}),),
            [finding(kubernetes.NO_GANG, "1:spec.schedulingPolicy.gang.minCount", value=0)],
            id="a gang of none",
        ),
        pytest.param(
            (group(**near("a", "b")),),
            [finding(kubernetes.SECOND_CONSTRAINT, "1:spec.schedulingConstraints.topology", count=2)],
            id="two constraints",
        ),
        pytest.param(
            (group(**near("a b")),),
            [
                finding(
                    kubernetes.NOT_A_TOPOLOGY_KEY, "1:spec.schedulingConstraints.topology[0].key", key="a b"
                )
            ],
            id="a key that no label has",
        ),
        pytest.param(
            (group(disruptionMode="pod"),),
            [unknown_choice("1:spec.disruptionMode", "pod", ("Pod", "PodGroup"))],
            id="a mode of disruption that is not known",
        ),
        pytest.param(
            (group(priority=2_000_000_000),),
            [
                finding(
                    core.OUT_OF_RANGE,
                    "1:spec.priority",
                    value=2_000_000_000,
                    allowed=Range(-2_147_483_648, 1_000_000_000),
                )
            ],
            id="a priority of the system's",
        ),
        pytest.param(
            (group(resourceClaims=[{"name": "a", "resourceClaimName": "x"}, {"name": "a"}]),),
            [
                finding(
                    kubernetes.PART_NAME_TAKEN,
                    "1:spec.resourceClaims[1].name",
                    name="a",
                    first=Field(("spec", "resourceClaims", 0)),
                ),
                finding(kubernetes.NOT_ONE_CLAIM, "1:spec.resourceClaims[1]"),
            ],
            id="claims of one name, and one that names nothing",
        ),
        pytest.param(
            (workload({"name": "t", **GANG}), group(**made_of("w", "t"))), [], id="made of a template"
        ),
        pytest.param(
            (workload({"name": "t", **GANG}), group(**made_of("v", "t"))),
            [not_found("2:spec.podGroupTemplateRef.workload.workloadName", "Workload", "v", ("w",))],
            id="made of a Workload that is not there",
        ),
        pytest.param(
            (workload({"name": "t", **GANG}), group(**made_of("w", "s"))),
            [not_found("2:spec.podGroupTemplateRef.workload.podGroupTemplateName", "template", "s", ("t",))],
            id="made of a template that is not there",
        ),
        pytest.param(
            (workload(),),
            [finding(kubernetes.NO_TEMPLATES, "1:spec.podGroupTemplates")],
            id="no templates",
        ),
        pytest.param(
            (workload(*({"name": f"t{i}", "schedulingPolicy": {}} for i in range(9))),),
            [
                finding(kubernetes.TOO_MANY, "1:spec.podGroupTemplates", count=9, what="templates", most=8),
                *(
                    finding(kubernetes.NOT_ONE_POLICY, f"1:spec.podGroupTemplates[{i}].schedulingPolicy")
                    for i in range(9)
                ),
            ],
            id="too many templates, and every problem of each",
        ),
        pytest.param(
            (pod("a", "nope"), group()),
            [not_found("1:spec.schedulingGroup.podGroupName", "PodGroup", "nope", ("g",))],
            id="a pod of a group that is not there",
        ),
        pytest.param(
            (group(), pod("a")),
            [
                finding(
                    kai.TOO_FEW_PODS,
                    "1:spec.schedulingPolicy.gang.minCount",
                    needed="2 pods",
                    given="1 is given",
                    missing=1,
                )
            ],
            id="fewer pods than must run",
        ),
    ],
)
def test_what_is_refused(texts: tuple[str, ...], want: list[Finding]) -> None:
    assert reported(*texts) == want


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
    ("spec", "pods", "want"),
    [
        pytest.param({}, (), True, id="unless something says otherwise"),
        pytest.param({"priorityClassName": "high"}, (), True, id="by its class"),
        pytest.param({"priorityClassName": "patient"}, (), False, id="its class says never"),
        pytest.param(
            {"priority": 7},
            (pod("a", preemptionPolicy="Never"), pod("b", preemptionPolicy="Never")),
            False,
            id="without a class, if all of its pods say never",
        ),
        pytest.param(
            {"priority": 7}, (pod("a", preemptionPolicy="Never"), pod("b")), True, id="one of its pods may"
        ),
        pytest.param(
            {"priorityClassName": "high"},
            (pod("a", preemptionPolicy="Never"), pod("b", preemptionPolicy="Never")),
            True,
            id="its class is before its pods",
        ),
    ],
)
def test_whether_it_preempts(spec: dict[str, Any], pods: tuple[str, ...], want: bool) -> None:
    kind = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: 9, %s}"
    classes = kind % ("high", ""), kind % ("patient", "preemptionPolicy: Never")
    (found,) = reading(group(**spec), *classes, *pods).workloads
    assert found.preempts == want


@pytest.mark.parametrize(("mode", "shrinks"), [("Pod", True), ("PodGroup", False)])
def test_its_disruption_mode_decides_whether_pods_are_evicted_alone(mode: str, shrinks: bool) -> None:
    (found,) = reading(group(disruptionMode=mode)).workloads
    assert found.shrinks == shrinks


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
    with pytest.raises(InvalidError) as error:
        list(KUBERNETES.express(PlaceableWorkload(named, "kai", asked), {}))
    assert findings(error.value.problems) == [finding(kubernetes.NOT_COUNTED_AS_ONE, member="default/g")]


def test_groups_of_one_name_in_two_families_stay_apart() -> None:
    found = reading(
        group(), pod_group({"minMember": 1}, name="g"), node("n", "r"), pod("a", nodeName="n"), pod("b")
    )
    assert sorted(each.request.name for each in found.workloads if isinstance(each, PlaceableWorkload)) == [
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
    left_out = made.objects[0]["metadata"]["annotations"]["closeknit.dev/left-out"]
    assert "default/g" in left_out
    assert "topology/rack" in left_out
