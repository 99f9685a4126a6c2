"""apps/v1: DaemonSet."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Wire, words


class DaemonSetSpec(Wire, frozen=True, kw_only=True):
    """A pod for each node that it may run on."""

    unused: ClassVar = words("minReadySeconds revisionHistoryLimit selector updateStrategy")

    template: PodTemplateSpec


class DaemonSet(ObjectWithStatus, frozen=True, kw_only=True):
    """Pods that run once on every node."""

    spec: DaemonSetSpec
