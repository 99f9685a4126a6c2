"""scheduling.run.ai/v2alpha2: PodGroup, with the older spelling of its subgroups."""

from __future__ import annotations

from typing import ClassVar

from closeknit.apis.meta_v1 import ObjectWithStatus
from closeknit.apis.wire import Int32, Wire, words


class TopologyConstraint(Wire, frozen=True, kw_only=True):
    """How close together the pods of a group must be, and should be."""

    topology: str = ""
    required_topology_level: str = ""
    preferred_topology_level: str = ""


UNCONSTRAINED = TopologyConstraint()
"""The default; the same value everywhere, because only then is it left out when written."""


class SubGroup(Wire, frozen=True, kw_only=True):
    """Part of a PodGroup: a leaf has pods, any other has subgroups that name it as their parent."""

    name: str
    parent: str = ""
    min_member: Int32 | None = None
    min_sub_group: Int32 | None = None
    topology_constraint: TopologyConstraint = UNCONSTRAINED


class PodGroupSpec(Wire, frozen=True, kw_only=True):
    """What must run together."""

    unused: ClassVar = words("""
        markUnschedulable preemptibility preemptionDelay schedulingBackoff stalenessGracePeriod
    """)

    queue: str = ""
    min_member: Int32 | None = None
    min_sub_group: Int32 | None = None
    priority_class_name: str = ""
    topology_constraint: TopologyConstraint = UNCONSTRAINED
    sub_groups: tuple[SubGroup, ...] | None = None
    subgroups: tuple[SubGroup, ...] | None = None
    """The spelling of earlier documents."""


class PodGroup(ObjectWithStatus, frozen=True, kw_only=True):
    """Pods that are scheduled together or not at all."""

    spec: PodGroupSpec = PodGroupSpec()
