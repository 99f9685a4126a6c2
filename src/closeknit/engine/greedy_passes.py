"""Placements by greedy passes: each group into the tightest domain, its pods into the fullest that fits.

A pass costs no more than a few steps of a search, and comes to other placements than a search comes to
first. So passes are made once a search drags on, and what they find better rules out branches from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, Part, PodSetVar
from closeknit.engine.floor import Floor
from closeknit.engine.quick_layout import Remaining
from closeknit.engine.score import Spread
from closeknit.engine.tree import Ints

_NODES_A_STEP = 256
"""So many nodes can be looked at, and one of them filled, for the work of a step."""
_TO_ORDER = 8
"""One in so many steps may go into ordering domains; on large clusters that is too few, and paths decide."""


class _Way(NamedTuple):
    """What comes first in a pass."""

    in_use: bool
    """Whether domains in use come before tighter ones."""
    large_pods: bool
    """Of members that take as much, whether that with larger pods comes first, or that with more pods."""


_WAYS = (
    _Way(in_use=False, large_pods=False),
    _Way(in_use=False, large_pods=True),
    _Way(in_use=True, large_pods=True),
)


Hopeful = Callable[[Sequence[int]], bool]
"""Whether a placement of all pods in at least so many domains, by level, and nodes is worth finding."""


class _Root(NamedTuple):
    """A domain that the root may have."""

    level: int
    domain: int
    least: tuple[int, ...]
    """The fewest domains by level, then nodes, that all pods use there, as far as counts were looked at."""


class GreedyPasses:
    """Passes over a request of which no pod runs and whose pods have no rules about other pods."""

    def __init__(self, compiled: CompiledRequest, free: Ints, floor: Floor) -> None:
        self._compiled = compiled
        self._free = free
        self._floor = floor
        total = free[compiled.rows][:, compiled.tree.slots].clip(0).sum(axis=1, dtype=np.float64)
        self._bulk = [sum(np.array(each) / np.maximum(total, 1)) for each in compiled.demand]
        """By shape, the share of all that is free that a pod takes."""
        self.work = 0
        """What the passes made so far took."""

    def spreads(self, within: tuple[int, int], most_work: int, hopeful: Hopeful) -> Iterator[Spread]:
        """Placements of all pods inside a domain: in each way, one for each domain that the root may have.

        Each way is tried in all domains before the next way, and no pass goes on once it is not hopeful,
        so that no domain goes without a pass because of what others take. After ``most_work``, none goes on.
        """
        compiled = self._compiled
        unused: list[set[int]] = [set() for _ in range(compiled.tree.depth + 1)]
        roots = list(self._roots(within, most_work // _TO_ORDER))
        for way in _WAYS:
            for root in roots:
                left = most_work - self.work
                if left <= 0:
                    return
                if not hopeful(root.least):
                    continue
                remaining = Remaining(compiled, self._free, unused)
                one = _Pass(compiled, remaining, self._bulk, way, most_work=left, hopeful=hopeful)
                placed = one.fill(compiled.root, (root.level, root.domain))
                self.work += one.work
                if placed:
                    yield one.spread()

    def _roots(self, within: tuple[int, int], most_work: int) -> Iterator[_Root]:
        """Domains that counts do not rule out for the root.

        Those of the finest level come first, and of these the ones in which pods need the fewest domains,
        unless it takes more than ``most_work`` to count these.
        """
        compiled, root = self._compiled, self._compiled.root
        coarsest = max(root.required, within[0])
        for level in range(max(root.preferred, coarsest), coarsest - 1, -1):
            if level == within[0]:
                yield _Root(*within, (0,) * (compiled.tree.depth + 1))
                return
            first, last = compiled.tree.span(*within, level)
            fits = compiled.tree.real[level][first:last].copy()
            for table, pods in zip(compiled.tables, root.open, strict=True):
                fits &= table.sums[level][first:last] >= pods
            domains = np.flatnonzero(fits) + first
            work = (compiled.tree.depth + 1 - level) * (1 + len(compiled.tree) // _NODES_A_STEP)
            if self.work + work > most_work:
                nothing = (0,) * (compiled.tree.depth + 1)
                yield from (_Root(level, domain, nothing) for domain in domains.tolist())
                continue
            self.work += work
            pieces = self._floor.pieces_inside(level, domains)
            least = zip(*(each.tolist() for each in pieces), strict=True)
            found = [
                _Root(level, domain, (1,) * (level + 1) + inside)
                for domain, inside in zip(domains.tolist(), least, strict=True)
            ]
            yield from sorted(found, key=lambda each: (each.least, each.domain))


class _Pass:
    """One pass. It gives up where something finds no place, where it is hopeless, or after so much work."""

    def __init__(
        self,
        compiled: CompiledRequest,
        left: Remaining,
        bulk: list[float],
        way: _Way,
        *,
        most_work: int,
        hopeful: Hopeful,
    ) -> None:
        self._compiled = compiled
        self._tree = compiled.tree
        self._left = left
        self._way = way
        self._pods: dict[int, dict[int, int]] = {}
        """By pod set and position, the pods placed."""
        self._bulk = bulk
        self._most_work = most_work
        self._hopeful = hopeful
        self.work = 0

    def spread(self) -> Spread:
        """What was placed."""
        found: Spread = {}
        for index, counts in self._pods.items():
            positions, pods = zip(*sorted(counts.items()), strict=True)
            found[index] = (np.array(positions, dtype=np.int64), np.array(pods, dtype=np.int64))
        return found

    def fill(self, group: GroupVar, domain: tuple[int, int]) -> bool:
        """Place all pods of a group in a domain; returns whether they found room."""
        for part in sorted(_parts(group, domain[0]), key=self._turn):
            self.work += 1 + len(self._tree) // _NODES_A_STEP
            if isinstance(part, PodSetVar):
                if self._left.capacity(part.shape, *domain) < part.open:
                    return False
                self._place(part, domain, part.open)
                if self._spent or not self._hopeful([len(used) for used in self._left.used]):
                    return False
                continue
            chosen = self._domain(part, domain)
            if chosen is None or self._spent or not self.fill(part, chosen):
                return False
        return True

    @property
    def _spent(self) -> bool:
        return self.work > self._most_work

    def _turn(self, part: Part) -> tuple[bool, float, float, str]:
        """Groups, which have to choose a domain, come first; then the bulkiest."""
        pod_sets = [part] if isinstance(part, PodSetVar) else part.pod_sets
        pods = sum(each.open for each in pod_sets)
        bulk = sum(each.open * self._bulk[each.shape] for each in pod_sets)
        first = bulk / max(pods, 1) if self._way.large_pods else pods
        return (isinstance(part, PodSetVar), -round(bulk, 9), -first, part.name)

    def _domain(self, group: GroupVar, inside: tuple[int, int]) -> tuple[int, int] | None:
        """The tightest domain that takes a group by counts, from the level it prefers to that it requires."""
        tree, coarsest = self._tree, max(group.required, inside[0])
        for level in range(max(group.preferred, coarsest), coarsest - 1, -1):
            if level == inside[0]:
                return inside
            first, last = tree.span(*inside, level)
            fits = tree.real[level][first:last].copy()
            room = np.zeros(last - first, dtype=np.int64)
            for shape, pods in enumerate(group.open):
                if pods:
                    here = self._left.capacities(shape, level, first, last)
                    fits &= here >= pods
                    room += here
            fitting = np.flatnonzero(fits)
            if self._way.in_use and len(used := fitting[self._left.in_use(level, first, last)[fitting]]):
                fitting = used
            if len(fitting):
                return level, first + int(fitting[np.argmin(room[fitting])])
        return None

    def _place(self, pod_set: PodSetVar, inside: tuple[int, int], pods: int) -> None:
        """Go down into the fullest domain that takes all pods; where none does, fill the roomiest first."""
        level, domain = inside
        if level == self._tree.depth:
            self.work += 1
            counts = self._pods.setdefault(pod_set.index, {})
            counts[domain] = counts.get(domain, 0) + pods
            self._left.take(pod_set.shape, domain, pods)
            return
        first, last = self._tree.span(level, domain, level + 1)
        room = self._left.capacities(pod_set.shape, level + 1, first, last).copy()
        in_use = self._left.in_use(level + 1, first, last) if self._way.in_use else None
        while pods and not self._spent:
            fitting = np.flatnonzero(room >= pods)
            if in_use is not None:
                if len(used := fitting[in_use[fitting]]):
                    fitting = used
                elif (used_room := np.where(in_use, room, 0)).any():
                    fitting = np.array([int(np.argmax(used_room))])
            child = int(fitting[np.argmin(room[fitting])]) if len(fitting) else int(np.argmax(room))
            taken = min(pods, int(room[child]))
            self._place(pod_set, (level + 1, first + child), taken)
            room[child] = 0
            pods -= taken


def _parts(group: GroupVar, level: int) -> Iterator[Part]:
    """Members that have to find a domain or room, those of groups that have no choice in place of these."""
    for part in group.members:
        if isinstance(part, GroupVar) and max(part.required, part.preferred) <= level:
            yield from _parts(part, level)
        elif part.open if isinstance(part, PodSetVar) else any(part.open):
            yield part
