"""The family of KAI Scheduler: its kinds, and what is done with each."""

from __future__ import annotations

from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.apis.kai_scheduler_v1alpha1 import Topology
from closeknit.apis.kubeflow_org_v1 import PyTorchJob
from closeknit.apis.leaderworkerset_x_k8s_io_v1 import LeaderWorkerSet
from closeknit.apis.scheduling_run_ai_v2 import Queue
from closeknit.apis.scheduling_run_ai_v2alpha2 import PodGroup
from closeknit.apis.wire import words
from closeknit.dialects.core import pod_makers
from closeknit.dialects.family import Family
from closeknit.dialects.kai import render
from closeknit.dialects.kai.compile import compile_owner, compile_pod_group
from closeknit.dialects.kai.express import express
from closeknit.dialects.kai.joining import joining_indexes
from closeknit.dialects.kai.owners import GROUPS_BY_OWNER, OWNERS, check_pod, makes, owner_of
from closeknit.dialects.kai.queues import check_queue
from closeknit.dialects.kai.shared_domains import SHARING
from closeknit.dialects.kai.status import pod_group_status, pod_status
from closeknit.dialects.kai.terms import pods_awaited
from closeknit.dialects.kai.topologies import FAMILY
from closeknit.dialects.kai.topologies_in_sight import topologies
from closeknit.dialects.kai.updates import update_problems
from closeknit.dialects.wire.kinds import Kind

KAI = Family(
    name=FAMILY,
    kinds=(
        Kind("scheduling.run.ai", "PodGroup", ("v2alpha2",), PodGroup, verbatim=True, workload=True),
        Kind("scheduling.run.ai", "Queue", ("v2",), Queue, namespaced=False),
        Kind("kai.scheduler", "Topology", ("v1alpha1", "v1"), Topology, namespaced=False),
        # What two families read, both declare in the same way.
        Kind("batch", "Job", ("v1",), Job, verbatim=True),
        Kind("jobset.x-k8s.io", "JobSet", ("v1alpha2",), JobSet, verbatim=True),
        Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), LeaderWorkerSet, verbatim=True),
        Kind("kubeflow.org", "PyTorchJob", ("v1",), PyTorchJob, verbatim=True),
        *pod_makers.KINDS,
    ),
    topologies=topologies,
    compile={PodGroup: compile_pod_group, **dict.fromkeys(OWNERS, compile_owner)},
    check={Pod: check_pod, Queue: check_queue},
    render={
        "kai": {
            Topology: render.render_topology,
            PodGroup: render.render_pod_group,
            **dict.fromkeys(OWNERS, render.render_owner),
        },
        "pods": {PodGroup: render.render_pods_of_group, **dict.fromkeys(OWNERS, render.render_pods_of_owner)},
    },
    express=express,
    update={Topology: update_problems},
    status={PodGroup: pod_group_status, Pod: pod_status},
    awaits={PodGroup: pods_awaited},
    owner_of=owner_of,
    makes=makes,
    indexes=(GROUPS_BY_OWNER, SHARING, *joining_indexes(tuple(OWNERS))),
    borrows=("grove",),
    passed_over={
        "scheduling.run.ai": words("BindRequest"),
        "kai.scheduler": words("Config SchedulingShard"),
        "kubeflow.org": words("Notebook ScheduledWorkflow Viewer"),
    },
)
