"""How long pods run at most, as far as Kubernetes itself ends them.

Only this bounds a run time: others pass a unit that waits because they surely end in time, so a tenant with a
bound that nobody enforces would delay it for ever. A declared run time (``closeknit.dev/run-seconds``) is a
hint, and never read here. A kubelet ends a pod at ``activeDeadlineSeconds``, which can be lowered later
but not raised; the controller of Jobs ends the pods of a Job at that of the Job, which its owner can raise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from closeknit.apis.batch_v1 import Job
from closeknit.apis.core_v1 import PodSpec
from closeknit.dialects.core.pods import ReadPod, Stage
from closeknit.dialects.store.objects import Stored

_GRACE = 30
"""The terminationGracePeriodSeconds of pods that do not state it."""
_COUNTS = (Stage.OPEN, Stage.RUNNING, Stage.LEAVING)


def time_limit(owner: Stored[Any], pods: Iterable[ReadPod]) -> float | None:
    """Seconds from their start after which all pods of an owner have ended; None where nothing ends them.

    A pod may take its grace period to end. Pods that come later are counted when they are there.
    """
    of_job = owner.content.spec.active_deadline_seconds if isinstance(owner.content, Job) else None
    of_pods: int | None = 0
    grace = _grace(owner.content.spec.template.spec) if isinstance(owner.content, Job) else 0
    for pod in pods:
        if pod.stage not in _COUNTS:
            continue
        spec = pod.stored.content.spec
        limit = spec.active_deadline_seconds
        if limit is None and of_job is None:
            return None
        of_pods = None if limit is None or of_pods is None else max(of_pods, limit)
        grace = max(grace, _grace(spec))
    limits = [limit for limit in (of_job, of_pods or None) if limit is not None]
    return float(min(limits) + grace) if limits else None


def _grace(spec: PodSpec) -> int:
    return _GRACE if spec.termination_grace_period_seconds is None else spec.termination_grace_period_seconds
