from __future__ import annotations

from typing import Any

import pytest
import yaml

from closeknit.admission.defaults import defaulted, may_wait_with_owner
from closeknit.admission.requests import Request, Review
from closeknit.admission.review import COLLECTORS, review
from closeknit.admission.reviewed import REVIEWED, reviewed_by
from closeknit.admission.reviewer import FAMILIES
from closeknit.dialects import DIALECTS
from closeknit.dialects.reading import load_documents
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key
from closeknit.hub.problems import OneOf
from closeknit.hub.sentences import kai, wire
from closeknit.text.documents import Document
from tests.kit.problems import finding, findings, line

Json = dict[str, Any]
OPERATOR = "system:serviceaccount:closeknit-system:closeknit"

TOPOLOGY = """
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: racks}, spec: {levels: [
  {nodeLabel: zone}, {nodeLabel: rack}]}}
"""
GROUP = """
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g, namespace: default}, spec: {
  minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: rack}}}
"""
GUARDED = """
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: mine, labels: {
  app.kubernetes.io/managed-by: closeknit}}, spec: {levels: [{nodeLabel: zone}]}}
"""


def view_of(*manifests: str) -> View:
    documents = [Document("cluster", None, yaml.safe_load(each)) for each in manifests]
    return load_documents(DIALECTS, documents, lenient=True).view


def request(new: str = "", old: str = "", **changes: Any) -> Request:
    obj, earlier = (yaml.safe_load(each) if each else None for each in (new, old))
    either: Json = obj or earlier or {}
    group, _, version = either["apiVersion"].rpartition("/")
    metadata = either["metadata"]
    return replace(
        Request(
            operation="CREATE" if earlier is None else "UPDATE" if obj else "DELETE",
            group=group,
            version=version,
            kind=either["kind"],
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            user="somebody",
            obj=obj,
            old=earlier,
        ),
        **changes,
    )


def answer(family: str, asked: Request, view: View) -> Review:
    return review(FAMILIES[family], asked, view, frozenset({OPERATOR}))


def test_the_view_is_given_back_as_it_was() -> None:
    view = view_of(TOPOLOGY, GROUP)
    before = view.entry(Key("scheduling.run.ai", "PodGroup", "default", "g"))

    answer("kai", request(GROUP.replace("minMember: 1", "minMember: 2"), GROUP), view)
    answer("kai", request(GROUP.replace("name: g,", "name: h,")), view)

    assert view.entry(Key("scheduling.run.ai", "PodGroup", "default", "g")) is before
    assert view.entry(Key("scheduling.run.ai", "PodGroup", "default", "h")) is None


@pytest.mark.requirement("G62")
def test_what_was_wrong_before_is_told_and_does_not_keep_an_object_from_being_changed() -> None:
    found = answer("kai", request(GROUP.replace("minMember: 1", "minMember: 2"), GROUP), view_of())

    assert found.allowed
    assert found.warnings == (
        line(
            kai.TOPOLOGY_NOT_THERE,
            "spec.topologyConstraint.topology",
            topology="racks",
            allowed=OneOf.among("racks", []),
        ),
    )


def test_what_was_wrong_before_is_no_licence_for_something_else() -> None:
    worse = GROUP.replace("minMember: 1", "minMember: 1, minSubGroup: 1")

    found = answer("kai", request(worse, GROUP), view_of())

    assert [each.where for each in found.problems] == ["spec.minSubGroup", "spec.minSubGroup"]


def test_a_negative_minimum_does_not_make_up_for_too_many_pods() -> None:
    group = """
        {apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g, namespace: default},
         spec: {minMember: -200000, subGroups: [{name: a, minMember: 2}]}}
    """

    view = view_of()
    view.judging = True

    found = answer("kai", request(group.replace("minMember: 2}", "minMember: 200000}"), group), view)

    assert [each.where for each in found.problems] == ["spec.subGroups[0].minMember"]


def test_an_object_that_is_being_deleted_may_lose_its_finalizers_whatever_is_wrong_with_it() -> None:
    leaving = GROUP.replace("name: g,", "name: g, deletionTimestamp: '2026-01-01T00:00:00Z',")
    wrong = leaving.replace("requiredTopologyLevel: rack", "requiredTopologyLevel: nowhere")

    assert answer("kai", request(wrong, GROUP), view_of(TOPOLOGY)) == Review()


