"""OSMO: pools with topology keys, and workflows whose tasks ask to be near each other.

Both are files without a kind, and as such the ``spec`` of ``Pool`` and ``Workflow``. Each group of
a workflow's tasks becomes one PodGroup, whose tree is built from the tasks' requirements.
Where that PodGroup is already there it is the workload, and the workflow asks for nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from closeknit.apis.osmo_closeknit_dev_v1alpha1 import Backend, Pool, Workflow
from closeknit.apis.osmo_pool import TopologyKey
from closeknit.dialects.core.naming import workload_name
from closeknit.dialects.core.priority import created
from closeknit.dialects.family import Family, Surroundings, described
from closeknit.dialects.osmo.pools import pools
from closeknit.dialects.osmo.priority import CLASSES, class_of
from closeknit.dialects.osmo.requests import to_request
from closeknit.dialects.osmo.translations import begun, to_kai, to_pods_alone
from closeknit.dialects.osmo.workflows import ReadWorkflow, TaskGroup, read_workflows
from closeknit.dialects.store.objects import Reported
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind, OwnFile
from closeknit.hub.keys import Key
from closeknit.hub.problems import as_told
from closeknit.hub.topology import Topology
from closeknit.hub.workload import ObjectName, Workload

GROUP = "osmo.closeknit.dev"
DIALECT = "osmo"


def keys_of(manifests: View, pool: str) -> tuple[TopologyKey, ...] | None:
    """The topology keys that workflows of a pool may name, coarsest first; None for an unknown pool."""
    found = pools(manifests).read.get(pool)
    return found.keys if found is not None else None


def _topologies(manifests: View) -> Iterator[Topology | Reported]:
    read = pools(manifests)
    yield from read.problems
    for pool in read.read.values():
        if not pool.problems and pool.topology is not None:
            yield pool.topology


def _workloads(manifests: View, surroundings: Surroundings) -> Iterator[Workload | Reported]:
    running = begun(manifests)
    for workflow in read_workflows(manifests):
        manifest = workflow.manifest
        found = list(workflow.problems)
        since = created(manifest, found)
        yield from (manifest.report(problem) for problem in found)
        problems = (*manifest.problems, *found)
        base = Workload(
            manifest.object,
            DIALECT,
            request=None,
            problems=problems,
            priority=surroundings.priorities.named(class_of(workflow.priority), "", [], also=CLASSES),
            created=since,
            maker=manifest.key,
        )
        if problems:
            yield base
            continue
        topology = workflow.pool.topology if workflow.pool is not None else None
        for group in workflow.groups:
            if (workflow.namespace, group.pod_group) in running:
                continue
            pods = surroundings.pods.get(workload_name(workflow.namespace, group.pod_group), ())
            of_pods = tuple(
                as_told(f"Pod {pod.name}: {problem.where}", problem.message)
                for pod in pods
                for problem in (*pod.manifest.problems, *pod.problems)
            )
            request = None if of_pods else to_request(group, workflow.namespace, topology, pods)
            yield replace(base, object=_named(workflow, group), request=request, problems=of_pods)
    for broken in manifests.unreadable(Workflow):
        yield Workload(broken.object, DIALECT, request=None, problems=broken.problems, maker=broken.key)


def _names(manifests: View) -> frozenset[str]:
    """The PodGroups that workflows will have, which their pods name already."""
    return frozenset(
        workload_name(workflow.namespace, group.pod_group)
        for workflow in read_workflows(manifests)
        for group in workflow.groups
    )


def _named(workflow: ReadWorkflow, group: TaskGroup) -> ObjectName:
    """The workflow's own name, and behind a dot that of the group if there are several."""
    name = workflow.manifest.object
    return name if len(workflow.groups) == 1 else replace(name, name=f"{name.name}.{group.name}")


def _makes(manifests: View) -> frozenset[Key]:
    return frozenset(
        Key("scheduling.run.ai", "PodGroup", workflow.namespace, group.pod_group)
        for workflow in read_workflows(manifests)
        for group in workflow.groups
    )


def _together(name: str) -> tuple[tuple[str, ...], ...]:
    """Where OSMO keeps several: in answers of its server, in those about quota, in Helm values."""
    return ((name,), ("node_sets", name), ("services", "configs", name))


OSMO = Family(
    name=DIALECT,
    kinds=(
        Kind(
            GROUP,
            "Pool",
            ("v1alpha1",),
            Pool,
            namespaced=False,
            own_file=OwnFile("topology_keys", ("name",), unnamed="default", together=_together("pools")),
        ),
        Kind(
            GROUP,
            "Backend",
            ("v1alpha1",),
            Backend,
            namespaced=False,
            own_file=OwnFile("scheduler_settings", ("name",), together=_together("backends")),
        ),
        Kind(
            GROUP,
            "Workflow",
            ("v1alpha1",),
            Workflow,
            own_file=OwnFile("workflow", ("workflow", "name"), own_names=True),
        ),
    ),
    topologies=lambda view: described(_topologies(view)),
    makes=_makes,
    workloads=_workloads,
    names=_names,
    claimed_by="kai",
    translations={"kai": to_kai, "pods": to_pods_alone},
)

__all__ = ["OSMO", "keys_of"]
