"""What may be created and changed, asked of the embedded cluster and of a real API server in the same words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
import yaml

from closeknit.kube.errors import ApiError
from closeknit.kube.port import KubernetesApi
from closeknit.kube.rest import Access, connect, load_access
from tests.planes import running_plane
from tests.scenario.admitted import embedded, resource_of, webhook

Json = dict[str, Any]
EMBEDDED, REAL = "embedded", "kube-apiserver"
_NUMBERS = count()


@pytest.fixture(scope="module")
def reviewed_access() -> Iterator[Access]:
    """The way to a real API server that asks the webhook; one for all tests, because it takes seconds."""
    with running_plane() as plane, webhook(plane):
        yield load_access(kubeconfig=str(plane.kubeconfig))


@pytest.fixture(params=[EMBEDDED, pytest.param(REAL, marks=pytest.mark.e2e)])
async def api(request: pytest.FixtureRequest) -> AsyncIterator[KubernetesApi]:
    """An API that reviews writes; its user is an administrator, and no operator."""
    if request.param == EMBEDDED:
        async with embedded() as cluster:
            yield cluster
        return
    async with connect(request.getfixturevalue("reviewed_access"), component="admission-tests") as found:
        yield found


def named(text: str) -> Json:
    """An object of a manifest, under a name of its own."""
    obj: Json = yaml.safe_load(text)
    if obj["metadata"].get("name") is None:
        obj["metadata"]["name"] = f"case-{next(_NUMBERS)}"
    if resource_of(obj).namespaced:
        obj["metadata"]["namespace"] = "default"
    return obj


def pod_group(spec: str) -> str:
    return f"{{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {{}}, spec: {spec}}}"


def kai_topology(*labels: str) -> str:
    levels = ", ".join(f"{{nodeLabel: {label}}}" for label in labels)
    return f"{{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {{}}, spec: {{levels: [{levels}]}}}}"


def clique_set(constraint: str = "null", clique: str = "null", group: str = "null") -> str:
    return f"""
        apiVersion: grove.io/v1alpha1
        kind: PodCliqueSet
        metadata: {{}}
        spec:
          replicas: 1
          template:
            topologyConstraint: {constraint}
            cliques:
            - name: worker
              topologyConstraint: {clique}
              spec: {{roleName: worker, replicas: 2, podSpec: {{containers: [{{name: main, image: busybox}}]}}}}
            podCliqueScalingGroups:
            - {{name: group, cliqueNames: [worker], topologyConstraint: {group}}}
    """


def deployment(constraint: str = "null", component: str = "null") -> str:
    return f"""
        apiVersion: nvidia.com/v1beta1
        kind: DynamoGraphDeployment
        metadata: {{}}
        spec:
          topologyConstraint: {constraint}
          components:
          - name: worker
            type: worker
            topologyConstraint: {component}
            podTemplate: {{spec: {{containers: [{{name: main, image: busybox}}]}}}}
    """


def pack(domain: str) -> str:
    return f"{{topologyName: grove-topology, pack: {{required: {domain}}}}}"


def within(domain: str, topology: str = "grove-topology") -> str:
    return f"{{clusterTopologyName: {topology}, packDomain: {domain}}}"


def job(annotations: str = "{}", *, queue: str = "team", own: str = "{}") -> str:
    labels = f"{{kueue.x-k8s.io/queue-name: {queue}}}" if queue else "{}"
    return f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{labels: {labels}, annotations: {own}}}
        spec:
          parallelism: 2
          completions: 2
          template:
            metadata: {{annotations: {annotations}}}
            spec:
              restartPolicy: Never
              containers: [{{name: main, image: busybox, resources: {{requests: {{cpu: 1}}}}}}]
    """


def workflow(requirement: str) -> str:
    return f"""
        apiVersion: osmo.closeknit.dev/v1alpha1
        kind: Workflow
        metadata: {{}}
        spec:
          workflow:
            name: train
            pool: pool
            tasks: [{{name: one, image: busybox, resource: gpus}}]
            resources: {{gpus: {{topology: [{requirement}]}}}}
    """


@dataclass(frozen=True)
class Refused:
    """A write that is refused, and everything that is said about it."""

    new: str
    said: tuple[str, ...]
    old: str = ""
    code: int = 422
    webhook: str = "constrained.kai"


