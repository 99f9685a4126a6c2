"""closeknit.dev/v1alpha1: what Closeknit writes about objects of others, in objects of its own."""

from __future__ import annotations

from closeknit.apis.meta_v1 import KubernetesObject
from closeknit.apis.wire import OpenWire

GROUP = "closeknit.dev"
VERSION = "v1alpha1"


class SchedulingOutcomeStatus(OpenWire, frozen=True, kw_only=True):
    """The last decision about a unit."""

    state: str = ""
    """Such as ``placed`` and ``unplaceable``."""
    outcome: str = ""
    """All of it, as JSON."""


class SchedulingOutcome(KubernetesObject, frozen=True, kw_only=True):
    """The last decision of the scheduler about the workload that owns this object."""

    status: SchedulingOutcomeStatus = SchedulingOutcomeStatus()
