"""leaderworkerset.x-k8s.io/v1: LeaderWorkerSet."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.core_v1 import PodTemplateSpec
from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Int32, Wire


class SubGroupPolicy(Wire, frozen=True, kw_only=True):
    """How the pods of one group are cut into pieces of equal size."""

    sub_group_policy_type: str = ""
    sub_group_size: Int32 | None = None


class LeaderWorkerTemplate(Wire, frozen=True, kw_only=True):
    """A leader and its workers, as many in all as ``size``."""

    unused: ClassVar = frozenset(
        {"persistentVolumeClaimRetentionPolicy", "restartPolicy", "volumeClaimTemplates"}
    )

    leader_template: PodTemplateSpec | None = None
    """None stands for the template of the workers."""
    worker_template: PodTemplateSpec
    size: Int32 | None = None
    sub_group_policy: SubGroupPolicy = SubGroupPolicy()


class LeaderWorkerSetSpec(Wire, frozen=True, kw_only=True):
    """Equal groups of a leader and its workers."""

    unused: ClassVar = frozenset({"networkConfig", "rolloutStrategy"})

    replicas: Int32 | None = None
    leader_worker_template: LeaderWorkerTemplate
    startup_policy: str = ""


class LeaderWorkerSet(ObjectWithStatus, frozen=True, kw_only=True):
    """Groups of pods that live and die together, each with a leader."""

    spec: LeaderWorkerSetSpec
