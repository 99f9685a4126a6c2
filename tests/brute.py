"""Exact answers by trying every spread; for instances of about 4 nodes and 5 pods.

It exists to check the oracle, which is faster and therefore less plain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Wishes
from closeknit.hub.request import PodSet, Request
from closeknit.testing.meaning import broken, order, wishes_of
from closeknit.testing.scene import Scene, Spread


def best(cluster: Cluster, request: Request) -> Wishes | None:
    """The wishes of the best placement, or None where there is no placement."""
    scene = Scene.of(cluster, request)
    found = (wishes_of(scene, spread) for spread in spreads(cluster, request) if _allowed(scene, spread))
    return min(found, key=order, default=None)


def feasible(cluster: Cluster, request: Request) -> bool:
    """Whether there is a placement."""
    scene = Scene.of(cluster, request)
    return any(_allowed(scene, spread) for spread in spreads(cluster, request))


def spreads(cluster: Cluster, request: Request) -> Iterator[Spread]:
    """Every way to put any number of the open pods on any nodes, allowed or not."""
    nodes = [node.name for node in cluster.nodes]
    return _spreads(list(request.root.pod_sets()), nodes)


def _spreads(pod_sets: Sequence[PodSet], nodes: Sequence[str]) -> Iterator[dict[str, dict[str, int]]]:
    if not pod_sets:
        yield {}
        return
    for rest in _spreads(pod_sets[1:], nodes):
        for counts in _counts(nodes, pod_sets[0].open):
            yield {**rest, pod_sets[0].name: counts}


def _counts(nodes: Sequence[str], most: int) -> Iterator[dict[str, int]]:
    if not nodes:
        yield {}
        return
    for here in range(most + 1):
        for rest in _counts(nodes[1:], most - here):
            yield {nodes[0]: here, **rest}


def _allowed(scene: Scene, spread: Spread) -> bool:
    return next(broken(scene, spread), None) is None
