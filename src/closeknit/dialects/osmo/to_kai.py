"""The objects that a pool and a workflow become: Topology, Queue, PodGroup and pods, in KAI's spelling."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from closeknit.apis.kai_keys import GROUP_ANNOTATION, QUEUE, SCHEDULER, SUBGROUP_LABEL
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.kai.to_pod_group import to_topology_object as kai_topology
from closeknit.dialects.osmo.naming import PRIORITIES, PRIORITY_LABEL, TASK_LABEL, class_of, fitted
from closeknit.dialects.osmo.pools import ReadPool
from closeknit.dialects.osmo.tree import Subgroup
from closeknit.dialects.osmo.workflows import ReadWorkflow, Task, TaskGroup
from closeknit.hub.topology import Topology

_UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def to_topology_object(pool: ReadPool, topology: Topology) -> dict[str, Any]:
    """The Topology of a pool, coarsest level first; the pool's keys are the aliases of the levels."""
    made = kai_topology(topology)
    made["metadata"]["labels"] = {"osmo.pool": fitted(pool.name)}
    return made


def to_queues(pool: ReadPool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The queue of a pool, after the one that it hangs below, without which KAI lets nothing run in it."""
    share = pool.file.resources.gpu
    gpu = {"quota": share.guarantee, "limit": share.maximum, "overQuotaWeight": share.weight}
    above = fitted("-".join(part for part in ("osmo-default", pool.backend.k8s_namespace) if part))
    open_to_all = {name: dict(_UNLIMITED) for name in ("gpu", "cpu", "memory")}
    return (
        _queue(above, {"resources": open_to_all}),
        _queue(pool.queue, {"parentQueue": above, "resources": {**open_to_all, "gpu": gpu}}),
    )


def _queue(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return new_object("scheduling.run.ai/v2", "Queue", {"name": name}, spec)


def to_priority_class(priority: str) -> dict[str, Any]:
    """The priority class of workflows that are so urgent."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": class_of(priority)},
        "value": PRIORITIES[priority],
    }


def to_pod_group(group: TaskGroup, workflow: ReadWorkflow) -> dict[str, Any]:
    """The PodGroup of a group of tasks. Its leaves count pods, or itself if it has no subgroups."""
    pool = workflow.pool
    topology = pool.topology.name if pool is not None and pool.topology is not None else ""
    spec: dict[str, Any] = {"queue": pool.queue} if pool is not None else {}
    if workflow.priority:
        spec["priorityClassName"] = class_of(workflow.priority)
    if not group.tree.subgroups:
        spec["minMember"] = len(group.tasks)
    spec.update(_constraint(group.tree.levels, topology))
    if group.tree.subgroups:
        spec["subGroups"] = [_subgroup(subgroup, topology) for subgroup in group.tree.subgroups]
    metadata: dict[str, Any] = {"name": group.pod_group, "namespace": workflow.namespace}
    if pool is not None:
        metadata["labels"] = _queue_label(pool)
    return new_object("scheduling.run.ai/v2alpha2", "PodGroup", metadata, spec)


def to_pods(
    group: TaskGroup, workflow: ReadWorkflow, retries: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """The pods of a group of tasks, in the order of the tasks.

    ``retries`` says how often a task was started again, by its name. A retried task is another pod in
    the same place: all that ties it to its PodGroup and subgroup is the same as the first time.
    """
    subgroups = group.tree.subgroup_of()
    pool = workflow.pool
    common = {
        **_queue_label(pool),
        "osmo.workflow_id": fitted(workflow.stored.name),
        "osmo.group_name": fitted(group.name),
        **({PRIORITY_LABEL: workflow.priority} if workflow.priority else {}),
    }
    made = []
    for task in group.tasks:
        retry = (retries or {}).get(task.given.name, 0)
        subgroup = subgroups.get(task.given.name)
        labels = {
            **common,
            **({SUBGROUP_LABEL: subgroup} if subgroup is not None else {}),
            TASK_LABEL: fitted(task.given.name),
            "osmo.retry_id": str(retry),
            **({"osmo.lead_container": "true"} if task.lead else {}),
        }
        metadata = {
            "name": f"{task.pod}-{retry}" if retry else task.pod,
            "namespace": workflow.namespace,
            "annotations": {GROUP_ANNOTATION: group.pod_group},
            "labels": labels,
        }
        made.append(new_object("v1", "Pod", metadata, _pod_spec(task, pool)))
    return made


def _subgroup(subgroup: Subgroup, topology: str) -> dict[str, Any]:
    """A leaf counts its pods; any other counts its children, because it has no pods of its own."""
    return {
        "name": subgroup.name,
        **({"parent": subgroup.parent} if subgroup.parent else {}),
        **({"minSubGroup": subgroup.children} if subgroup.children else {"minMember": len(subgroup.tasks)}),
        **_constraint(subgroup.levels, topology),
    }


def _constraint(given: Levels, topology: str) -> dict[str, Any]:
    levels = {"requiredTopologyLevel": given.required, "preferredTopologyLevel": given.preferred}
    named = {field: level for field, level in levels.items() if level is not None}
    return {"topologyConstraint": {"topology": topology, **named}} if named else {}


def _pod_spec(task: Task, pool: ReadPool | None) -> dict[str, Any]:
    scheduler = pool.backend.scheduler_settings.scheduler_name if pool is not None else SCHEDULER
    return {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        **({"hostNetwork": True} if task.given.host_network else {}),
        **(copy.deepcopy(dict(task.template.terms)) if task.template.terms else {}),
        "containers": [_container(task)],
    }


def _container(task: Task) -> dict[str, Any]:
    given = task.given
    asked = dict(task.template.requests)
    environment = [{"name": name, "value": str(value)} for name, value in sorted(given.environment.items())]
    parts: dict[str, Any] = {
        "image": given.image,
        "command": [str(word) for word in given.command],
        "args": [str(word) for word in given.args],
        "env": environment,
        "securityContext": {"privileged": True} if given.privileged else {},
    }
    return {
        "name": fitted(given.name),
        **{field: part for field, part in parts.items() if part},
        "resources": {"requests": asked, "limits": dict(asked)},
    }


def _queue_label(pool: ReadPool | None) -> dict[str, str]:
    return {QUEUE: pool.queue} if pool is not None else {}
