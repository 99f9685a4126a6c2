"""The PodCliques and PodCliqueScalingGroups of a PodCliqueSet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis import grove_keys as keys
from closeknit.apis.wire import plain
from closeknit.dialects.core.kinds import new_object, owner_references
from closeknit.dialects.grove.blueprint import Blueprint, ScalingGroup
from closeknit.dialects.grove.instances import CliqueInstance, instances, starts_after
from closeknit.dialects.grove.names import scaling_group_name

API_VERSION = "grove.io/v1alpha1"


def to_cliques(made: Blueprint) -> Iterator[dict[str, Any]]:
    """The PodCliqueScalingGroups, then the PodCliques. Neither carries a constraint; gangs do."""
    for replica in range(made.replicas):
        yield from (to_scaling_group(made, replica, group) for group in made.groups)
    yield from (to_clique(made, instance) for instance in instances(made))


def to_scaling_group(made: Blueprint, replica: int, group: ScalingGroup) -> dict[str, Any]:
    """The PodCliqueScalingGroup of a scaling group in one replica of a set."""
    name = scaling_group_name(made.name, replica, group.name)
    labels = {
        **default_labels(made),
        keys.NAME: name,
        keys.COMPONENT: "pcs-podcliquescalinggroup",
        keys.REPLICA_INDEX: str(replica),
    }
    spec = {
        "replicas": group.replicas,
        "minAvailable": group.least,
        "cliqueNames": list(group.given.clique_names),
    }
    own = metadata(made, name, labels, group.given.annotations)
    return new_object(API_VERSION, "PodCliqueScalingGroup", own, spec)


def to_clique(made: Blueprint, instance: CliqueInstance) -> dict[str, Any]:
    """The PodClique of a clique in one replica of a set, or of a scaling group."""
    own = metadata(made, instance.name, clique_labels(made, instance), clique_annotations(instance))
    return new_object(API_VERSION, "PodClique", own, _clique_spec(made, instance))


def default_labels(made: Blueprint) -> dict[str, str]:
    """The labels of everything that is made for a set."""
    return {keys.MANAGED_BY: keys.OPERATOR, keys.PART_OF: made.name}


def clique_labels(made: Blueprint, instance: CliqueInstance) -> dict[str, str]:
    """The labels of a PodClique; its pods have them as well."""
    labels = {
        **instance.clique.given.labels,
        **default_labels(made),
        keys.NAME: instance.name,
        keys.COMPONENT: "pcs-podclique",
        keys.REPLICA_INDEX: str(instance.replica),
        keys.POD_GANG: instance.gang,
    }
    if instance.scaled is not None:
        labels[keys.COMPONENT] = "pcsg-podclique"
        labels[keys.SCALING_GROUP] = instance.scaled.name
        labels[keys.SCALING_GROUP_REPLICA_INDEX] = str(instance.scaled.index)
    if instance.base is not None:
        labels[keys.BASE_POD_GANG] = instance.base
    return labels


def clique_annotations(instance: CliqueInstance) -> dict[str, str]:
    """The annotations of a PodClique; the topology is an annotation of the gang."""
    annotations = instance.clique.given.annotations
    return {key: value for key, value in annotations.items() if key != keys.TOPOLOGY_NAME}


def metadata(
    made: Blueprint, name: str, labels: dict[str, str], annotations: dict[str, str]
) -> dict[str, Any]:
    """The metadata of an object that the set owns. An owner without a uid cannot be named."""
    found: dict[str, Any] = {"name": name, "namespace": made.namespace, "labels": labels}
    if annotations:
        found["annotations"] = dict(annotations)
    uid = made.given.metadata.uid
    return {**found, **owner_references(API_VERSION, "PodCliqueSet", made.name, uid)}


def _clique_spec(made: Blueprint, instance: CliqueInstance) -> dict[str, Any]:
    clique = instance.clique
    spec: dict[str, Any] = {
        "roleName": clique.given.spec.role_name or clique.name,
        "replicas": clique.replicas,
        "minAvailable": clique.least,
        "podSpec": clique.pod_spec,
    }
    if waits := starts_after(made, instance):
        spec["startsAfter"] = waits
    if (scaling := clique.given.spec.auto_scaling_config) is not None:
        spec["autoScalingConfig"] = {"minReplicas": clique.replicas, **plain(scaling)}
    return spec
