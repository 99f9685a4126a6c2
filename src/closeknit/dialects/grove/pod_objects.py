"""The pods of a PodCliqueSet, held back by a gate until their gang is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.cliques import clique_annotations, clique_labels
from closeknit.dialects.grove.gangs import KAI_SCHEDULER, SKIP_PODGROUPER, scheduler_of
from closeknit.dialects.grove.naming import GATE, POD_CLIQUE, POD_INDEX, pod_name, replica_name
from closeknit.dialects.grove.parts import Part, parts

_POD_GROUP = "pod-group-name"
_SUBGROUP = "kai.scheduler/subgroup-name"


def to_pods(made: Blueprint) -> Iterator[dict[str, Any]]:
    """Every pod. What its author wrote is kept; names, labels, gate and environment are added."""
    scheduler = scheduler_of(made)
    for part in parts(made):
        labels = {**clique_labels(made, part), POD_CLIQUE: part.name}
        annotations = clique_annotations(part)
        if scheduler == KAI_SCHEDULER:
            labels[_SUBGROUP] = part.name
            annotations = {**annotations, _POD_GROUP: part.gang, SKIP_PODGROUPER: "true"}
        environment = _environment(made, part)
        given = part.clique.pod_spec
        spec = {
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            **given,
            "schedulerName": scheduler,
            "schedulingGates": [{"name": GATE}],
            "subdomain": replica_name(made.name, part.replica),
        }
        for field in ("containers", "initContainers"):
            if containers := given.get(field):
                spec[field] = [_with(container, environment) for container in containers]
        for index in range(part.clique.replicas):
            name = pod_name(part.name, index)
            metadata: dict[str, Any] = {
                "name": name,
                "namespace": made.namespace,
                "labels": {**labels, POD_INDEX: str(index)},
            }
            if annotations:
                metadata["annotations"] = dict(annotations)
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {**spec, "hostname": name},
            }


def _environment(made: Blueprint, part: Part) -> list[dict[str, Any]]:
    service = f"{replica_name(made.name, part.replica)}.{made.namespace}.svc.cluster.local"
    values = {
        "GROVE_PCS_NAME": made.name,
        "GROVE_PCS_INDEX": str(part.replica),
        "GROVE_PCLQ_NAME": part.name,
        "GROVE_HEADLESS_SERVICE": service,
    }
    if part.scaled is not None:
        values["GROVE_PCSG_NAME"] = part.scaled.name
        values["GROVE_PCSG_INDEX"] = str(part.scaled.index)
        values["GROVE_PCSG_TEMPLATE_NUM_PODS"] = str(sum(one.replicas for one in part.siblings))
    own = {"fieldRef": {"fieldPath": f"metadata.labels['{POD_INDEX}']"}}
    return [
        *({"name": name, "value": value} for name, value in values.items()),
        {"name": "GROVE_PCLQ_POD_INDEX", "valueFrom": own},
    ]


def _with(container: Any, environment: list[dict[str, Any]]) -> Any:
    """A container with the environment that Grove adds, after its own, which it may refer to."""
    given = container.get("env", [])
    if not isinstance(given, list):
        # Nobody looked at it, because placing does not depend on it; the API server will refuse it.
        return container
    taken = {each.get("name") for each in given if isinstance(each, dict)}
    return {**container, "env": [*given, *(each for each in environment if each["name"] not in taken)]}
