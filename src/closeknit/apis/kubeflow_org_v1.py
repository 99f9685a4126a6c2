"""kubeflow.org/v1: PyTorchJob."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.batch_v1 import JobStatus
from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32, Wire, words


class ReplicaSpec(Wire, frozen=True, kw_only=True):
    """Equal pods of one role."""

    unused: ClassVar = frozenset({"restartPolicy"})

    replicas: Int32 | None = None
    template: PodTemplateSpec


class SchedulingPolicy(Wire, frozen=True, kw_only=True):
    """How many pods must run at once, and where they queue."""

    unused: ClassVar = frozenset({"minResources", "priorityClass", "queue", "scheduleTimeoutSeconds"})

    min_available: Int32 | None = None


class RunPolicy(Wire, frozen=True, kw_only=True):
    """How a job is run."""

    unused: ClassVar = words("""
        activeDeadlineSeconds backoffLimit cleanPodPolicy managedBy suspend ttlSecondsAfterFinished
    """)

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class ElasticPolicy(Wire, frozen=True, kw_only=True):
    """How far a job may shrink and grow."""

    unused: ClassVar = words("""
        maxReplicas maxRestarts metrics nProcPerNode rdzvBackend rdzvConf rdzvHost rdzvId rdzvPort
        standalone
    """)

    min_replicas: Int32 | None = None


class ReplicaSpecs(Wire, frozen=True, kw_only=True, rename="pascal"):
    """The roles of a job."""

    master: ReplicaSpec | None = None
    worker: ReplicaSpec | None = None


class PyTorchJobSpec(Wire, frozen=True, kw_only=True):
    """The roles of a job, and how it is run."""

    unused: ClassVar = frozenset({"nprocPerNode"})

    pytorch_replica_specs: ReplicaSpecs = ReplicaSpecs()
    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy = ElasticPolicy()


class PyTorchJob(KubernetesObject, frozen=True, kw_only=True):
    """A distributed training with a master and workers."""

    spec: PyTorchJobSpec
    status: JobStatus = JobStatus()