@pytest.mark.parametrize("uid", ["", "uid: u, creationTimestamp: '2026-01-01T00:00:00Z', "])
def test_a_new_object_is_new_though_the_server_has_given_it_a_uid(uid: str) -> None:
    parent = f"""
        {{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {{{uid}name: g, namespace: default}}, spec: {{
          subGroups: [{{name: a, minMember: 1}}, {{name: b, parent: a, minMember: 1}}]}}}}
    """

    created = answer("kai", request(parent), view_of())
    changed = answer("kai", request(parent, parent), view_of())

    where = "spec.subGroups[0].minMember"
    assert findings(created.problems) == [finding(kai.PARENT_COUNTS_PODS, where, name="a")]
    assert changed.allowed
    assert changed.warnings[0] == line(kai.PARENT_COUNTED_PODS, where, name="a")


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        pytest.param(request(GUARDED), False, id="somebody makes one that looks like an operator's"),
        pytest.param(request(GUARDED.replace("zone", "rack"), GUARDED), False, id="somebody changes it"),
        pytest.param(
            request(GUARDED.replace("by: closeknit", "by: me"), GUARDED), False, id="somebody makes it theirs"
        ),
        pytest.param(request("", GUARDED), False, id="somebody deletes it"),
        pytest.param(request("", TOPOLOGY), True, id="somebody deletes their own"),
        pytest.param(request(GUARDED, user=OPERATOR), True, id="the operator makes it"),
        pytest.param(
            request(GUARDED.replace("zone", "rack"), GUARDED, user=OPERATOR),
            True,
            id="the operator changes it",
        ),
        pytest.param(request("", GUARDED, user=OPERATOR), True, id="the operator deletes it"),
        pytest.param(
            request("", GUARDED, user=min(COLLECTORS)), True, id="Kubernetes deletes what nobody owns"
        ),
    ],
)
@pytest.mark.requirement("G21")
def test_what_an_operator_made_is_the_operators(asked: Request, *, allowed: bool) -> None:
    found = answer("kai", asked, view_of())

    assert found.allowed == allowed
    assert found.forbidden == (not allowed)


def test_null_is_read_as_nothing() -> None:
    asked = request(GROUP.replace("minMember: 1", "minMember: 1, priorityClassName: null"))

    assert answer("kai", asked, view_of(TOPOLOGY)).allowed


def test_an_object_that_cannot_be_read_is_refused_with_its_fields() -> None:
    found = answer("kai", request(GROUP.replace("minMember: 1", "minMember: many")), view_of(TOPOLOGY))

    assert findings(found.problems) == [
        finding(
            wire.WRONG_TYPE,
            "spec.minMember",
            found='"many", a string,',
            expected="a whole number",
            remedy="",
        )
    ]


GRANDCHILD = "{apiVersion: batch/v1, kind: Job, controller: true, name: j, uid: u}"


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {nodeName: n}}",
            id="a pod that is bound already",
        ),
        pytest.param(
            "{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {suspend: true}}",
            id="a Job that is suspended already",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {}}", id="a pod that queues nowhere"
        ),
    ],
)
def test_what_gets_no_defaults(manifest: str) -> None:
    assert defaulted("kueue", request(manifest)) is None


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(
            "{apiVersion: batch/v1, kind: Job, metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}, ownerReferences: ["
            + GRANDCHILD
            + "]}, spec: {}}",
            id="a Job of a JobSet, which queues with it",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {kueue.x-k8s.io/queue-name: q}, ownerReferences: ["
            + GRANDCHILD
            + "]}, spec: {}}",
            id="a pod of a Job",
        ),
    ],
)
def test_part_of_what_queues_waits_with_the_whole_and_only_then_not_for_itself(manifest: str) -> None:
    asked = request(manifest)

    assert may_wait_with_owner("kueue", asked)
    assert defaulted("kueue", asked, waits_with_owner=True) is None
    assert defaulted("kueue", asked) is not None


def test_a_gate_is_written_once_and_those_of_others_stay() -> None:
    gates = [{"name": "theirs"}, {"name": "kueue.x-k8s.io/admission"}]
    asked = request(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {kueue.x-k8s.io/queue-name: q}}, spec: {}}"
    )
    assert asked.obj is not None

    made = defaulted("kueue", replace(asked, obj={**asked.obj, "spec": {"schedulingGates": gates}}))

    assert made is not None
    assert made["spec"]["schedulingGates"] == gates
    assert made["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true"


@pytest.mark.parametrize(
    ("spec", "replicas", "minimum"),
    [
        ({}, 1, 1),
        ({"replicas": 4}, 4, 4),
        ({"replicas": 4, "minAvailable": 2}, 4, 2),
        ({"replicas": 0}, 1, 1),
    ],
)
def test_the_numbers_of_a_clique(spec: Json, replicas: int, minimum: int) -> None:
    obj = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "s"},
        "spec": {"template": {"cliques": [{"name": "c", "spec": spec}]}},
    }

    made = defaulted("grove", request(yaml.safe_dump(obj)))

    assert made is not None
    clique = made["spec"]["template"]["cliques"][0]["spec"]
    assert (clique["replicas"], clique["minAvailable"]) == (replicas, minimum)
    assert defaulted("grove", request(yaml.safe_dump(dict(made)))) is None


