"""The labels and annotations that the controllers of Jobs, JobSets and the like put on their pods."""

from __future__ import annotations

JOB_NAME = "batch.kubernetes.io/job-name"
"""The Job."""
OLD_JOB_NAME = "job-name"
"""The Job, as older versions of Kubernetes say it."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""The number of a pod of an indexed Job, as label and annotation."""
JOB_SET = "jobset.sigs.k8s.io/jobset-name"
"""The JobSet."""
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
"""The replicated job of a JobSet."""
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
"""The number of the Job within its replicated job."""
LEADER_WORKER_SET = "leaderworkerset.sigs.k8s.io/name"
"""The LeaderWorkerSet."""
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
"""The number of the group within its LeaderWorkerSet."""
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""The number of the pod within its group; 0 is the leader."""
EXCLUSIVE = (
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
)
"""Annotations of a LeaderWorkerSet that ask for domains of their own."""
TRAINING_JOB = "training.kubeflow.org/job-name"
"""The PyTorchJob."""
REPLICA_TYPE = "training.kubeflow.org/replica-type"
"""``master`` or ``worker``."""
REPLICA_INDEX = "training.kubeflow.org/replica-index"
"""The number of the pod among those of its type."""
