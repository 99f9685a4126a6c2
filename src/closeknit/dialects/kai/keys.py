"""The labels and annotations by which KAI is spoken to, and those that other controllers put on pods."""

from __future__ import annotations

SCHEDULER = "kai-scheduler"
PREFIX = "kai.scheduler/"

GROUP_ANNOTATION = "pod-group-name"
SUBGROUP_LABEL = f"{PREFIX}subgroup-name"
QUEUE = f"{PREFIX}queue"
NODE_POOL = f"{PREFIX}node-pool"
SKIP = f"{PREFIX}skip-podgrouper"

TOPOLOGY = f"{PREFIX}topology"
REQUIRED = f"{PREFIX}topology-required-placement"
PREFERRED = f"{PREFIX}topology-preferred-placement"
SEGMENT_SIZE = f"{PREFIX}segment-size"
SEGMENT_REQUIRED = f"{PREFIX}segment-topology-required-placement"
SEGMENT_PREFERRED = f"{PREFIX}segment-topology-preferred-placement"
MIN_MEMBER = f"{PREFIX}batch-min-member"

PREEMPTIBILITY = f"{PREFIX}preemptibility"
PREEMPTION_DELAY = f"{PREFIX}preemption-delay"
GRACE_PERIOD = f"{PREFIX}staleness-grace-period"
PRIORITY_CLASS = "priorityClassName"
PROJECT = "project"

JOB_NAME = "batch.kubernetes.io/job-name"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_SET = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
LEADER_WORKER_SET = "leaderworkerset.sigs.k8s.io/name"
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
EXCLUSIVE = (
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
)
TRAINING_JOB = "training.kubeflow.org/job-name"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
