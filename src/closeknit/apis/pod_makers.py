"""Objects whose controllers make pods, and of which only the pod templates and the numbers of pods are read.

What else their specs say is passed on as it was written; ``dialects/core/pod_makers`` knows where
templates stand.
"""

from __future__ import annotations

from closeknit.apis.batch_v1 import JobStatus
from closeknit.apis.meta_v1 import KubernetesObject


class PodMaker(KubernetesObject, frozen=True, kw_only=True):
    """An object of any of these kinds."""

    spec: dict[str, object] = {}
    status: JobStatus = JobStatus()
