"""All controllers of Kueue."""

from __future__ import annotations

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import Pod
from closeknit.apis.jobset_x_k8s_io_v1alpha2 import JobSet
from closeknit.controllers.kueue import daemons, jobs, pod_groups, reservations, ungating
from closeknit.controllers.kueue import queue_status as queues
from closeknit.controllers.kueue.planner import AdmissionPlanner
from closeknit.controllers.runtime.controller import Controller, Operator
from closeknit.dialects.kueue.topologies import FAMILY

KUEUE = Operator(
    FAMILY,
    (
        Controller("kueue-job", Job, jobs.observe, jobs.decide),
        Controller("kueue-jobset", JobSet, jobs.observe, jobs.decide),
        Controller("kueue-pod", Pod, pod_groups.observe, pod_groups.decide, looks_after=pod_groups.is_queued),
        Controller("kueue-clusterqueue", wire.ClusterQueue, queues.observe_cluster_queue, queues.decide),
        Controller("kueue-localqueue", wire.LocalQueue, queues.observe_local_queue, queues.decide),
        Controller("kueue-ungater", wire.Workload, ungating.observe, ungating.decide),
    ),
    kinds=daemons.KINDS,
    indexes=(*reservations.INDEXES, *daemons.INDEXES, *queues.INDEXES),
    planner=AdmissionPlanner,
)
