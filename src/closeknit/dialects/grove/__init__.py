"""Grove: PodCliqueSet with constraints at three levels, and the topologies that they speak of.

Reads both generations: ``packDomain`` and ClusterTopology beside ``pack`` and
ClusterTopologyBinding, and the configuration file in which levels were listed before.
A PodGang whose set is not there is a workload of its own.
Beyond Grove, the constraint of a set holds across the base gang and the scaled gangs of
one replica, and a preference may stand at any place.
"""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.apis.core_v1 import Pod
from closeknit.apis.grove_io_v1alpha1 import ClusterTopology, ClusterTopologyBinding, PodCliqueSet
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.dialects.family import Family, Surroundings, described
from closeknit.dialects.grove.bindings import rivals
from closeknit.dialects.grove.express import express
from closeknit.dialects.grove.gang_workloads import read_gangs
from closeknit.dialects.grove.members import pods_by_set, stray_pods
from closeknit.dialects.grove.naming import PART_OF, is_managed
from closeknit.dialects.grove.objects import gang_objects, grove_objects, kai_objects, pod_objects
from closeknit.dialects.grove.topologies import known, read_topologies
from closeknit.dialects.grove.workloads import DIALECT, read_pod_clique_set
from closeknit.dialects.store.objects import Reported, Stored
from closeknit.dialects.store.view import View
from closeknit.dialects.wire.kinds import Kind
from closeknit.hub.keys import Key
from closeknit.hub.topology import Topology
from closeknit.hub.workload import Workload


def _topologies(manifests: View) -> Iterator[Topology | Reported]:
    yield from read_topologies(manifests)
    yield from rivals(manifests)


def _workloads(manifests: View, surroundings: Surroundings) -> Iterator[Workload | Reported]:
    yield from stray_pods(manifests)
    topologies = known(manifests)
    handed_on = _handed_on(manifests)
    by_set = pods_by_set(surroundings.pods)
    for manifest in manifests.of(PodCliqueSet):
        for found in read_pod_clique_set(manifest, surroundings, topologies, by_set):
            # Its PodGroups are workloads themselves, and ask for the same pods.
            if isinstance(found, Reported) or (manifest.namespace, manifest.name) not in handed_on:
                yield found
    for gang in read_gangs(manifests, surroundings):
        yield from gang.problems
        yield gang.workload
    for shape in (PodCliqueSet, PodGang):
        for broken in manifests.unreadable(shape):
            yield Workload(broken.object, DIALECT, request=None, problems=broken.problems, maker=broken.key)


def _owner_of(pod: Stored[Pod]) -> Key | None:
    labels = pod.content.metadata.labels
    owner = labels.get(PART_OF)
    return Key("grove.io", "PodCliqueSet", pod.namespace, owner) if owner and is_managed(labels) else None


def _handed_on(manifests: View) -> set[tuple[str, str]]:
    """Namespace and name of the sets that the operator has made PodGroups of already."""
    labels = ((one.namespace, one.content.metadata.labels) for one in manifests.of(PodGroup))
    return {(namespace, each[PART_OF]) for namespace, each in labels if PART_OF in each and is_managed(each)}


GROVE = Family(
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
    topologies=lambda view: described(_topologies(view)),
    owner_of=_owner_of,
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
