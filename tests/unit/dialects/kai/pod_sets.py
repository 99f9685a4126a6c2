"""Short ways to look at the pod sets of a PodGroup."""

from __future__ import annotations

from closeknit.hub.request import PodSet, Request
from closeknit.hub.resources import Resources

GPU = Resources({"nvidia.com/gpu": 1})


def sets(found: Request) -> dict[str, PodSet]:
    return {pod_set.name: pod_set for pod_set in found.root.pod_sets()}


def assumed(name: str, pods: str, count: int, resources: Resources = GPU) -> PodSet:
    return PodSet(name, count, resources, pods=tuple(f"{pods}-{i}" for i in range(count)))
