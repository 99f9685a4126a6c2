"""Which members of a group to form, where not all of them must be.

Ways are tried by the pods that they leave out, fewest first, and of twins only their number matters. There
may be more ways than anyone can try, so whatever counts can tell is told without building a way: members that
have no room by themselves are out from the start, and so are numbers of members that are too many in sum.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul

from closeknit.engine.compiled_request import Goal, GroupVar, Part, PodSetVar, formed, need_of


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a domain has left for a group, by counts."""

    by_shape: Sequence[int]
    """Pods of each shape, if there were no other."""
    pods: int
    """Pods of any shape."""

    def takes(self, needs: Sequence[int]) -> bool:
        """Whether counts leave room for so many pods of each shape."""
        return sum(needs) <= self.pods and all(a <= b for a, b in zip(needs, self.by_shape, strict=True))


def has_choice(group: GroupVar) -> bool:
    """Whether fewer than all members form the group."""
    return group.least < len(group.members)


def memberships(group: GroupVar, goal: Goal, room: Capacity) -> Iterator[tuple[list[Part] | None, int]]:
    """The members to form, in name order, and the number of pods left out.

    None stands for a way that has no room; it is told so that whoever asks can stop in time.
    Members formed by running pods alone are always in. Of twins, those first by name are in.
    """
    if not has_choice(group):
        yield group.members, 0
        return
    fixed = [part for part in group.members if formed(part)]
    lacking = [part for part in group.members if not formed(part)]
    fitting = [part for part in lacking if room.takes(need_of(part, len(room.by_shape)))]
    spare = min(len(fixed) + len(fitting) - group.least, len(fitting))
    if spare < 0:
        return
    lost = sum(map(_open_pods, lacking)) - sum(map(_open_pods, fitting))
    twins: dict[str, list[Part]] = {}
    for part in fitting:
        twins.setdefault(part.twin, []).append(part)
    kinds = sorted(twins.values(), key=lambda parts: parts[0].name)
    needs = [need_of(parts[0], len(room.by_shape)) for parts in kinds]
    by_shape = [[need[shape] for need in needs] for shape in range(len(room.by_shape))]
    sizes = [_open_pods(parts[0]) for parts in kinds]
    counts = [len(parts) for parts in kinds]
    if goal is Goal.CONSTRAINTS:
        # Only what must be placed counts: no more is formed than that, and the smallest members first.
        numbers, costs = range(spare, spare + 1), [-size for size in sizes]
    else:
        numbers, costs = range(spare + 1), sizes
    for dropped in _droppings(counts, costs, [n for n in numbers if _may_fit(counts, by_shape, n, room)]):
        left_out = sum(map(mul, dropped, sizes))
        kept = [len(parts) - drop for parts, drop in zip(kinds, dropped, strict=True)]
        if not room.takes([sum(map(mul, kept, by_kind)) for by_kind in by_shape]):
            yield None, lost + left_out
            continue
        chosen = [part for parts, number in zip(kinds, kept, strict=True) for part in parts[:number]]
        yield sorted([*fixed, *chosen], key=lambda part: part.name), lost + left_out


def _open_pods(part: Part) -> int:
    return part.open if isinstance(part, PodSetVar) else sum(part.open)


def _may_fit(counts: Sequence[int], needs: Sequence[Sequence[int]], number: int, room: Capacity) -> bool:
    """Whether so many members can be dropped that the others have room, by one bound at a time."""
    whole = [sum(each) for each in zip(*needs, strict=True)]
    bounds = [(whole, room.pods), *zip(needs, room.by_shape, strict=True)]
    for sizes, most in bounds:
        total, still = 0, number
        # Dropping the largest leaves the least.
        for size, parts in sorted(zip(sizes, counts, strict=True), reverse=True):
            gone = min(parts, still)
            still -= gone
            total += size * (parts - gone)
        if total > most:
            return False
    return True


def _droppings(
    counts: Sequence[int], costs: Sequence[int], numbers: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """All ways to drop one of these numbers of members, by kind, the cheapest first.

    Every way but the cheapest of its number comes of one before it, by dropping a member of the next
    dearer kind in place of one. Of kinds that cost the same, those last by name are dropped first.
    """
    order = sorted(range(len(counts)), key=lambda kind: (costs[kind], -kind))

    def cheapest(number: int) -> tuple[int, tuple[int, ...]]:
        dropped = [0] * len(counts)
        for kind in order:
            dropped[kind] = min(counts[kind], number)
            number -= dropped[kind]
        return sum(map(mul, dropped, costs)), tuple(dropped)

    heap = [cheapest(number) for number in numbers]
    heapq.heapify(heap)
    seen = {dropped for _, dropped in heap}
    while heap:
        cost, dropped = heapq.heappop(heap)
        yield dropped
        for kind, dearer in pairwise(order):
            if dropped[kind] and dropped[dearer] < counts[dearer]:
                way = list(dropped)
                way[kind] -= 1
                way[dearer] += 1
                if tuple(way) not in seen:
                    seen.add(tuple(way))
                    heapq.heappush(heap, (cost + costs[dearer] - costs[kind], tuple(way)))
