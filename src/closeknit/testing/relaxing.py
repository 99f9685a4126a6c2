"""Carries out the relaxations that an explanation proposes, the way a person would who believed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from closeknit.hub.cluster import Cluster
from closeknit.hub.outcome import Change, CountChange, Departure, LevelChange, Relaxation
from closeknit.hub.request import Group, Member, PodSet, Request


def relaxed(cluster: Cluster, request: Request, relaxation: Relaxation) -> tuple[Cluster, Request]:
    """The cluster and the request after all changes of a relaxation.

    Raises ``ValueError`` where a change names what is not there, or changes nothing.
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
            return cluster, _replaced(request, name, lambda member: _at_level(member, level))
        case CountChange(pod_set=name, to=count):
            return cluster, _replaced(request, name, lambda member: _reduced(member, count))
        case Departure(workloads=gone):
            holdings = tuple(holding for holding in cluster.holdings if holding.workload not in gone)
            if missing := {*gone} - {holding.workload for holding in cluster.holdings}:
                raise ValueError(f"{sorted(missing)} hold nothing, so they cannot leave.")
            return replace(cluster, holdings=holdings), request


def _replaced(request: Request, name: str, change: Callable[[Member], Member]) -> Request:
    if name not in {member.name for member, _ in request.root.walk()}:
        raise ValueError(f"There is no member {name}.")

    def visit(member: Member) -> Member:
        if member.name == name:
            return change(member)
        if isinstance(member, PodSet):
            return member
        return replace(member, members=tuple(visit(inner) for inner in member.members))

    root = visit(request.root)
    assert isinstance(root, Group)
    return replace(request, root=root)


def _at_level(member: Member, level: str | None) -> Member:
    if isinstance(member, PodSet):
        raise ValueError(f"{member.name} is a pod set; only groups require levels.")
    return replace(member, required=level)


def _reduced(member: Member, count: int) -> Member:
    if isinstance(member, Group):
        raise ValueError(f"{member.name} is a group; only pod sets have a count.")
    if count > member.count:
        raise ValueError(f"{member.name} asks for {member.count}; {count} is not fewer.")
    names = member.pods[: count - len(member.bound)]
    return replace(member, count=count, minimum=min(member.least, count), pods=names)
