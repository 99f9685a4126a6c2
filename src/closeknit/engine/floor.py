"""What any placement of a request costs at least, wish by wish, by counts over the whole cluster.

A placement that costs no more is best, and no search need prove it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from closeknit.engine import score
from closeknit.engine.compiled_request import CompiledRequest, GroupVar
from closeknit.engine.count_bounds import Batch, MixedBound, certain, fewest, fewest_inside
from closeknit.engine.criteria import best_of, score_keys
from closeknit.engine.tree import Flags, Ints


@dataclass(frozen=True, slots=True)
class _Least:
    """The fewest pods that are placed."""

    pods: int
    by_shape: list[int]


class Floor:
    """Bounds by counts over the whole cluster; ``batches`` are the whole groups that must be placed."""

    def __init__(self, compiled: CompiledRequest, mixed: MixedBound, batches: list[Batch]) -> None:
        self._compiled = compiled
        self._mixed = mixed
        self._batches = batches

    def fields(self, best: list[int]) -> list[int]:
        """A bound for each field of every placement that is better than the best one known.

        The fields are pods left out, the distance for each preferred level, that from preferred rules, and
        domains for each level down to the named one.
        """
        root, tree, named = self._compiled.root, self._compiled.tree, self._compiled.named
        preferences = [0] * tree.depth
        for group in certain(root):
            if group.preferred >= 0:
                preferences[group.preferred] += self._distance(group)
        first = [self._mixed.lacking(root.open), *preferences, 0]
        least = _least(root, best[0])
        shared = -1
        while shared + 1 < min(tree.depth, named + 1) and best[len(first) + shared + 1] == 1:
            shared += 1
        if shared >= 0 and first == best[: len(first)] and not root.bound and least.pods:
            # Whatever is better shares one domain of that level as well, so only what single domains offer
            # counts. A node without labels counts as a domain of its own, so domains need not be real here.
            anywhere = np.ones(tree.count(shared), dtype=np.bool_)
            domains = np.flatnonzero(self._with_room(least.by_shape, shared, anywhere))
            known = best[len(first) + shared + 1 :]
            inside, _ = self._narrowed(least, shared, domains, finest=named, best=known)
            return [*first, *[1] * (shared + 1), *inside]
        return [*first, *(self._domains(least, level) for level in range(named + 1))]

    def guide(self) -> tuple[int, int] | None:
        """The best domain of the finest level, not below the named one, that can take the whole request."""
        compiled, tree, root = self._compiled, self._compiled.tree, self._compiled.root
        if not root.size:
            return None
        for level in range(min(tree.depth - 1, compiled.named), max(root.required, 0) - 1, -1):
            if tree.count(level) < len(tree) and self._holds_all(root, level):
                domains = np.flatnonzero(self._with_room(root.need, level, tree.real[level]))
                if level < compiled.named:
                    # Several groups are easier to pack where they need few nodes, not in the tightest domain.
                    _, domains = self._narrowed(_least(root, None), level, domains, finest=tree.depth)
                main = compiled.tables[int(np.argmax(root.need))]
                return level, best_of(domains, score_keys(main, level))
        return None

    def _narrowed(
        self, least: _Least, level: int, domains: Ints, *, finest: int, best: list[int] | None = None
    ) -> tuple[list[int], Ints]:
        """The fewest pieces by level down to the finest if one domain takes all, and the domains for it.

        A domain that needs more pieces than the fewest drops out for the finer levels only where the best
        placement known has the fewest itself: otherwise one with more may still be better than that.
        """
        tree = self._compiled.tree
        fewest_at: list[int] = []
        for finer in range(level + 1, finest + 1):
            if fewest_at and tree.count(finer) == len(tree) == tree.count(finer - 1):
                # Two levels of one node a domain count the same.
                fewest_at.append(fewest_at[-1])
                continue
            pieces = self._pieces(least, level, finer, domains)
            fewest_at.append(int(pieces.min(initial=1 << 20)))
            if best is None or best[finer - level - 1] == fewest_at[-1]:
                domains = domains[pieces == fewest_at[-1]]
        return fewest_at, domains

    def pieces_inside(self, level: int, domains: Ints) -> list[Ints]:
        """By finer level and domain, the fewest pieces that all pods of the request take in a domain."""
        least = _least(self._compiled.root, 0)
        finer_levels = range(level + 1, self._compiled.tree.depth + 1)
        return [self._pieces(least, level, finer, domains) for finer in finer_levels]

    def _pieces(self, least: _Least, level: int, finer: int, domains: Ints) -> Ints:
        """By domain, the fewest pieces of a finer level that take what is placed at least."""
        tree = self._compiled.tree
        pieces = np.zeros(len(domains), dtype=np.int64)
        for sums, need in self._wanted(least, finer):
            found = fewest_inside(tree, level, finer, domains, sizes=sums, count=need)
            np.maximum(pieces, found, out=pieces)
        return pieces

    def _distance(self, group: GroupVar) -> int:
        """How far from its preference a group stays at least."""
        tree = self._compiled.tree
        if not group.size and not group.bound:
            return 0
        reachable = group.preferred
        if group.bound:
            reachable = min(reachable, score.shared_level(tree, np.array(group.bound, dtype=np.int64)))
        while reachable >= 0 and not self._holds_all(group, reachable):
            reachable -= 1
        if reachable >= 0:
            return group.preferred - reachable
        pieces = 1
        for table, need in zip(self._compiled.tables, group.need, strict=True):
            if not group.bound:
                pieces = max(pieces, fewest(table.sums[group.preferred], need))
        return group.preferred + 1 + pieces

    def _with_room(self, needs: list[int], level: int, among: Flags) -> Flags:
        """Domains of a level that counts do not rule out for so many pods of each shape."""
        possible = among.copy()
        for shape, need in enumerate(needs):
            if need:
                possible &= self._compiled.tables[shape].sums[level] >= need
        return possible

    def _holds_all(self, group: GroupVar, level: int) -> bool:
        """Whether counts leave a domain of a level that takes all that a group needs."""
        tree = self._compiled.tree
        possible = self._with_room(group.need, level, tree.real[level])
        if group.bound:
            return bool(possible[tree.dom[level][group.bound[0]]])
        return bool(possible.any())

    def _domains(self, least: _Least, level: int) -> int:
        """How many domains of a level come into use at least."""
        tree, root = self._compiled.tree, self._compiled.root
        running = np.unique(tree.dom[level][np.array(root.bound, dtype=np.int64)])
        most = len(running)
        for sums, need in self._wanted(least, level, whole_groups=not len(running)):
            # Pods go to domains in use first; only what these cannot take needs others.
            others = sums.copy()
            others[running] = 0
            most = max(most, len(running) + fewest(others, need - int(sums[running].sum())))
        return most

    def _wanted(self, least: _Least, level: int, *, whole_groups: bool = True) -> Iterator[tuple[Ints, int]]:
        """What each domain of a level takes, and how much is needed.

        That is counted in pods by shape and in all, in units of each resource, and in whole groups.
        """
        tables = self._compiled.tables
        yield from (
            (table.sums[level], need) for table, need in zip(tables, least.by_shape, strict=True) if need
        )
        if len(tables) > 1:
            yield self._mixed.sums(level), least.pods
            yield from self._mixed.amounts(least.by_shape, level)
        for batch in self._batches if whole_groups else ():
            if batch.level >= level:
                yield batch.takes(self._compiled, level), batch.count


def _least(root: GroupVar, left_out: int | None) -> _Least:
    """What must be placed, or more: whatever leaves out no more pods than so many places all others."""
    if left_out is None:
        return _Least(root.size, root.need)
    by_shape = [max(need, asked - left_out) for need, asked in zip(root.need, root.open, strict=True)]
    return _Least(max(root.size, sum(root.open) - left_out), by_shape)
