"""The family of Kubernetes' own gang API: its kinds, and what is done with each."""

from __future__ import annotations

from closeknit.apis.core_v1 import Pod
from closeknit.apis.scheduling_k8s_io_v1alpha2 import PodGroup, Workload
from closeknit.dialects.family import Family
from closeknit.dialects.kubernetes import render
from closeknit.dialects.kubernetes.compile import FAMILY, check_pod, compile_pod_group, owner_of
from closeknit.dialects.kubernetes.express import express
from closeknit.dialects.kubernetes.rules import (
    GROUP,
    GROUPS_BY_TEMPLATE,
    compile_workload,
    pods_awaited,
    update_problems,
)
from closeknit.dialects.kubernetes.topologies import topologies
from closeknit.dialects.wire.kinds import Kind

KUBERNETES = Family(
    name=FAMILY,
    kinds=(
        Kind(GROUP, "PodGroup", ("v1alpha2",), PodGroup, verbatim=True, optional=True, workload=True),
        Kind(GROUP, "Workload", ("v1alpha2",), Workload, verbatim=True, optional=True),
    ),
    topologies=topologies,
    compile={PodGroup: compile_pod_group, Workload: compile_workload},
    check={Pod: check_pod},
    render={
        FAMILY: {Workload: render.as_written, PodGroup: render.group_with_pods},
        "pods": {PodGroup: render.missing_pods},
    },
    express=express,
    update={PodGroup: update_problems, Workload: update_problems},
    awaits={PodGroup: pods_awaited},
    owner_of=owner_of,
    indexes=(GROUPS_BY_TEMPLATE,),
)
