"""``waitForPodsReady``: whether the pods of a Workload are ready, and for how long that is waited for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from closeknit.apis import kueue_x_k8s_io_v1beta2 as wire
from closeknit.apis.config_kueue_x_k8s_io_v1beta2 import Configuration
from closeknit.controllers.kueue.conditions import ADMITTED, PODS_READY, condition, runs
from closeknit.controllers.kueue.owners import Owner
from closeknit.dialects.core.durations import seconds
from closeknit.dialects.family import Condition
from closeknit.dialects.store.objects import Stored
from closeknit.dialects.store.view import View

_OFF = "DisableWaitForPodsReady"


@dataclass(frozen=True, slots=True)
class ReadyWithin:
    """How long the pods of an admitted Workload may take to be ready; as Kueue does where nothing is said."""

    start: timedelta = timedelta(minutes=30)
    """For the first time."""
    recovery: timedelta | None = timedelta(minutes=30)
    """Again, after a pod was lost; counted from the moment when not all were ready. None for no limit."""
    pause: timedelta = timedelta(seconds=60)
    """Before it queues again; twice as long each time."""
    longest_pause: timedelta = timedelta(hours=1)
    attempts: int | None = None
    """After so many it is set not to run; None for no limit."""


def ready_within(view: View) -> ReadyWithin | None:
    """What Kueue's configuration says, else its defaults; None where nobody waits."""
    for stored in view.of(Configuration):
        asked = stored.content.wait_for_pods_ready
        if not asked.enable or stored.content.feature_gates.get(_OFF):
            return None
        again = asked.requeuing_strategy
        # A time of zero is the default, as everything is that nobody wrote.
        start = timedelta(seconds=seconds(asked.timeout) or ReadyWithin().start.total_seconds())
        recovery = timedelta(seconds=seconds(asked.recovery_timeout or "") or 0.0)
        return ReadyWithin(
            start,
            start if asked.recovery_timeout is None else recovery or None,
            timedelta(seconds=again.backoff_base_seconds),
            timedelta(seconds=again.backoff_max_seconds),
            again.backoff_limit_count,
        )
    return ReadyWithin()


def readiness(workload: Stored[wire.Workload], owner: Owner) -> Condition:
    """Whether all pods of a Workload are ready, and why not."""
    before = condition(workload, PODS_READY)
    if runs(workload):
        again = before is not None and before.reason in ("WaitForRecovery", "Recovered")
        if owner.ready >= owner.pods:
            reason = "Recovered" if again else "Started"
            message = "All pods reached readiness and the workload is running"
            return Condition(PODS_READY, "True", reason, message)
        if before is not None and (before.status == "True" or before.reason == "WaitForRecovery"):
            message = "At least one pod has failed, waiting for recovery"
            return Condition(PODS_READY, "False", "WaitForRecovery", message)
    return Condition(PODS_READY, "False", "WaitForStart", "Not all pods are ready or succeeded")


def late(
    workload: Stored[wire.Workload], ready: Condition, within: ReadyWithin, now: datetime
) -> tuple[bool, datetime | None]:
    """Whether pods have not become ready in time, or when that will be."""
    if ready.status == "True":
        return False, None
    limit, since = within.start, condition(workload, ADMITTED)
    if ready.reason == "WaitForRecovery":
        before = condition(workload, PODS_READY)
        if within.recovery is None:
            return False, None
        # The time runs from the last moment when all were ready.
        limit, since = within.recovery, before if before and before.status == "False" else None
    until = (since.since if since is not None and since.since is not None else now) + limit
    return now >= until, until
