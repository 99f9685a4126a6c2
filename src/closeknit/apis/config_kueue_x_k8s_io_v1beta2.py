"""config.kueue.x-k8s.io: the configuration file of Kueue, as far as it is heeded here."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import KubernetesObject, ObjectMeta
from closeknit.apis.wire import Int32, Wire


class RequeuingStrategy(Wire, frozen=True, kw_only=True):
    """When a Workload queues again whose pods were not ready in time."""

    timestamp: str = "Eviction"
    backoff_limit_count: Int32 | None = None
    backoff_base_seconds: Int32 = 60
    backoff_max_seconds: Int32 = 3600


class WaitForPodsReady(Wire, frozen=True, kw_only=True):
    """How long the pods of an admitted Workload may take to be ready."""

    enable: bool = True
    """Of v1beta1 alone."""
    timeout: str = ""
    recovery_timeout: str | None = None
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()


class Configuration(KubernetesObject, frozen=True, kw_only=True):
    """A file with a kind. It has no name, and ``metadata`` is there for those who write it all the same."""

    open_ended: ClassVar = True

    metadata: ObjectMeta = ObjectMeta()
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    feature_gates: dict[str, bool] = {}