REFUSED = [
    pytest.param(
        Refused(
            pod_group(
                "{minMember: 1, topologyConstraint: {topology: rakcs, requiredTopologyLevel: example.com/rack}}"
            ),
            ('spec.topologyConstraint.topology: Topology "rakcs" is not there. Did you mean "racks"?',),
        ),
        id="a PodGroup with an unknown topology, with the nearest one",
        marks=pytest.mark.requirement("A55", "A15"),
    ),
    pytest.param(
        Refused(
            pod_group(
                "{subGroups: [{name: a, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rak}},"
                " {name: b, minMember: 1, parent: c}]}"
            ),
            (
                'spec.subGroups[0].minMember: "a" needs minMember: how many of its pods must run at once.',
                'spec.subGroups[0].topologyConstraint.requiredTopologyLevel: Topology "racks" has no level "example.com/rak"',
                'spec.subGroups[1].parent: There is no subgroup "c".',
            ),
        ),
        id="everything that is wrong with a PodGroup at once",
        marks=pytest.mark.requirement("A55", "A10", "A13", "A20"),
    ),
    pytest.param(
        Refused(
            pod_group(
                "{minMember: 2, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/nowhere}}"
            ),
            (
                'spec.topologyConstraint.requiredTopologyLevel: Topology "racks" has no level "example.com/nowhere"',
            ),
            old=pod_group(
                "{minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rack}}"
            ),
        ),
        id="a PodGroup that is changed to a level that is not there",
        marks=pytest.mark.requirement("A55"),
    ),
    pytest.param(
        Refused(
            kai_topology("example.com/zone", "example.com/row"),
            ("spec.levels: The labels cannot change from",),
            old=kai_topology("example.com/zone", "example.com/rack"),
        ),
        id="other labels of a Topology that exists",
        marks=pytest.mark.requirement("A54"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: grove.io/v1alpha1, kind: ClusterTopology, metadata: {labels: {app.kubernetes.io/managed-by: closeknit}},"
            " spec: {levels: [{domain: zone, key: a}]}}",
            ("An operator made this ClusterTopology from its configuration and looks after it.",),
            code=403,
            webhook="constrained.grove",
        ),
        id="a ClusterTopology that pretends to be an operator's",
        marks=pytest.mark.requirement("G21"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: grove.io/v1alpha1, kind: ClusterTopology, metadata: {}, spec: {levels: [{domain: zone, key: a}, {domain: rack, key: b}]}}",
            ("spec.levels: The levels of a ClusterTopology cannot be changed.",),
            old="{apiVersion: grove.io/v1alpha1, kind: ClusterTopology, metadata: {}, spec: {levels: [{domain: zone, key: a}]}}",
            webhook="constrained.grove",
        ),
        id="other levels of a ClusterTopology that exists",
        marks=pytest.mark.requirement("G27"),
    ),
    pytest.param(
        Refused(
            clique_set(pack("row"), pack("hall"), pack("aisle")),
            (
                'spec.template.topologyConstraint.pack.required: Topology "grove-topology" has no domain "row"',
                'spec.template.cliques[0].topologyConstraint.pack.required: Topology "grove-topology" has no domain "hall"',
                'spec.template.podCliqueScalingGroups[0].topologyConstraint.pack.required: Topology "grove-topology" has no domain "aisle"',
            ),
            webhook="constrained.grove",
        ),
        id="a PodCliqueSet with domains that are not there, at all three levels",
        marks=pytest.mark.requirement("G33", "G60", "G64", "G41"),
    ),
    pytest.param(
        Refused(
            clique_set(pack("rack"), pack("zone")),
            ('spec.template.cliques[0].topologyConstraint.pack.required: "zone" is coarser than "rack"',),
            webhook="constrained.grove",
        ),
        id="a clique that may spread wider than its PodCliqueSet",
        marks=pytest.mark.requirement("G40"),
    ),
    pytest.param(
        Refused(
            clique_set(pack("zone")),
            ("spec.template.topologyConstraint",),
            old=clique_set(pack("rack")),
            webhook="constrained.grove",
        ),
        id="another domain of a PodCliqueSet that exists",
        marks=pytest.mark.requirement("G34"),
    ),
    pytest.param(
        Refused(
            deployment(within("row"), "{packDomain: aisle}"),
            (
                "spec.topologyConstraint.packDomain: ",
                "spec.components[0].topologyConstraint.packDomain: ",
            ),
            webhook="constrained.dynamo",
        ),
        id="a deployment with domains that are not levels of the topology, all told at once",
        marks=pytest.mark.requirement("D26", "D27", "D31", "D33"),
    ),
    pytest.param(
        Refused(
            deployment(within("rack", "missing")),
            ('spec.topologyConstraint.clusterTopologyName: There is no ClusterTopologyBinding "missing".',),
            webhook="constrained.dynamo",
        ),
        id="a deployment whose topology is not there",
        marks=pytest.mark.requirement("D28"),
    ),
    *(
        pytest.param(
            Refused(deployment(*new), (said,), old=deployment(*old), webhook=entry),
            id=f"a deployment whose {what}",
            marks=pytest.mark.requirement(*numbers),
        )
        for new, old, said, what, numbers, entry in [
            (
                (within("rack"),),
                (),
                "spec.topologyConstraint: A topology constraint cannot be added to what exists. "
                "Delete the DynamoGraphDeployment and create it anew.",
                "constraint is added",
                ("D34", "D38", "D48"),
                "constrained.dynamo",
            ),
            (
                (),
                (within("rack"),),
                "spec.topologyConstraint: A topology constraint cannot be removed from what exists.",
                "constraint is removed",
                ("D35",),
                "others.dynamo",
            ),
            (
                (within("zone"),),
                (within("rack"),),
                "spec.topologyConstraint.packDomain",
                "domain is changed",
                ("D36",),
                "constrained.dynamo",
            ),
            (
                (within("zone"), "{packDomain: rack}"),
                (within("zone"), "{packDomain: block}"),
                "spec.components[0].topologyConstraint.packDomain",
                "component's domain is changed",
                ("D37",),
                "constrained.dynamo",
            ),
            (
                (within("zone"), "{packDomain: rack}"),
                (within("zone"),),
                "spec.components[0].topologyConstraint: A topology constraint cannot be added",
                "component is given a constraint",
                ("D37",),
                "constrained.dynamo",
            ),
        ]
    ),
    pytest.param(
        Refused(
            workflow("{key: row, group: a, requirementType: required}"),
            ('Topology key "row" in resource "gpus" is not available in pool "pool".',),
            webhook="constrained.osmo",
        ),
        id="a Workflow with a key that its pool lacks",
        marks=pytest.mark.requirement("O25"),
    ),
    pytest.param(
        Refused(
            job("{kueue.x-k8s.io/podset-required-topology: example.com/rak}"),
            (
                'spec.template.metadata.annotations["kueue.x-k8s.io/podset-required-topology"]: '
                'Topology "halls" has no level "example.com/rak". Did you mean "example.com/rack"?',
            ),
            webhook="constrained.kueue",
        ),
        id="a Job that requires a level which its queue lacks",
        marks=pytest.mark.requirement("K43", "K46"),
    ),
    pytest.param(
        Refused(
            job("{kueue.x-k8s.io/podset-preferred-topology: example.com/rak}"),
            ('Topology "halls" has no level "example.com/rak".',),
            webhook="constrained.kueue",
        ),
        id="a Job that prefers a level which its queue lacks",
        marks=pytest.mark.requirement("K44", "K46"),
    ),
    pytest.param(
        Refused(
            job(
                "{kueue.x-k8s.io/podset-required-topology: example.com/rack, kueue.x-k8s.io/podset-preferred-topology: example.com/rack}"
            ),
            ("stands here as well. Only one of them can be given.",),
            webhook="constrained.kueue",
        ),
        id="a Job that requires and prefers a level",
        marks=pytest.mark.requirement("K41", "K46"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {topologyName: halls}}",
            ("spec.nodeLabels: A flavor with a topology needs at least one node label",),
            webhook="constrained.kueue",
        ),
        id="a flavor with a topology and no node label",
        marks=pytest.mark.requirement("K45", "K46"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {nodeLabels: {a: b}, topologyName: other}}",
            ("spec.topologyName: It was",),
            old="{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {nodeLabels: {a: b}, topologyName: halls}}",
            webhook="constrained.kueue",
        ),
        id="another topology of a flavor that exists",
        marks=pytest.mark.requirement("K47"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {}, spec: {levels: [{nodeLabel: a}, {nodeLabel: b}]}}",
            ("spec.levels: The levels cannot be changed",),
            old="{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {}, spec: {levels: [{nodeLabel: a}]}}",
            webhook="constrained.kueue",
        ),
        id="other levels of a Topology of Kueue",
        marks=pytest.mark.requirement("K47"),
    ),
]


