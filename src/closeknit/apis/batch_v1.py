"""batch/v1: Job."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.meta_v1 import Condition, KubernetesObject, ObjectMeta
from closeknit.apis.wire import Int32, Int64, OpenWire, Wire, words


class JobStatus(OpenWire, frozen=True, kw_only=True):
    """What a Job's controller says of it."""

    conditions: tuple[Condition, ...] = ()


class JobSpec(Wire, frozen=True, kw_only=True):
    """How many pods of one template run side by side."""

    unused: ClassVar = words("""
        backoffLimit backoffLimitPerIndex managedBy manualSelector maxFailedIndexes podFailurePolicy
        podReplacementPolicy scheduling selector successPolicy ttlSecondsAfterFinished
    """)

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    completion_mode: str = ""
    suspend: bool = False
    template: PodTemplateSpec


class Job(KubernetesObject, frozen=True, kw_only=True):
    """Pods that run until they have done their work."""

    spec: JobSpec
    status: JobStatus = JobStatus()


class JobTemplateSpec(Wire, frozen=True, kw_only=True):
    """What the Jobs that somebody makes have in common."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec
