"""The pods of a PodCliqueSet, held back by a gate until their gang is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis.grove_keys import GATE, POD_CLIQUE, POD_INDEX
from closeknit.apis.kai_keys import GROUP_ANNOTATION, SCHEDULER, SKIP, SUBGROUP_LABEL
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.instances import CliqueInstance, instances
from closeknit.dialects.grove.names import pod_name, replica_name
from closeknit.dialects.grove.to_cliques import clique_annotations, clique_labels
from closeknit.dialects.grove.to_gangs import scheduler_of


def to_pods(made: Blueprint) -> Iterator[dict[str, Any]]:
    """Every pod. What its author wrote is kept; names, labels, gate and environment are added."""
    for instance in instances(made):
        template = pod_template(made, instance)
        yield from (to_pod(template, instance.name, index) for index in range(instance.clique.replicas))


def pod_template(made: Blueprint, instance: CliqueInstance) -> dict[str, Any]:
    """What the pods of a clique have in common."""
    scheduler = scheduler_of(made)
    labels = {**clique_labels(made, instance), POD_CLIQUE: instance.name}
    annotations = clique_annotations(instance)
    if scheduler == SCHEDULER:
        labels[SUBGROUP_LABEL] = instance.name
        annotations = {**annotations, GROUP_ANNOTATION: instance.gang, SKIP: "true"}
    environment = _environment(made, instance)
    given = instance.clique.pod_spec
    spec = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        **given,
        "schedulerName": scheduler,
        "schedulingGates": [{"name": GATE}],
        "subdomain": replica_name(made.name, instance.replica),
    }
    for field in ("containers", "initContainers"):
        if containers := given.get(field):
            spec[field] = [_with(container, environment) for container in containers]
    metadata: dict[str, Any] = {"namespace": made.namespace, "labels": labels}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": spec}


def to_pod(template: dict[str, Any], clique: str, index: int) -> dict[str, Any]:
    """One pod of a clique."""
    name = pod_name(clique, index)
    common = template["metadata"]
    metadata = {"name": name, **common, "labels": {**common["labels"], POD_INDEX: str(index)}}
    return new_object("v1", "Pod", metadata, {**template["spec"], "hostname": name})


def _environment(made: Blueprint, instance: CliqueInstance) -> list[dict[str, Any]]:
    service = f"{replica_name(made.name, instance.replica)}.{made.namespace}.svc.cluster.local"
    values = {
        "GROVE_PCS_NAME": made.name,
        "GROVE_PCS_INDEX": str(instance.replica),
        "GROVE_PCLQ_NAME": instance.name,
        "GROVE_HEADLESS_SERVICE": service,
    }
    if instance.scaled is not None:
        values["GROVE_PCSG_NAME"] = instance.scaled.name
        values["GROVE_PCSG_INDEX"] = str(instance.scaled.index)
        values["GROVE_PCSG_TEMPLATE_NUM_PODS"] = str(sum(one.replicas for one in instance.siblings))
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