@pytest.mark.parametrize("case", REFUSED)
async def test_a_write_is_refused_and_everything_is_told(api: KubernetesApi, case: Refused) -> None:
    new = named(case.new)
    resource = resource_of(new)
    if case.old:
        old = named(case.old)
        made = await api.create(resource, old)
        new["metadata"] = {**made["metadata"], **{k: v for k, v in new["metadata"].items() if k != "name"}}

    with pytest.raises(ApiError) as caught:
        await (api.replace(resource, new) if case.old else api.create(resource, new))

    status = caught.value.status
    assert status.code == case.code
    assert status.message.startswith(f'admission webhook "{case.webhook}.closeknit.dev" denied the request: ')
    listed = [f"{cause.field}: {cause.message}" for cause in status.causes]
    assert len(listed) == len(case.said), listed
    for said, found in zip(sorted(case.said), sorted(listed), strict=True):
        assert said in found
    assert all(each in status.message for each in listed)


ALLOWED = [
    pytest.param(
        pod_group(
            "{minMember: 1, topologyConstraint: {topology: racks, requiredTopologyLevel: example.com/rack}}"
        ),
        {},
        id="a PodGroup that is right",
        marks=pytest.mark.requirement("A55"),
    ),
    pytest.param(
        pod_group("{minMember: 1, queue: later}"), {}, id="a PodGroup whose queue is not there yet", marks=()
    ),
    pytest.param(
        clique_set(),
        {
            "cliqueStartupType": "CliqueStartupTypeAnyOrder",
            "cliques": [{"spec": {"replicas": 2, "minAvailable": 2}}],
            "podCliqueScalingGroups": [{"replicas": 1, "minAvailable": 1}],
        },
        id="a PodCliqueSet says how many of its pods must run, where it did not",
        marks=(),
    ),
    pytest.param(
        clique_set(pack("zone"), pack("rack"), pack("block")),
        {},
        id="a PodCliqueSet whose levels get finer",
        marks=pytest.mark.requirement("G39"),
    ),
    pytest.param(
        deployment(), {}, id="a deployment without a constraint", marks=pytest.mark.requirement("D1", "D30")
    ),
    pytest.param(
        deployment(within("zone"), "{packDomain: rack}"),
        {},
        id="a deployment with a constraint, and a narrower one of a component",
        marks=pytest.mark.requirement("D6", "D27"),
    ),
    pytest.param(
        job("{kueue.x-k8s.io/podset-required-topology: example.com/rack}"),
        {"suspend": True},
        id="a Job that queues is suspended",
        marks=pytest.mark.requirement("K46", "K6"),
    ),
    pytest.param(job(), {"suspend": True}, id="a Job that queues without a topology is suspended", marks=()),
    pytest.param(job(queue=""), {"suspend": False}, id="a Job that queues nowhere is left alone", marks=()),
    pytest.param(job(queue="later"), {"suspend": True}, id="a Job whose queue is not there yet", marks=()),
    pytest.param(
        "{apiVersion: v1, kind: Pod, metadata: {labels: {kueue.x-k8s.io/queue-name: team}, annotations: "
        "{kueue.x-k8s.io/podset-required-topology: example.com/rack}}, spec: {containers: [{name: main, image: busybox}]}}",
        {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]},
        id="a pod that queues by itself is gated",
        marks=pytest.mark.requirement("K13"),
    ),
    pytest.param(
        workflow("{key: rack, group: a, requirementType: required}"),
        {},
        id="a Workflow that is right",
        marks=(),
    ),
]


@pytest.mark.parametrize(("manifest", "spec"), ALLOWED)
async def test_a_write_is_allowed_and_defaults_are_written(
    api: KubernetesApi, manifest: str, spec: Json
) -> None:
    obj = named(manifest)

    made = await api.create(resource_of(obj), obj)

    found = made["spec"].get("template", {}) if obj["kind"] == "PodCliqueSet" else made["spec"]
    _assert_part_of(spec, found)


def _assert_part_of(part: Any, whole: Any) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            _assert_part_of(value, whole[key])
    elif isinstance(part, list):
        assert len(part) == len(whole)
        for one, other in zip(part, whole, strict=True):
            _assert_part_of(one, other)
    else:
        assert part == whole
