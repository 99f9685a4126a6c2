"""Pools and workflows as the objects that OSMO's own rules make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.apis.scheduling_k8s_io_v1 import PriorityClass
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.family import Surroundings
from closeknit.dialects.osmo.objects import to_pod_group, to_pods, to_queues, to_topology_object
from closeknit.dialects.osmo.pools import pools
from closeknit.dialects.osmo.priority import class_of, to_priority_class
from closeknit.dialects.osmo.workflows import read_workflows
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View


def begun(manifests: View) -> frozenset[tuple[str, str]]:
    """Namespace and name of the PodGroups that are there already. What they ask for is theirs to say."""
    return frozenset((group.namespace, group.name) for group in manifests.keys(PodGroup))


def to_kai(manifests: View, _: Surroundings) -> Iterator[dict[str, Any] | Reported]:
    """Topologies and queues of pools, and for each group of a workflow its PodGroup and pods."""
    read = pools(manifests)
    yield from read.problems
    sound = [pool for pool in read.read.values() if not pool.problems]
    for pool in sound:
        if pool.topology is not None:
            yield to_topology_object(pool, pool.topology)
    # Pools of one backend hang below one queue.
    yield from {queue["metadata"]["name"]: queue for pool in sound for queue in to_queues(pool)}.values()
    yield from _priority_classes(manifests)
    running = begun(manifests)
    for workflow in read_workflows(manifests):
        manifest = workflow.manifest
        yield from (manifest.report(problem) for problem in workflow.problems)
        for group in workflow.groups:
            if (workflow.namespace, group.pod_group) in running:
                continue
            yield to_pod_group(group, workflow)
            yield from to_pods(group, workflow)


def _priority_classes(manifests: View) -> Iterator[dict[str, Any]]:
    """The classes of OSMO that workflows use, unless they are there already."""
    there = {one.name for one in manifests.keys(PriorityClass)}
    used = dict.fromkeys(workflow.priority for workflow in read_workflows(manifests) if workflow.priority)
    yield from (to_priority_class(priority) for priority in used if class_of(priority) not in there)


def to_pods_alone(manifests: View, surroundings: Surroundings) -> Iterator[dict[str, Any] | Reported]:
    """The pods, for those who need nothing else."""
    for made in to_kai(manifests, surroundings):
        if isinstance(made, Reported) or made["kind"] == "Pod":
            yield made
