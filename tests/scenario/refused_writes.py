"""Writes that admission refuses, and what is said about each."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.scenario.reviewed_manifests import (
    clique_set,
    deployment,
    job,
    kai_topology,
    pack,
    pod_group,
    within,
    workflow,
)


@dataclass(frozen=True)
class Refused:
    """A write that is refused, and everything that is said about it."""

    new: str
    said: tuple[str, ...]
    old: str = ""
    code: int = 422
    webhook: str = "constrained.kai"


def levels(api_version: str, kind: str, *given: str) -> str:
    """A topology of any kind with these levels."""
    return (
        f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{}}, spec: {{levels: [{', '.join(given)}]}}}}"
    )


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
            levels(
                "grove.io/v1alpha1", "ClusterTopology", "{domain: zone, key: a}", "{domain: rack, key: b}"
            ),
            ("spec.levels: The levels of a ClusterTopology cannot be changed.",),
            old=levels("grove.io/v1alpha1", "ClusterTopology", "{domain: zone, key: a}"),
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
            levels("kueue.x-k8s.io/v1beta2", "Topology", "{nodeLabel: a}", "{nodeLabel: b}"),
            ("spec.levels: The levels cannot be changed",),
            old=levels("kueue.x-k8s.io/v1beta2", "Topology", "{nodeLabel: a}"),
            webhook="constrained.kueue",
        ),
        id="other levels of a Topology of Kueue",
        marks=pytest.mark.requirement("K47"),
    ),
]
