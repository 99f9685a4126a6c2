"""scheduling.k8s.io/v1: PriorityClass."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import Int32


class PriorityClass(KubernetesObject, frozen=True, kw_only=True):
    """A name for a priority."""

    unused: ClassVar = frozenset({"description"})

    value: Int32
    global_default: bool = False
    preemption_policy: str = ""
