"""A request without the groups and levels that say nothing more in Kueue's words.

What is left means the same on nodes that carry the labels of all levels, and Kueue
places pods by topology on no others.
"""

from __future__ import annotations

from closeknit.dialects.core.levels import Levels
from closeknit.hub.request import Group, Member, PodSet
from closeknit.hub.topology import Topology

_NONE = -1


def simplified(root: Group, topology: Topology | None) -> Group:
    """The same request with as few groups and levels as will do.

    - Members without pods go; they need no place, and count as formed.
    - A level that holds anyway goes: one that is required around it, and any of a single pod.
    - A group of one group is that group, with the finer of the levels.
    - A group without levels, all of which is needed, gives its members to the group around it.
    """
    labels = topology.labels if topology is not None else ()
    made = _member(root, labels, _NONE)
    return made if isinstance(made, Group) else Group(root.name, ())


def _member(member: Member, labels: tuple[str, ...], above: int) -> Member | None:
    if isinstance(member, PodSet):
        return member if member.count > 0 else None
    depth = {label: i for i, label in enumerate(labels)}
    pods = sum(each.count for each in member.pod_sets())
    required = depth.get(member.required or "", _NONE)
    bound = max(above, required)
    preferred = depth.get(member.preferred or "", _NONE)
    levels = Levels(
        member.required if required > above and pods > 1 else None,
        member.preferred if preferred > bound and pods > 1 else None,
    )
    given = [_member(each, labels, bound) for each in member.members]
    members = [each for each in given if each is not None]
    if not members:
        return None
    needed = max(member.least - (len(given) - len(members)), 0)
    minimum = needed if needed < len(members) else None
    return _joined(member.name, members, levels, minimum, depth)


def _joined(
    name: str, members: list[Member], levels: Levels, minimum: int | None, depth: dict[str, int]
) -> Group:
    if minimum is not None:
        return Group(name, tuple(members), levels.required, levels.preferred, minimum)
    inner = members[0]
    if len(members) == 1 and isinstance(inner, Group):
        # What lies inside is equal or finer, so that it implies what is around it.
        required = inner.required or levels.required
        preferred = inner.preferred or levels.preferred
        if required is not None and preferred is not None and depth[preferred] <= depth[required]:
            preferred = None
        return Group(name, inner.members, required, preferred, inner.minimum)
    spread: list[Member] = []
    for each in members:
        bare = isinstance(each, Group) and not (each.required or each.preferred) and each.minimum is None
        spread.extend(each.members if bare and isinstance(each, Group) else (each,))
    return Group(name, tuple(spread), levels.required, levels.preferred)
