"""KAI Scheduler: PodGroup with nested subgroups, Topology and Queue, and all that KAI groups by itself.

A PodGroup says directly what the hub says: a tree of groups, each with
required and preferred levels. Pods join it by an annotation and name their subgroup by a label.
For Jobs, JobSets, LeaderWorkerSets and PyTorchJobs that speak to KAI, the PodGroup is made as KAI makes it.
Beyond KAI's own checks, unknown topologies, unknown levels and a child that requires a coarser level
than its parent are refused, and pods that name no subgroup are reported instead of forgotten.

Nothing here knows another family: Grove, Dynamo and OSMO stand on this package, and Kueue beside it.
"""

from __future__ import annotations

from closeknit.dialects.kai.family import KAI

__all__ = ["KAI"]
