"""Rules that published definitions state in CEL, for what we write; each in our own words.

Only rules about an object by itself: what may change of one that exists is not for a translation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_HOSTNAME = "kubernetes.io/hostname"


def broken(written: dict[str, Any], *, earlier_grove: bool = False) -> Iterator[str]:
    """The rules that an object breaks."""
    spec = written.get("spec") or {}
    match written["kind"]:
        case "Topology":
            yield from _levels([level.get("nodeLabel") for level in spec.get("levels", [])])
        case "ClusterTopology" | "ClusterTopologyBinding":
            for field in ("domain", "key"):
                values = [level[field] for level in spec["levels"]]
                if len(set(values)) != len(values):
                    yield f"two levels have the same {field}"
        case "PodCliqueSet" if not earlier_grove:
            template = spec["template"]
            for part in (template, *template["cliques"], *template.get("podCliqueScalingGroups", [])):
                if "topologyConstraint" in part:
                    yield from _constraint(part["topologyConstraint"])
        case "ResourceFlavor":
            if "topologyName" in spec and not spec.get("nodeLabels"):
                yield "a flavor with a topology needs a node label"
            yield from _tolerations(spec.get("tolerations", []))
        case "ClusterQueue" | "Cohort":
            yield from _quotas(spec, lone=written["kind"] == "ClusterQueue" and "cohortName" not in spec)
        case "Workload" if "podSets" in spec:
            yield from _workload(spec)
        case "JobSet":
            if spec.get("startupPolicy", {}).get("startupPolicyOrder") == "InOrder":
                yield from (
                    "a job depends on another" for job in spec["replicatedJobs"] if "dependsOn" in job
                )
        case _:
            pass


def _levels(labels: list[str | None]) -> Iterator[str]:
    if len(set(labels)) != len(labels):
        yield "two levels have the same label"
    if _HOSTNAME in labels[:-1]:
        yield "the hostname is not the last level"


def _constraint(constraint: dict[str, Any]) -> Iterator[str]:
    if "packDomain" in constraint:
        yield "packDomain is no longer taken in new objects"
    elif not constraint.get("pack"):
        yield "a constraint without pack"
    elif not {"required", "preferred"} & constraint["pack"].keys():
        yield "a pack without required and preferred"


def _tolerations(tolerations: list[dict[str, Any]]) -> Iterator[str]:
    for each in tolerations:
        if "key" not in each and each.get("operator") != "Exists":
            yield "a toleration without key must say Exists"
        if each.get("operator") == "Exists" and "value" in each:
            yield "a toleration that says Exists has no value"
        if each.get("effect", "NoExecute") not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            yield "a toleration has an unknown effect"


def _quotas(spec: dict[str, Any], *, lone: bool) -> Iterator[str]:
    for group in spec.get("resourceGroups", []):
        for flavor in group["flavors"]:
            if len(flavor["resources"]) != len(group["coveredResources"]):
                yield f"flavor {flavor['name']} does not cover what its group covers"
            if lone and any("borrowingLimit" in each for each in flavor["resources"]):
                yield "a queue outside cohorts borrows from nobody"


def _workload(spec: dict[str, Any]) -> Iterator[str]:
    if "priorityClassRef" in spec and "priority" not in spec:
        yield "a priority class without a priority"
    for pod_set in spec["podSets"]:
        if pod_set.get("minCount", 0) > pod_set["count"]:
            yield "the minimum is above the count"
