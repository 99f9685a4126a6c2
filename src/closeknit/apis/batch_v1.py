"""batch/v1: Job."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.meta_v1 import ObjectMeta
from closeknit.apis.wire import Int32, Wire


class JobCondition(Wire, frozen=True, kw_only=True):
    """How far a Job has come."""

    open_ended: ClassVar = True

    type: str = ""
    status: str = ""


class JobStatus(Wire, frozen=True, kw_only=True):
    """What a Job's controller says of it."""

    open_ended: ClassVar = True

    conditions: list[JobCondition] = []


class JobSpec(Wire, frozen=True, kw_only=True):
    """How many pods of one template run side by side."""

    unused: ClassVar = frozenset(
        {
            "backoffLimit",
            "backoffLimitPerIndex",
            "managedBy",
            "manualSelector",
            "maxFailedIndexes",
            "podFailurePolicy",
            "podReplacementPolicy",
            "scheduling",
            "selector",
            "successPolicy",
            "ttlSecondsAfterFinished",
        }
    )

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: int | None = None
    completion_mode: str = ""
    suspend: bool = False
    template: PodTemplateSpec


class Job(Wire, frozen=True, kw_only=True):
    """Pods that run until they have done their work."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: JobSpec
    status: JobStatus = JobStatus()


class JobTemplateSpec(Wire, frozen=True, kw_only=True):
    """What the Jobs that somebody makes have in common."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec
