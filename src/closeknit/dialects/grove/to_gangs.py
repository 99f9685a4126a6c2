"""The PodGangs of a PodCliqueSet: what a scheduler is handed.

Each replica of the set has a base gang with the constraint of the set. In it, each replica
of a scaling group that has a constraint is a group configuration. Each replica of a scaling group past
``minAvailable`` is a gang of its own, with the constraint of the scaling group or else of the set.
What the pods ask for is noted on each, so that gangs can be planned before there are pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from closeknit.apis.closeknit_keys import SHARED_DOMAIN, SHARED_DOMAIN_LEVEL
from closeknit.apis.grove_keys import COMPONENT, PREFIX, SCHEDULER_NAME, TOPOLOGY_NAME
from closeknit.apis.kai_keys import SCHEDULER, SKIP
from closeknit.dialects.core.assumed_pods import RESOURCES_ANNOTATION, assuming
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.grove.blueprint import Blueprint
from closeknit.dialects.grove.instances import CliqueInstance, instances_of
from closeknit.dialects.grove.names import pod_name, replica_name, scaled_name
from closeknit.dialects.grove.to_cliques import default_labels, metadata


def to_gangs(made: Blueprint) -> Iterator[dict[str, Any]]:
    """Every PodGang, each base gang before the gangs that are scaled from it."""
    for replica in range(made.replicas):
        yield from gangs_of_replica(made, replica)


def gangs_of_replica(made: Blueprint, replica: int) -> Iterator[dict[str, Any]]:
    """Every PodGang of one replica of a set, the base gang first."""
    by_gang: dict[str, list[CliqueInstance]] = {}
    for instance in instances_of(made, replica):
        by_gang.setdefault(instance.gang, []).append(instance)
    for name, members in by_gang.items():
        yield _gang(made, name, members)


def scheduler_of(made: Blueprint) -> str:
    """The scheduler of the set's pods, KAI unless they name another."""
    named = (clique.pod_spec.get("schedulerName") for clique in made.all_cliques())
    return next((str(name) for name in named if name), SCHEDULER)


def _gang(made: Blueprint, name: str, members: Sequence[CliqueInstance]) -> dict[str, Any]:
    scaled = members[0].scaled if members[0].base is not None else None
    whole = made.levels
    if scaled is not None and scaled.group.levels != Levels():
        whole = scaled.group.levels
    spec: dict[str, Any] = {"podgroups": [_pod_group(made, instance) for instance in members]}
    if constraint := _constraint(whole):
        spec["topologyConstraint"] = constraint
    if scaled is None and (configs := _group_configs(members)):
        spec["topologyConstraintGroupConfigs"] = configs
    if priority := made.given.spec.template.priority_class_name:
        spec["priorityClassName"] = priority
    close = [whole, *(instance.clique.levels for instance in members)]
    close.extend(instance.scaled.group.levels for instance in members if instance.scaled)
    own = _metadata(made, name, members, constrained=any(levels != Levels() for levels in close))
    return new_object("scheduler.grove.io/v1alpha1", "PodGang", own, spec)


def _metadata(
    made: Blueprint, name: str, members: Sequence[CliqueInstance], *, constrained: bool
) -> dict[str, Any]:
    given = made.given.metadata
    labels = {key: value for key, value in given.labels.items() if not key.startswith(PREFIX)}
    annotations = {key: value for key, value in given.annotations.items() if not key.startswith(PREFIX)}
    scheduler = scheduler_of(made)
    labels.update(default_labels(made))
    labels.update({COMPONENT: "podgang", SCHEDULER_NAME: scheduler})
    # The pod specs of the cliques count, whatever annotation the set has.
    annotations.pop(RESOURCES_ANNOTATION, None)
    annotations.update(assuming({instance.name: instance.clique.shape.resources for instance in members}))
    if made.topology is not None and constrained:
        annotations[TOPOLOGY_NAME] = made.topology
    if made.levels.required is not None and made.groups:
        # Any of the scaling groups may get gangs of its own later.
        annotations[SHARED_DOMAIN] = replica_name(made.name, members[0].replica)
        annotations[SHARED_DOMAIN_LEVEL] = made.levels.required
    if scheduler == SCHEDULER:
        annotations[SKIP] = "true"
    return metadata(made, name, labels, annotations)


def _pod_group(made: Blueprint, instance: CliqueInstance) -> dict[str, Any]:
    # References are sorted by name, as Grove keeps them.
    names = sorted(pod_name(instance.name, index) for index in range(instance.clique.replicas))
    group: dict[str, Any] = {
        "name": instance.name,
        "podReferences": [{"namespace": made.namespace, "name": name} for name in names],
        "minReplicas": instance.clique.least,
    }
    if constraint := _constraint(instance.clique.levels):
        group["topologyConstraint"] = constraint
    return group


def _group_configs(members: Sequence[CliqueInstance]) -> list[dict[str, Any]]:
    """One for each replica of a scaling group in the base gang that has a constraint."""
    configs: dict[str, dict[str, Any]] = {}
    for instance in members:
        if instance.scaled is None or not (constraint := _constraint(instance.scaled.group.levels)):
            continue
        name = scaled_name(instance.scaled.name, instance.scaled.index)
        config = configs.setdefault(
            name, {"name": name, "podGroupNames": [], "topologyConstraint": constraint}
        )
        config["podGroupNames"].append(instance.name)
    return list(configs.values())


def _constraint(levels: Levels) -> dict[str, Any]:
    given = {"required": levels.required, "preferred": levels.preferred}
    pack = {key: label for key, label in given.items() if label is not None}
    return {"packConstraint": pack} if pack else {}
