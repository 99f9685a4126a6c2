"""Carries out the relaxations that an explanation proposes, the way a person would who believed it."""

from __future__ import annotations

from closeknit.hub.cluster import Cluster
from closeknit.hub.copying import replace
from closeknit.hub.outcome import Change, CountChange, Departure, LevelChange, Relaxation
from closeknit.hub.request import PodSet, Request


def relaxed(cluster: Cluster, request: Request, relaxation: Relaxation) -> tuple[Cluster, Request]:
    """The cluster and the request after all changes of a relaxation.

    Raises ``ValueError`` where a change changes nothing, as one does that names what is not there.
    """
    for change in relaxation.changes:
        before = (cluster, request)
        cluster, request = _changed(cluster, request, change)
        if (cluster, request) == before:
            raise ValueError(f"{change} changes nothing.")
    return cluster, request


def _changed(cluster: Cluster, request: Request, change: Change) -> tuple[Cluster, Request]:
    match change:
        case LevelChange(group=name, to=level):
            root = request.root.mapped(
                groups=lambda group: replace(group, required=level) if group.name == name else group
            )
            return cluster, replace(request, root=root)
        case CountChange(pod_set=name, to=count):
            root = request.root.mapped(lambda pods: _reduced(pods, count) if pods.name == name else pods)
            return cluster, replace(request, root=root)
        case Departure(workloads=gone):
            holdings = tuple(holding for holding in cluster.holdings if holding.workload not in gone)
            if missing := {*gone} - {holding.workload for holding in cluster.holdings}:
                raise ValueError(f"{sorted(missing)} hold nothing, so they cannot leave.")
            return replace(cluster, holdings=holdings), request


def _reduced(pods: PodSet, count: int) -> PodSet:
    if count > pods.count:
        raise ValueError(f"{pods.name} asks for {pods.count}; {count} is not fewer.")
    names = pods.pods[: count - len(pods.bound)]
    return replace(pods, count=count, minimum=min(pods.least, count), pods=names)
