"""The labels, annotations and gates by which Kueue is spoken to."""

from __future__ import annotations

_PREFIX = "kueue.x-k8s.io/"

QUEUE = f"{_PREFIX}queue-name"
PRIORITY_CLASS = f"{_PREFIX}priority-class"
MIN_PARALLELISM = f"{_PREFIX}job-min-parallelism"

REQUIRE = f"{_PREFIX}require-topology"
PREFER = f"{_PREFIX}prefer-topology"
AUTO = "auto"
"""The lowest level, in the early design's ``prefer-topology``."""

REQUIRED = f"{_PREFIX}podset-required-topology"
PREFERRED = f"{_PREFIX}podset-preferred-topology"
UNCONSTRAINED = f"{_PREFIX}podset-unconstrained-topology"
SLICE_LEVEL = f"{_PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{_PREFIX}podset-slice-size"
SLICE_LAYERS = f"{_PREFIX}podset-slice-required-topology-constraints"
GROUP = f"{_PREFIX}podset-group-name"

SPREADING = f"{_PREFIX}podset-topology-spreading"
"""Of later versions, and known only so that nobody believes that it is heeded."""

EARLY = (REQUIRE, PREFER)
TODAYS = (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_LEVEL, SLICE_SIZE, SLICE_LAYERS, GROUP)

POD_GROUP = f"{_PREFIX}pod-group-name"
POD_GROUP_COUNT = f"{_PREFIX}pod-group-total-count"
POD_GROUP_FAST = f"{_PREFIX}pod-group-fast-admission"
POD_GROUP_RETRIABLE = f"{_PREFIX}retriable-in-group"
POD_GROUP_INDEX_LABEL = f"{_PREFIX}pod-group-pod-index-label"

GATE = f"{_PREFIX}topology"
ADMISSION_GATE = f"{_PREFIX}admission"
WORKLOAD = f"{_PREFIX}workload"
PREBUILT = f"{_PREFIX}prebuilt-workload-name"
"""On a Job or JobSet: the Workload that was made for it before."""
OWNER_KIND = f"{_PREFIX}job-owner-gvk"
OWNER_NAME = f"{_PREFIX}job-owner-name"
JOB_UID = f"{_PREFIX}job-uid"
POD_SET = f"{_PREFIX}podset"
TAS = f"{_PREFIX}tas"
MANAGED = f"{_PREFIX}managed"

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAME = "batch.kubernetes.io/job-name"
OLD_JOB_NAME = "job-name"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
