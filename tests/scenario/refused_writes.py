"""Writes that admission refuses, and what is said about each."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from closeknit.hub.problems import Field, OneOf
from closeknit.hub.sentences import admission, core, dynamo, grove, hub, kai, kueue, osmo
from tests.kit.problems import line, text
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


TOPOLOGIES = ("grove-topology", "guarded", "halls", "osmo-pool-pool-topology", "racks")
LEVELS = {
    "halls": ("example.com/block", "example.com/rack"),
    "racks": ("example.com/block", "example.com/rack", "example.com/zone"),
}


def unknown_level(where: str, topology: str, level: str) -> str:
    """A level that a topology does not have."""
    remedy = OneOf(level, LEVELS[topology])
    return line(hub.UNKNOWN_LEVEL, where, topology=topology, level=level, remedy=remedy)


def unknown_domain(where: str, domain: str) -> str:
    """A domain that Grove's topology does not have."""
    remedy = OneOf(domain, ("zone", "block", "rack"))
    return line(grove.UNKNOWN_DOMAIN, where, topology="grove-topology", domain=domain, remedy=remedy)


def added_or_removed(where: str, done: str) -> str:
    """A topology constraint that a deployment got or lost after it was created."""
    return line(dynamo.TOPOLOGY_CONSTRAINT_ADDED_OR_REMOVED, where, done=done)


REFUSED = [
    pytest.param(
        Refused(
            pod_group(
                "{minMember: 1, topologyConstraint: {topology: rakcs, requiredTopologyLevel: example.com/rack}}"
            ),
            (
                line(
                    kai.TOPOLOGY_NOT_THERE,
                    "spec.topologyConstraint.topology",
                    topology="rakcs",
                    allowed=OneOf("rakcs", TOPOLOGIES),
                ),
            ),
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
                line(kai.LEAF_WITHOUT_MINIMUM, "spec.subGroups[0].minMember", name="a"),
                unknown_level(
                    "spec.subGroups[0].topologyConstraint.requiredTopologyLevel", "racks", "example.com/rak"
                ),
                line(
                    core.NOT_FOUND,
                    "spec.subGroups[1].parent",
                    kind="subgroup",
                    name="c",
                    remedy=OneOf("c", ("a",)),
                ),
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
            (unknown_level("spec.topologyConstraint.requiredTopologyLevel", "racks", "example.com/nowhere"),),
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
            (
                line(
                    kai.LABELS_CHANGED,
                    "spec.levels",
                    old='"example.com/zone" > "example.com/rack"',
                    new='"example.com/zone" > "example.com/row"',
                ),
            ),
            old=kai_topology("example.com/zone", "example.com/rack"),
        ),
        id="other labels of a Topology that exists",
        marks=pytest.mark.requirement("A54"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: grove.io/v1alpha1, kind: ClusterTopology, metadata: {labels: {app.kubernetes.io/managed-by: closeknit}},"
            " spec: {levels: [{domain: zone, key: a}]}}",
            (text(admission.MANAGED, kind="ClusterTopology"),),
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
            (line(grove.LEVELS_CHANGED, "spec.levels"),),
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
                unknown_domain("spec.template.topologyConstraint.pack.required", "row"),
                unknown_domain("spec.template.cliques[0].topologyConstraint.pack.required", "hall"),
                unknown_domain(
                    "spec.template.podCliqueScalingGroups[0].topologyConstraint.pack.required", "aisle"
                ),
            ),
            webhook="constrained.grove",
        ),
        id="a PodCliqueSet with domains that are not there, at all three levels",
        marks=pytest.mark.requirement("G33", "G60", "G64", "G41"),
    ),
    pytest.param(
        Refused(
            clique_set(pack("rack"), pack("zone")),
            (
                line(
                    core.COARSER_LEVEL,
                    "spec.template.cliques[0].topologyConstraint.pack.required",
                    called="domain",
                    level="zone",
                    bound="rack",
                    field=Field(("spec", "template", "topologyConstraint", "pack", "required")),
                ),
            ),
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
            deployment(within("rack", "grove-topolgy")),
            (
                line(
                    grove.NO_BINDING,
                    "spec.topologyConstraint.clusterTopologyName",
                    name="grove-topolgy",
                    remedy=OneOf("grove-topolgy", ("guarded", "grove-topology")),
                ),
            ),
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
                added_or_removed("spec.topologyConstraint", "added to"),
                "constraint is added",
                ("D34", "D38", "D48"),
                "constrained.dynamo",
            ),
            (
                (),
                (within("rack"),),
                added_or_removed("spec.topologyConstraint", "removed from"),
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
                added_or_removed("spec.components[0].topologyConstraint", "added to"),
                "component is given a constraint",
                ("D37",),
                "constrained.dynamo",
            ),
        ]
    ),
    pytest.param(
        Refused(
            workflow("{key: row, group: a, requirementType: required}"),
            (
                line(
                    osmo.KEY_NOT_IN_POOL,
                    "spec.workflow.resources.gpus.topology[0].key",
                    key="row",
                    resource="gpus",
                    pool="pool",
                    remedy=OneOf("row", ("rack", "zone")),
                ),
            ),
            webhook="constrained.osmo",
        ),
        id="a Workflow with a key that its pool lacks",
        marks=pytest.mark.requirement("O25"),
    ),
    pytest.param(
        Refused(
            job("{kueue.x-k8s.io/podset-required-topology: example.com/rak}"),
            (
                unknown_level(
                    'spec.template.metadata.annotations["kueue.x-k8s.io/podset-required-topology"]',
                    "halls",
                    "example.com/rak",
                ),
            ),
            webhook="constrained.kueue",
        ),
        id="a Job that requires a level which its queue lacks",
        marks=pytest.mark.requirement("K43", "K46"),
    ),
    pytest.param(
        Refused(
            job("{kueue.x-k8s.io/podset-preferred-topology: example.com/rak}"),
            (
                unknown_level(
                    'spec.template.metadata.annotations["kueue.x-k8s.io/podset-preferred-topology"]',
                    "halls",
                    "example.com/rak",
                ),
            ),
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
            (text(kueue.STANDS_AS_WELL, other="kueue.x-k8s.io/podset-required-topology"),),
            webhook="constrained.kueue",
        ),
        id="a Job that requires and prefers a level",
        marks=pytest.mark.requirement("K41", "K46"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {topologyName: halls}}",
            (line(kueue.LABELS_NEEDED, "spec.nodeLabels"),),
            webhook="constrained.kueue",
        ),
        id="a flavor with a topology and no node label",
        marks=pytest.mark.requirement("K45", "K46"),
    ),
    pytest.param(
        Refused(
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {nodeLabels: {a: b}, topologyName: other}}",
            (line(kueue.FIXED, "spec.topologyName", before="halls", kind="ResourceFlavor"),),
            old="{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {}, spec: {nodeLabels: {a: b}, topologyName: halls}}",
            webhook="constrained.kueue",
        ),
        id="another topology of a flavor that exists",
        marks=pytest.mark.requirement("K47"),
    ),
    pytest.param(
        Refused(
            levels("kueue.x-k8s.io/v1beta2", "Topology", "{nodeLabel: a}", "{nodeLabel: b}"),
            (line(kueue.LEVELS_FIXED, "spec.levels", label="kubernetes.io/hostname"),),
            old=levels("kueue.x-k8s.io/v1beta2", "Topology", "{nodeLabel: a}"),
            webhook="constrained.kueue",
        ),
        id="other levels of a Topology of Kueue",
        marks=pytest.mark.requirement("K47"),
    ),
]
