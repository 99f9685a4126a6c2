"""Requests rewritten: only what must be placed, fewer pods, coarser levels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from closeknit.hub.copying import replace
from closeknit.hub.request import Group, Member, PodSet


def groups(group: Group) -> Iterator[Group]:
    """The group and all groups inside it, parents first, then by name: the order of listing never shows."""
    yield group
    for member in sorted(group.members, key=lambda each: each.name):
        if isinstance(member, Group):
            yield from groups(member)


def wanted(member: Member) -> int:
    """The fewest pods that must still be placed for a member to be formed; 0 where running pods do."""
    if isinstance(member, PodSet):
        return max(member.least - len(member.bound), 0)
    needs = sorted(wanted(inner) for inner in member.members)
    formed = needs.count(0)
    return sum(needs[formed : max(member.least, formed)])


def core(group: Group, stands: Callable[[str], bool]) -> Group:
    """One choice of what has to be placed for a group to be formed, and nothing beside it.

    Where not all members must be formed, those that stand by themselves come first,
    then those that need the fewest pods. Running pods are kept, since they pin domains.
    """
    lacking = [member for member in group.members if wanted(member)]
    missing = group.least - (len(group.members) - len(lacking))
    ranked = sorted(lacking, key=lambda member: (not stands(member.name), wanted(member), member.name))
    chosen = {member.name for member in ranked[: max(missing, 0)]}
    members: list[Member] = []
    for member in group.members:
        if member.name not in chosen:
            members.extend(_running(member))
        elif isinstance(member, PodSet):
            members.append(_sized(member, member.least, member.least))
        else:
            members.append(core(member, stands))
    return replace(group, members=tuple(members), preferred=None, minimum=None)


def _running(member: Member) -> list[Member]:
    """What is left of a member without its open pods."""
    if isinstance(member, PodSet):
        return [_sized(member, len(member.bound), len(member.bound))] if member.bound else []
    inner = tuple(kept for each in member.members for kept in _running(each))
    return [replace(member, members=inner, preferred=None, minimum=None)] if inner else []


def loosened(group: Group, pod_sets: Collection[str], least: int) -> Group:
    """The group with these pod sets content with ``least`` pods each, or with those that run.

    Neither preferences nor pods above the original minimum are kept.
    """

    def loose(pods: PodSet) -> PodSet:
        if pods.name not in pod_sets:
            return _sized(pods, pods.least, pods.least)
        return _sized(pods, pods.least, min(max(least, len(pods.bound)), pods.least))

    return group.mapped(loose, lambda each: replace(each, preferred=None))


def recounted(group: Group, counts: Mapping[str, int]) -> Group:
    """The group with count and minimum of the named pod sets replaced."""

    def counted(pods: PodSet) -> PodSet:
        to = counts.get(pods.name)
        return pods if to is None else _sized(pods, to, to)

    return group.mapped(counted)


def settled(group: Group, counts: Mapping[str, int]) -> Group:
    """The group with exactly these pods, by pod set, and every member needed."""
    return group.mapped(
        lambda pods: _sized(pods, counts[pods.name], counts[pods.name]),
        lambda each: replace(each, minimum=None),
    )


def releveled(group: Group, levels: Mapping[str, str | None]) -> Group:
    """The group with the required levels of the named groups replaced."""
    return group.mapped(groups=lambda each: replace(each, required=levels.get(each.name, each.required)))


def _sized(pods: PodSet, count: int, minimum: int) -> PodSet:
    count = max(count, len(pods.bound))
    return replace(pods, count=count, minimum=minimum if minimum < count else None, pods=())
