"""scheduling.run.ai/v2: Queue."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Int32, Number, Wire


class QueueResource(Wire, frozen=True, kw_only=True):
    """How much of one resource a queue deserves, may use at most, and gets of what is left over."""

    quota: Number = 0
    limit: Number = 0
    over_quota_weight: Number = 0


class QueueResources(Wire, frozen=True, kw_only=True):
    """GPUs in ones, CPU in thousandths of a core, memory in millions of bytes; -1 means no limit."""

    gpu: QueueResource = QueueResource()
    cpu: QueueResource = QueueResource()
    memory: QueueResource = QueueResource()


class QueueSpec(Wire, frozen=True, kw_only=True):
    """Where a queue hangs, and what it deserves."""

    unused: ClassVar = frozenset({"displayName"})

    parent_queue: str = ""
    resources: QueueResources = QueueResources()
    priority: Int32 | None = None
    preempt_min_runtime: str = ""
    """How long a workload runs before one of higher priority in the same queue may displace it."""
    reclaim_min_runtime: str = ""
    """How long a workload runs before another queue may take back what this one uses beyond its quota."""


class Queue(ObjectWithStatus, frozen=True, kw_only=True):
    """A share of the cluster. Only queues without children take workloads."""

    spec: QueueSpec = QueueSpec()
