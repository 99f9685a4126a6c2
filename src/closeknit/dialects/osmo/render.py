"""What OSMO's service creates for a pool and for a workflow: Topology, Queue, PodGroup and pods of KAI."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from closeknit.apis.closeknit_keys import RUN_SECONDS
from closeknit.apis.kai_keys import GROUP_ANNOTATION, QUEUE, SCHEDULER, SUBGROUP_LABEL
from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Pool, Workflow
from closeknit.dialects.core.kinds import new_object
from closeknit.dialects.core.levels import Levels
from closeknit.dialects.family import Rendered
from closeknit.dialects.kai.to_pod_group import to_topology_object
from closeknit.dialects.osmo.compile import open_groups
from closeknit.dialects.osmo.naming import PRIORITIES, PRIORITY_LABEL, TASK_LABEL, class_of, fitted
from closeknit.dialects.osmo.policy import Mount, mount_of
from closeknit.dialects.osmo.pools import ReadPool, pool_named, share_of
from closeknit.dialects.osmo.tree import Subgroup
from closeknit.dialects.osmo.workflows import ReadWorkflow, Task, TaskGroup, pod_name, workflow_of
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View
from closeknit.hub.copying import replace
from closeknit.hub.keys import Key

_UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def pool_to_kai(stored: Stored[Pool], view: View) -> Rendered:
    """The Topology of a pool, whose keys are its aliases, and its queue after the one that it hangs below."""
    pool = view.derive(pool_named, stored.name)
    if pool is None or pool.problems:
        return Rendered()
    made: list[dict[str, Any]] = []
    if pool.topology is not None:
        made.append(to_topology_object(pool.topology))
        made[0]["metadata"]["labels"] = {"osmo.pool": fitted(pool.name)}
    return Rendered((*made, *_queues(pool)))


def workflow_to_kai(stored: Stored[Workflow], view: View) -> Rendered:
    """The PriorityClass of a workflow, and for each group of tasks its PodGroup and pods."""
    return Rendered(tuple(_objects(stored, view)))


def workflow_to_pods(stored: Stored[Workflow], view: View) -> Rendered:
    """The pods of a workflow."""
    return Rendered(tuple(made for made in _objects(stored, view) if made["kind"] == "Pod"))


def _objects(stored: Stored[Workflow], view: View) -> Iterator[dict[str, Any]]:
    workflow = view.derive(workflow_of, stored.key)
    if workflow is None:
        return
    if (needed := priority_class(workflow, view)) is not None:
        yield needed
    for group in open_groups(workflow, view):
        yield to_pod_group(group, workflow)
        yield from to_pods(group, workflow)


def priority_class(workflow: ReadWorkflow, view: View) -> dict[str, Any] | None:
    """The PriorityClass that a workflow names and that is not there."""
    priority = workflow.priority
    if not priority or view.has(Key("scheduling.k8s.io", "PriorityClass", "", class_of(priority))):
        return None
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": class_of(priority)}, "value": PRIORITIES[priority]}


def _queues(pool: ReadPool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The queue of a pool, after the one that it hangs below, without which KAI lets nothing run in it."""
    share = share_of(pool.file)
    gpu = {"quota": share["guarantee"], "limit": share["maximum"], "overQuotaWeight": share["weight"]}
    above = queue_above(pool)
    open_to_all = {name: dict(_UNLIMITED) for name in ("gpu", "cpu", "memory")}
    return (
        _queue(above, {"resources": open_to_all}),
        _queue(pool.queue, {"parentQueue": above, "resources": {**open_to_all, "gpu": gpu}}),
    )


def queue_above(pool: ReadPool) -> str:
    """The queue that those of all pools of a backend hang below."""
    return fitted("-".join(part for part in ("osmo-default", pool.backend.k8s_namespace) if part))


def _queue(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return new_object("scheduling.run.ai/v2", "Queue", {"name": name}, spec)


def to_pod_group(group: TaskGroup, workflow: ReadWorkflow, without: Collection[str] = ()) -> dict[str, Any]:
    """The PodGroup of a group of tasks. Its leaves count pods, or itself if it has no subgroups.

    ``without``: tasks of which no pod can count any more. A subgroup of such tasks alone is left out.
    """
    pool = workflow.pool
    subgroups = _remaining(group.tree.subgroups, without)
    topology = pool.topology.name if pool is not None and pool.topology is not None else ""
    spec: dict[str, Any] = {"queue": pool.queue} if pool is not None else {}
    if workflow.priority:
        spec["priorityClassName"] = class_of(workflow.priority)
    if not subgroups:
        spec["minMember"] = sum(task.given.name not in without for task in group.tasks)
    spec.update(_constraint(group.tree.levels, topology))
    if subgroups:
        spec["subGroups"] = [_subgroup(subgroup, topology) for subgroup in subgroups]
    metadata: dict[str, Any] = {"name": group.pod_group, "namespace": workflow.namespace}
    if pool is not None:
        metadata["labels"] = _queue_label(pool)
    if duration := _duration(workflow):
        metadata["annotations"] = duration
    return new_object("scheduling.run.ai/v2alpha2", "PodGroup", metadata, spec)


def _remaining(subgroups: Sequence[Subgroup], without: Collection[str]) -> list[Subgroup]:
    """The subgroups without some tasks, and without those that have nothing left."""
    if not without:
        return list(subgroups)
    children: Counter[str] = Counter()
    left = []
    # Children come after their parents, so going backwards each finds all its children counted.
    for each in reversed(subgroups):
        tasks = tuple(task for task in each.tasks if task not in without)
        if tasks or children[each.name]:
            left.append(replace(each, tasks=tasks, children=children[each.name]))
            children[each.parent] += 1
    return left[::-1]


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
        # What OSMO itself says of a pod goes before what its author says.
        **workflow.stored.content.spec.workflow.labels,
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
            "name": pod_name(task, retry),
            "namespace": workflow.namespace,
            "annotations": {GROUP_ANNOTATION: group.pod_group, **_duration(workflow)},
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
        **_volumes(task),
    }


def _mounts(task: Task) -> list[Mount]:
    """The directories of the host that a task sees; `policy` has checked that its platform allows them."""
    return [mount for written in task.given.volume_mounts if (mount := mount_of(written)) is not None]


def _volumes(task: Task) -> dict[str, Any]:
    sources = dict.fromkeys(mount.source for mount in _mounts(task))
    made = [{"name": f"host-{i}", "hostPath": {"path": source}} for i, source in enumerate(sources)]
    return {"volumes": made} if made else {}


def _volume_mounts(task: Task) -> list[dict[str, str]]:
    mounts = _mounts(task)
    names = {source: f"host-{i}" for i, source in enumerate(dict.fromkeys(each.source for each in mounts))}
    return [{"name": names[mount.source], "mountPath": mount.target} for mount in mounts]


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
        "volumeMounts": _volume_mounts(task),
    }
    return {
        "name": fitted(given.name),
        **{field: part for field, part in parts.items() if part},
        "resources": {"requests": asked, "limits": dict(asked)},
    }


def _duration(workflow: ReadWorkflow) -> dict[str, str]:
    """How long each task runs at most, where whoever submitted the workflow says so."""
    annotations = workflow.stored.content.metadata.annotations
    return {RUN_SECONDS: annotations[RUN_SECONDS]} if RUN_SECONDS in annotations else {}


def _queue_label(pool: ReadPool | None) -> dict[str, str]:
    return {QUEUE: pool.queue} if pool is not None else {}
