"""jobset.x-k8s.io/v1alpha2: JobSet."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.batch_v1 import JobStatus, JobTemplateSpec
from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32, Wire, words


class ReplicatedJob(Wire, frozen=True, kw_only=True):
    """Equal Jobs."""

    unused: ClassVar = frozenset({"dependsOn", "groupName"})

    name: str
    replicas: Int32 | None = None
    template: JobTemplateSpec


class StartupPolicy(Wire, frozen=True, kw_only=True):
    """Whether the Jobs start together or one kind after the other."""

    startup_policy_order: str = ""


class JobSetSpec(Wire, frozen=True, kw_only=True):
    """The Jobs of a set."""

    unused: ClassVar = words("""
        coordinator failurePolicy managedBy network successPolicy ttlSecondsAfterFinished
        volumeClaimPolicies
    """)

    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    suspend: bool = False
    startup_policy: StartupPolicy = StartupPolicy()


class JobSet(KubernetesObject, frozen=True, kw_only=True):
    """Jobs that belong together."""

    spec: JobSetSpec = JobSetSpec()
    status: JobStatus = JobStatus()
