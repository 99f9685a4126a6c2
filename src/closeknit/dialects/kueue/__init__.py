"""Kueue: Jobs, JobSets and groups of pods that queue for quota, and Topology over a flavor's nodes.

What the annotations of a pod template say becomes a tree: the pod set, its
slices or the replicas of a job, and leader and workers in one group. Each combination of
flavors that the ClusterQueue offers is one way to run, with what it costs of the quota; they are
tried in order. Beyond Kueue's own checks, annotations where they would have no effect, sizes of slices
that leave pods over, and queues and levels that nobody has are reported.

Nothing here knows another family, and no other family knows this one.
"""

from __future__ import annotations

from closeknit.dialects.kueue.family import KUEUE

__all__ = ["KUEUE"]
