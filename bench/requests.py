"""What is asked of the clusters, from a gang of four pods to ten thousand."""

from __future__ import annotations

from collections.abc import Sequence

from bench.clusters import BLOCK, RACK, TOPOLOGY, ZONE, pod
from closeknit.hub.neighbours import Apart, Neighbour, PodSelector
from closeknit.hub.nodes import NodeFilter, Operator, Requirement
from closeknit.hub.request import Group, PodSet, Request
from closeknit.hub.resources import Resources


def gang(
    name: str,
    pods: int,
    resources: Resources,
    *,
    required: str | None = None,
    preferred: str | None = None,
    selector: tuple[tuple[str, str], ...] = (),
) -> Request:
    """One group of equal pods."""
    members = PodSet("workers", pods, resources, filter=NodeFilter(selector))
    return Request(name, Group("gang", (members,), required, preferred), TOPOLOGY.name)


def apart_by(name: str, pods: int, keys: Sequence[str]) -> Request:
    """Pods of one GPU of which no two share a domain of any of these labels."""
    selector = PodSelector(frozenset(["bench"]), (Requirement("app", Operator.IN, ("apart",)),))
    seen = Neighbour("bench", (("app", "apart"),), tuple(Apart(key, selector) for key in keys))
    members = PodSet("workers", pods, pod(1), neighbour=seen)
    return Request(name, Group("gang", (members,)), TOPOLOGY.name)


def mixed(name: str, *parts: tuple[int, Resources]) -> Request:
    """One group that prefers a rack, of pods of several shapes: of each so many."""
    members = tuple(PodSet(f"part-{i}", pods, resources) for i, (pods, resources) in enumerate(parts))
    return Request(name, Group("gang", members, preferred=RACK), TOPOLOGY.name)


def led(name: str) -> Request:
    """A leader of 1 GPU and 8 workers of 2, which prefer a rack."""
    return mixed(name, (1, pod(1)), (8, pod(2)))


def hard_to_pack(name: str) -> Request:
    """Two pods that fill a node each and 16 of 3 GPUs, which prefer a rack: the best is searched for."""
    return mixed(name, (2, pod(8)), (16, pod(3)))


def rack_gang(name: str, gpus: int = 1, cpu: str | None = None) -> Request:
    """Four pods in one rack."""
    return gang(name, 4, pod(gpus, cpu), required=RACK)


def nested(name: str, groups: int, pods: int, *, around: str = ZONE) -> Request:
    """Groups of equal pods, each in a rack, all in one domain of a coarser level."""
    inner = tuple(
        Group(f"group-{i}", (PodSet(f"workers-{i}", pods, pod(1)),), required=RACK) for i in range(groups)
    )
    return Request(name, Group("all", inner, required=around), TOPOLOGY.name)


def too_large_for_a_rack(name: str) -> Request:
    """All 128 GPUs of one rack, where no rack is empty: somebody would have to leave."""
    return gang(name, 128, pod(1), required=RACK)


def too_many_large_groups(name: str) -> Request:
    """Twelve groups of 100 pods, each in a rack, in one block: each fits alone, together they do not."""
    return nested(name, 12, 100, around=BLOCK)
