"""The PodCliques and PodCliqueScalingGroups of a PodCliqueSet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.naming import (
    BASE_POD_GANG,
    COMPONENT,
    MANAGED_BY,
    NAME,
    OPERATOR,
    PART_OF,
    POD_GANG,
    REPLICA_INDEX,
    SCALING_GROUP,
    SCALING_GROUP_REPLICA_INDEX,
    TOPOLOGY_NAME,
    scaling_group_name,
)
from closeknit.dialects.grove.parts import Part, parts, starts_after

API_VERSION = "grove.io/v1alpha1"


def to_cliques(made: Blueprint) -> Iterator[dict[str, Any]]:
    """The PodCliqueScalingGroups, then the PodCliques. Neither carries a constraint; gangs do."""
    for replica in range(made.replicas):
        for group in made.groups:
            name = scaling_group_name(made.name, replica, group.name)
            yield {
                "apiVersion": API_VERSION,
                "kind": "PodCliqueScalingGroup",
                "metadata": metadata(
                    made,
                    name,
                    {
                        **default_labels(made),
                        NAME: name,
                        COMPONENT: "pcs-podcliquescalinggroup",
                        REPLICA_INDEX: str(replica),
                    },
                    group.given.annotations,
                ),
                "spec": {
                    "replicas": group.replicas,
                    "minAvailable": group.least,
                    "cliqueNames": list(group.given.clique_names),
                },
            }
    for part in parts(made):
        yield {
            "apiVersion": API_VERSION,
            "kind": "PodClique",
            "metadata": metadata(made, part.name, clique_labels(made, part), clique_annotations(part)),
            "spec": _clique_spec(made, part),
        }


def default_labels(made: Blueprint) -> dict[str, str]:
    """The labels of everything that is made for a set."""
    return {MANAGED_BY: OPERATOR, PART_OF: made.name}


def clique_labels(made: Blueprint, part: Part) -> dict[str, str]:
    """The labels of a PodClique; its pods have them as well."""
    labels = {
        **part.clique.given.labels,
        **default_labels(made),
        NAME: part.name,
        COMPONENT: "pcs-podclique",
        REPLICA_INDEX: str(part.replica),
        POD_GANG: part.gang,
    }
    if part.scaled is not None:
        labels[COMPONENT] = "pcsg-podclique"
        labels[SCALING_GROUP] = part.scaled.name
        labels[SCALING_GROUP_REPLICA_INDEX] = str(part.scaled.index)
    if part.base is not None:
        labels[BASE_POD_GANG] = part.base
    return labels


def clique_annotations(part: Part) -> dict[str, str]:
    """The annotations of a PodClique; which topology counts is for the gang to say."""
    annotations = part.clique.given.annotations
    return {key: value for key, value in annotations.items() if key != TOPOLOGY_NAME}


def metadata(
    made: Blueprint, name: str, labels: dict[str, str], annotations: dict[str, str]
) -> dict[str, Any]:
    """The metadata of an object that the set owns. An owner without a uid cannot be named."""
    found: dict[str, Any] = {"name": name, "namespace": made.namespace, "labels": labels}
    if annotations:
        found["annotations"] = dict(annotations)
    if made.given.metadata.uid:
        found["ownerReferences"] = [
            {
                "apiVersion": API_VERSION,
                "kind": "PodCliqueSet",
                "name": made.name,
                "uid": made.given.metadata.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return found


def _clique_spec(made: Blueprint, part: Part) -> dict[str, Any]:
    clique = part.clique
    spec: dict[str, Any] = {
        "roleName": clique.given.spec.role_name or clique.name,
        "replicas": clique.replicas,
        "minAvailable": clique.least,
        "podSpec": clique.pod_spec,
    }
    if waits := starts_after(made, part):
        spec["startsAfter"] = waits
    if (scaling := clique.given.spec.auto_scaling_config) is not None:
        spec["autoScalingConfig"] = {"minReplicas": clique.replicas, **msgspec.to_builtins(scaling)}
    return spec
