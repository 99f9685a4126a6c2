"""Parts of a placement: what must run at once, and what may be added to it step by step.

A placement is decided for all pods of a unit, so that its domains suit the whole. Less of it may be taken:
every part that is made here obeys all constraints that the whole obeys, and is formed. Where pods must be
near others or spread, they may count on others of the placement, so nothing less than the whole is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from closeknit.hub.copying import replace
from closeknit.hub.outcome import Assignment, Placed
from closeknit.hub.request import Group, Member, PodSet, Request
from closeknit.scheduler.needs import needs_others, satisfied, share

if TYPE_CHECKING:
    from closeknit.engine import Engine

_Given: TypeAlias = Mapping[str, Sequence[Assignment]]
"""By pod set, where a placement puts new pods, in rank order."""


def minimum(request: Request, placed: Placed) -> tuple[Assignment, ...]:
    """The pods without which the request is not formed: the first of each set, of the first members."""
    if needs_others(request):
        return placed.assignments
    return tuple(_minimum(request.root, _by_set(placed.assignments)))


def step(request: Request, placed: Placed) -> tuple[Assignment, ...]:
    """The fewest pods of a placement that can be added to what runs; empty where it adds none.

    Where the minimum runs that is one pod, or what must run at once of a member that was left out. Members
    that are groups are served in turn, the least satisfied first; pod sets in their order.
    """
    if needs_others(request):
        return placed.assignments
    given = _by_set(placed.assignments)
    return tuple(_step(request.root, given) if satisfied(request.root) else _minimum(request.root, given))


def within(
    request: Request, placed: Placed, allowed: Callable[[Sequence[Assignment]], bool]
) -> tuple[Assignment, ...] | None:
    """As much of a placement as is allowed, taken step by step; None where not even the minimum is."""
    if allowed(placed.assignments):
        return placed.assignments
    taken: tuple[Assignment, ...] = ()
    while added := step(request, placed):
        if not allowed((*taken, *added)):
            break
        taken += added
        request = granted(request, added)
        gone = set(added)
        placed = replace(placed, assignments=tuple(a for a in placed.assignments if a not in gone))
    return taken if satisfied(request.root) else None


def part_of(engine: Engine, request: Request, placed: Placed, taken: Sequence[Assignment]) -> Placed:
    """The placement of which only these pods are taken; the engine is as it was decided on."""
    if len(taken) == len(placed.assignments):
        return placed
    return replace(engine.describe(request, taken), statistics=placed.statistics)


def limited(request: Request, assignments: Iterable[Assignment]) -> Request:
    """The same request for no other pods than these and those that run.

    The members of a group that get no pod are left out of it, unless all of their pods run.
    """
    given = _by_set(assignments)

    def fewer(pods: PodSet) -> PodSet:
        names = {assignment.pod for assignment in given.get(pods.name, ())}
        return replace(
            pods,
            count=len(pods.bound) + len(names),
            minimum=min(pods.least, len(pods.bound) + len(names)),
            pods=tuple(name for name in pods.pod_names() if name in names),
        )

    def without_empty(group: Group) -> Group:
        members = tuple(member for member in group.members if _has_pods(member))
        return replace(group, members=members, minimum=min(group.least, len(members)))

    return replace(request, root=request.root.mapped(fewer, without_empty))


def granted(request: Request, assignments: Iterable[Assignment]) -> Request:
    """The same request once these pods run."""
    given = _by_set(assignments)

    def running(pods: PodSet) -> PodSet:
        new = given.get(pods.name, ())
        if not new:
            return pods
        names = {each.pod for each in new}
        return replace(
            pods,
            bound=(*pods.bound, *(each.node for each in new)),
            pods=tuple(name for name in pods.pod_names() if name not in names),
        )

    return replace(request, root=request.root.mapped(running))


def _by_set(assignments: Iterable[Assignment]) -> dict[str, list[Assignment]]:
    given: dict[str, list[Assignment]] = {}
    for each in assignments:
        given.setdefault(each.pod_set, []).append(each)
    return given


def _has_pods(member: Member) -> bool:
    return bool(member.count if isinstance(member, PodSet) else member.members)


def _formed(member: Member, given: _Given) -> bool:
    """Whether what runs and what is given reach the minimum."""
    if isinstance(member, PodSet):
        return len(member.bound) + len(given.get(member.name, ())) >= member.least
    return sum(_formed(inner, given) for inner in member.members) >= member.least


def _minimum(member: Member, given: _Given) -> list[Assignment]:
    if isinstance(member, PodSet):
        return list(given.get(member.name, ())[: max(member.least - len(member.bound), 0)])
    # What needs no new pod comes first; sorting keeps the order among the others.
    formed = sorted(
        (each for each in member.members if _formed(each, given)), key=lambda each: not satisfied(each)
    )
    return [assignment for each in formed[: member.least] for assignment in _minimum(each, given)]


def _step(member: Member, given: _Given) -> list[Assignment]:
    if not satisfied(member):
        return _minimum(member, given) if _formed(member, given) else []
    if isinstance(member, PodSet):
        return list(given.get(member.name, ())[:1])
    order = sorted(member.members, key=lambda each: share(each) if isinstance(each, Group) else 0.0)
    return next((found for each in order if (found := _step(each, given))), [])
