"""Grove: PodCliqueSet with constraints at three levels, and the topologies that they speak of.

Reads both generations: ``packDomain`` and ClusterTopology beside ``pack`` and
ClusterTopologyBinding, and the configuration file in which levels were listed before.
A PodGang whose set is not there is a workload of its own.
Beyond Grove, the constraint of a set holds across the base gang and the scaled gangs of
one replica, and a preference may stand at any place.
"""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.grove_io_v1alpha1 import ClusterTopology, ClusterTopologyBinding, PodCliqueSet
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.family import Dialect, Surroundings
from closeknit.dialects.grove.bindings import rivals
from closeknit.dialects.grove.express import express
from closeknit.dialects.grove.gang_workloads import read_gangs
from closeknit.dialects.grove.members import pods_by_set, stray_pods
from closeknit.dialects.grove.naming import PART_OF, is_managed, workload_of
from closeknit.dialects.grove.objects import gang_objects, grove_objects, kai_objects, pod_objects
from closeknit.dialects.grove.topologies import known, read_topologies
from closeknit.dialects.grove.workloads import DIALECT, read_pod_clique_set
from closeknit.dialects.store.objects import Kind, Manifests
from closeknit.dialects.wire.sources import Located
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Workload


def _topologies(manifests: Manifests) -> Iterator[Topology | Located]:
    yield from read_topologies(manifests)
    yield from rivals(manifests)


def _workloads(manifests: Manifests, surroundings: Surroundings) -> Iterator[Workload | Located]:
    yield from stray_pods(manifests)
    topologies = known(manifests)
    handed_on = _handed_on(manifests)
    by_set = pods_by_set(surroundings.pods)
    for manifest in manifests.of(PodCliqueSet):
        for found in read_pod_clique_set(manifest, surroundings, topologies, by_set):
            # Its PodGroups are workloads themselves, and ask for the same pods.
            if isinstance(found, Located) or (manifest.namespace, manifest.name) not in handed_on:
                yield found
    for gang in read_gangs(manifests, surroundings):
        yield from gang.problems
        yield gang.workload
    for shape in (PodCliqueSet, PodGang):
        for broken in manifests.broken(shape):
            yield Workload(broken.object, DIALECT, request=None, problems=broken.problems)


def _handed_on(manifests: Manifests) -> set[tuple[str, str]]:
    """Namespace and name of the sets that the operator has made PodGroups of already."""
    labels = ((one.namespace, one.content.metadata.labels) for one in manifests.of(PodGroup))
    return {(namespace, each[PART_OF]) for namespace, each in labels if PART_OF in each and is_managed(each)}


GROVE = Dialect(
    name=DIALECT,
    kinds=(
        Kind("grove.io", "PodCliqueSet", ("v1alpha1",), PodCliqueSet),
        Kind("grove.io", "ClusterTopology", ("v1alpha1",), ClusterTopology, namespaced=False),
        Kind("grove.io", "ClusterTopologyBinding", ("v1alpha1",), ClusterTopologyBinding, namespaced=False),
        Kind("scheduler.grove.io", "PodGang", ("v1alpha1",), PodGang, verbatim=True),
        Kind(
            "operator.config.grove.io",
            "OperatorConfiguration",
            ("v1alpha1",),
            OperatorConfiguration,
            namespaced=False,
            named=False,
        ),
    ),
    topologies=_topologies,
    workload_of=workload_of,
    workloads=_workloads,
    passed_over={
        "grove.io": frozenset({"PodClique", "PodCliqueScalingGroup", "PodGangMap"}),
    },
    translations={
        "grove": grove_objects,
        "podgang": gang_objects,
        "kai": kai_objects,
        "pods": pod_objects,
    },
    express=express,
)
