"""Our custom resource definitions are as strict as those that other projects publish."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.definitions import FAMILIES, Definition
from closeknit.dialects.definitions.definition import OPEN
from tests.contract.definitions import PROJECTS, published
from tests.contract.schemas import at, nodes

LIMITS = (
    "type",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "enum",
    "default",
    "nullable",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)
OURS_ALONE = {
    ("scheduling.run.ai", "PodGroup"): {"spec.subgroups"},
    ("grove.io", "ClusterTopology"): {"status"},
    # Versions are not converted, so each has the spelling of both.
    ("kueue.x-k8s.io", "ClusterQueue"): {
        "spec.admissionChecks",
        "spec.cohort",
        "spec.cohortName",
        "spec.concurrentAdmissionPolicy",
    },
    ("kueue.x-k8s.io", "Cohort"): {"spec.parent"},
    ("kueue.x-k8s.io", "Workload"): {
        "spec.podSets[].topologyRequest.podsetSliceRequiredTopologyConstraints",
        "spec.priorityClassName",
        "spec.priorityClassRef",
        "spec.priorityClassSource",
    },
}
"""Fields that are accepted here and published nowhere, or in another version."""

NOT_REQUIRED = {
    # The proposals may say nothing of pods and their roles, and name no topology.
    ("grove.io", "PodCliqueSet", "v1alpha1"): {
        "spec.template.cliques[].spec.podSpec",
        "spec.template.cliques[].spec.roleName",
    },
    ("grove.io", "PodClique", "v1alpha1"): {"spec.podSpec", "spec.roleName"},
    ("nvidia.com", "DynamoGraphDeployment", "v1alpha1"): {"spec.topologyConstraint.topologyProfile"},
    ("nvidia.com", "DynamoGraphDeployment", "v1beta1"): {"spec.topologyConstraint.clusterTopologyName"},
}
"""Fields that must be given by what is published, and may be left out here, as in the proposals."""


PUBLISHED = [
    pytest.param(definition, version, id=f"{definition.group} {definition.kind} {version}")
    for family in FAMILIES.values()
    for definition in family
    for version in definition.versions
    # The group of OSMO's files is our own. AdmissionCheck is not among the definitions at hand. OSMO's documents
    # write KAI's Topology in a version that KAI itself never served.
    if definition.group in PROJECTS and definition.kind != "AdmissionCheck"
    if (definition.group, version) != ("kai.scheduler", "v1")
]


def is_open(schema: dict[str, Any]) -> bool:
    """Whether a part is left to others: a field that is known and not used, or something kept as written."""
    return bool(schema.get(OPEN)) and "properties" not in schema


@pytest.mark.requirement("A48", "K37")
@pytest.mark.parametrize(("definition", "version"), PUBLISHED)
def test_every_field_has_the_type_and_the_limits_that_are_published(
    definition: Definition, version: str
) -> None:
    project = "grove-alpha8" if definition.kind == "ClusterTopology" else None
    # Limits differ from release to release; those of the versions beside the checkout are meant.
    theirs = published(definition.group, definition.kind, version, project, released=False)
    assert theirs is not None
    allowed = OURS_ALONE.get((definition.group, definition.kind), set())
    differences = []
    for path, ours in nodes(definition.schema(version)):
        other = at(theirs, path)
        if other is None:
            # A template's metadata is open anyway, and pods have fields that only newer servers know.
            known = path in allowed or any(path.startswith((one + ".", one + "[")) for one in allowed)
            if not known and ".metadata." not in path and not is_open(ours):
                differences.append(f"{path} is not published")
            continue
        if is_open(ours) or path == "metadata":
            continue
        differences += [
            f"{path} has {limit} {ours.get(limit)!r} where {other.get(limit)!r} is published"
            for limit in LIMITS
            if ours.get(limit) != other.get(limit)
        ]
        free = NOT_REQUIRED.get((definition.group, definition.kind, version), set())
        required = {name for name in other.get("required", []) if f"{path}.{name}" not in free}
        if set(ours.get("required", [])) != required:
            differences.append(
                f"{path} requires {ours.get('required')} where {other.get('required')} is published"
            )
        if not ours.get(OPEN):
            missing = set(other.get("properties", {})) - set(ours.get("properties", {}))
            differences += [f"{path}.{name} would be pruned" for name in sorted(missing)]

    assert differences == []
