"""policy/v1: PodDisruptionBudget."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import LabelSelector
from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32, OpenWire, Wire


class PodDisruptionBudgetSpec(Wire, frozen=True, kw_only=True):
    """The pods that a budget protects; how many of them are needed is computed by its controller."""

    unused: ClassVar = frozenset({"maxUnavailable", "minAvailable", "unhealthyPodEvictionPolicy"})

    selector: LabelSelector | None = None
    """None selects no pod, an empty selector all pods of the namespace."""


class PodDisruptionBudgetStatus(OpenWire, frozen=True, kw_only=True):
    """What the budget's controller has computed."""

    unused: ClassVar = frozenset(
        {
            "conditions",
            "currentHealthy",
            "desiredHealthy",
            "disruptedPods",
            "expectedPods",
            "observedGeneration",
        }
    )

    disruptions_allowed: Int32 = 0
    """How many of the pods may be evicted now."""


class PodDisruptionBudget(KubernetesObject, frozen=True, kw_only=True):
    """How many pods of a selection may be evicted at a time."""

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
