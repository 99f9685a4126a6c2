"""Groups that must each stay whole, counted together.

A rack with room for ten pods takes one group of eight, not ten eighths of one.
So where several groups of one shape must each share a domain, what counts is how
many whole groups each domain takes; sums of pods promise more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from closeknit.engine.compiled_request import CompiledRequest, GroupVar, Part
from closeknit.engine.tree import Ints


@dataclass(frozen=True, slots=True)
class Batch:
    """So many groups, each of at least so many pods of one shape, each in one domain of a level."""

    level: int
    shape: int
    size: int
    count: int

    def takes(self, compiled: CompiledRequest, level: int) -> Ints:
        """By domain of a level, not finer than the batch's own: how many such groups it takes."""
        tree = compiled.tree
        whole = compiled.tables[self.shape].sums[self.level] // self.size * tree.real[self.level]
        if level < 0:
            return np.array([whole.sum()])
        if level == self.level or not len(tree):
            return np.asarray(whole)
        return np.asarray(np.add.reduceat(whole, tree.dom[self.level][tree.start[level]]))


def batches(group: GroupVar, members: Sequence[Part] | None = None) -> list[Batch]:
    """The batches that every placement of a group has to place, the group itself not counted.

    With ``members``, those that it has to place if just these members are formed.
    """
    sizes: dict[tuple[int, int], list[int]] = {}
    inside = (
        certain(group)[1:]
        if members is None
        else [inner for part in members if isinstance(part, GroupVar) for inner in certain(part)]
    )
    for inner in inside:
        wanted = [(shape, need) for shape, need in enumerate(inner.need) if need]
        # A group inside another that is counted already would be counted twice.
        if inner.required >= 0 and not inner.bound and not _nested(inner, group):
            for shape, need in wanted:
                sizes.setdefault((inner.required, shape), []).append(need)
    found = []
    for (level, shape), needs in sorted(sizes.items()):
        for size in sorted(set(needs)):
            count = sum(need >= size for need in needs)
            if count > 1:
                found.append(Batch(level, shape, size, count))
    return found


def certain(group: GroupVar) -> list[GroupVar]:
    """A group and all groups inside it that every placement of it has to form, parents first."""
    found = [group]
    if len(group.members) <= group.least:
        for part in group.members:
            if isinstance(part, GroupVar):
                found.extend(certain(part))
    return found


def _nested(inner: GroupVar, outer: GroupVar) -> bool:
    """Whether a group between the two requires the same level as the inner one."""
    above = inner.parent
    while above is not None and above is not outer:
        if above.required == inner.required:
            return True
        above = above.parent
    return False
