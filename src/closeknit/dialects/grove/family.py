"""Grove as a family: its kinds, and the functions for each."""

from __future__ import annotations

from closeknit.apis.core_v1 import Pod
from closeknit.apis.grove_io_v1alpha1 import ClusterTopology, ClusterTopologyBinding, PodCliqueSet
from closeknit.apis.operator_config_grove_io_v1alpha1 import OperatorConfiguration
from closeknit.apis.scheduler_grove_io_v1alpha1 import PodGang
from closeknit.dialects.family import Family
from closeknit.dialects.grove import owners, render, status
from closeknit.dialects.grove.compile import DIALECT, compile_pod_clique_set, compile_pod_gang
from closeknit.dialects.grove.express import express
from closeknit.dialects.grove.topologies import topologies
from closeknit.dialects.grove.updates import topology_problems, update_problems
from closeknit.dialects.wire.kinds import Kind

GROVE = Family(
    name=DIALECT,
    kinds=(
        Kind("grove.io", "PodCliqueSet", ("v1alpha1",), PodCliqueSet, workload=True),
        Kind("grove.io", "ClusterTopology", ("v1alpha1",), ClusterTopology, namespaced=False),
        Kind("grove.io", "ClusterTopologyBinding", ("v1alpha1",), ClusterTopologyBinding, namespaced=False),
        Kind("scheduler.grove.io", "PodGang", ("v1alpha1",), PodGang, verbatim=True, workload=True),
        Kind(
            "operator.config.grove.io",
            "OperatorConfiguration",
            ("v1alpha1",),
            OperatorConfiguration,
            namespaced=False,
            named=False,
        ),
    ),
    topologies=topologies,
    compile={PodCliqueSet: compile_pod_clique_set, PodGang: compile_pod_gang},
    check={Pod: owners.stray_pod_problems},
    render={
        "grove": {
            OperatorConfiguration: render.configured_binding,
            PodCliqueSet: render.cliques_of_set,
            PodGang: render.set_of_gang,
        },
        "podgang": {
            OperatorConfiguration: render.missing_binding,
            PodCliqueSet: render.gangs_of_set,
            PodGang: render.gang_as_written,
        },
        "kai": {
            OperatorConfiguration: render.configured_kai_topology,
            ClusterTopology: render.kai_topology,
            ClusterTopologyBinding: render.kai_topology,
            PodCliqueSet: render.pod_groups_of_set,
            PodGang: render.pod_group_of_gang,
        },
        "pods": {PodCliqueSet: render.pods_of_set, PodGang: render.missing_pods_of_gang},
    },
    express=express,
    update={PodCliqueSet: update_problems, ClusterTopology: topology_problems},
    status={PodCliqueSet: status.set_status, ClusterTopologyBinding: status.binding_status},
    owner_of=owners.owner_of,
    indexes=owners.INDEXES,
    passed_over={
        "grove.io": frozenset({"PodClique", "PodCliqueScalingGroup", "PodGangMap"}),
    },
)