@pytest.mark.parametrize(
    ("family", "kind", "obj", "asks", "concerns"),
    [
        ("kai", "PodGroup", {"spec": {"subGroups": [{}, {"topologyConstraint": {}}]}}, True, True),
        ("kai", "PodGroup", {"spec": {"subGroups": [{}]}}, False, True),
        ("kai", "Job", {"metadata": {"annotations": {"kai.scheduler/topology": "t"}}}, True, True),
        ("kai", "Job", {"metadata": {"annotations": {"other": "t"}}}, False, False),
        (
            "dynamo",
            "DynamoGraphDeployment",
            {"spec": {"services": {"a": {"topologyConstraint": {}}}}},
            True,
            True,
        ),
        ("dynamo", "DynamoGraphDeployment", {"spec": {"services": [{"topologyConstraint": {}}]}}, True, True),
        ("dynamo", "DynamoGraphDeployment", {"spec": {"topologyConstraint": None}}, False, True),
        ("kueue", "Job", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}, False, True),
        ("kueue", "Job", {"metadata": {}}, False, False),
        ("kueue", "Topology", {}, True, True),
    ],
)
def test_what_asks_for_a_topology(family: str, kind: str, obj: Json, *, asks: bool, concerns: bool) -> None:
    group = next(row.group for row in REVIEWED[family] if row.kind == kind)
    row = reviewed_by(family, group, kind)

    assert row is not None
    assert (row.asks_for_topology(obj), row.concerns(obj)) == (asks, concerns)


def test_every_kind_that_a_family_has_rules_for_is_reviewed() -> None:
    """But for those that no server serves or that are read from files alone, and pods, which only Kueue has rules
    for that can refuse one.
    """
    in_files = {
        ("kueue", "LeaderWorkerSet"),
        ("kueue", "PyTorchJob"),
        # Kueue's own file of settings: the command that reads it says what is wrong with it.
        ("kueue", "Configuration"),
    }
    missing = {
        (family.name, kind.kind)
        for family in FAMILIES.values()
        for kind in family.kinds
        if kind.shape in {*family.compile, *family.check, *family.update}
        and kind.served
        and reviewed_by(family.name, kind.group, kind.kind) is None
    }

    assert missing == in_files


def test_every_family_is_reviewed_but_those_whose_kinds_the_api_server_checks_itself() -> None:
    assert {family.name for family in DIALECTS} - FAMILIES.keys() == {"kubernetes", "pods"}


_OFF = """
{apiVersion: operator.config.grove.io/v1alpha1, kind: OperatorConfiguration, topologyAwareScheduling: {enabled: false}}
"""
_SET = """
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: s, namespace: default}
spec:
  template:
    topologyConstraint: {topologyName: grove-topology, pack: {required: zone}}
    cliques:
    - {name: a, topologyConstraint: {pack: {required: rack}}, spec: {replicas: 1}}
    podCliqueScalingGroups:
    - {name: b, cliqueNames: [a], topologyConstraint: {pack: {required: rack}}}
"""
_DEPLOYMENT = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: d, namespace: default}
spec:
  topologyConstraint: {clusterTopologyName: grove-topology, packDomain: rack}
  components: [{name: worker}]
"""


@pytest.mark.parametrize(
    ("family", "manifest", "paths"),
    [
        pytest.param(
            "grove",
            _SET,
            [
                "spec.template.cliques[0].topologyConstraint",
                "spec.template.podCliqueScalingGroups[0].topologyConstraint",
                "spec.template.topologyConstraint",
            ],
            id="a PodCliqueSet, at all three levels",
            marks=pytest.mark.requirement("G61"),
        ),
        pytest.param(
            "dynamo",
            _DEPLOYMENT,
            ["spec.topologyConstraint"],
            id="a deployment",
            marks=pytest.mark.requirement("D29"),
        ),
    ],
)
def test_where_topologies_are_switched_off_new_constraints_are_refused(
    family: str, manifest: str, paths: list[str]
) -> None:
    view = view_of(_OFF)

    created = answer(family, request(manifest), view)
    changed = answer(family, request(manifest, manifest), view)

    assert sorted(each.where for each in created.problems) == paths
    assert changed.allowed


def test_the_cost_of_a_review_does_not_follow_the_number_of_other_objects() -> None:
    """Counted is how many functions are worked out again for the second of two reviews."""

    def worked_out(others: int) -> int:
        topologies = [TOPOLOGY.replace("name: racks", f"name: racks-{i}") for i in range(others)]
        groups = [GROUP.replace("name: g,", f"name: other-{i},") for i in range(others)]
        view = view_of(TOPOLOGY, *topologies, *groups)
        answer("kai", request(GROUP), view)
        before = view.worked_out.total()
        assert answer("kai", request(GROUP.replace("name: g,", "name: h,")), view).allowed
        return view.worked_out.total() - before

    assert worked_out(200) == worked_out(2)
