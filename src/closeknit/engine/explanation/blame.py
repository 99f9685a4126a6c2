"""Which groups of a request that cannot be placed are at fault: the smallest that fail by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from closeknit.engine import score
from closeknit.engine.compiled_request import CompiledRequest, Goal, GroupVar, PodSetVar
from closeknit.engine.explanation import variants
from closeknit.engine.explanation.trials import Trials
from closeknit.hub.request import Group


@dataclass(frozen=True, slots=True)
class Culprit:
    """A group that cannot be placed although enough of its members could be, each by itself."""

    compiled: CompiledRequest
    """What must be placed for the group to be formed, compiled as a request of its own."""
    core: Group
    apart: bool
    """Whether running pods already break what the group requires."""
    twin: object
    """Equal for culprits between which nothing can tell."""

    @property
    def level(self) -> int:
        """The level it must share, or -1."""
        return self.compiled.root.required

    @property
    def wanted(self) -> int:
        """Pods that it needs at once."""
        return self.compiled.root.size


class Blame:
    """Finds the culprits of one request. What was found out about a group holds for its twins."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._stood: dict[str, bool] = {}
        self._fallen: set[str] = set()

    def culprits(self, root: Group) -> list[Culprit]:
        """The groups at fault in a request known not to be placeable, parents first, then by name."""
        compiled = self._trials.compiled(root)
        groups, _ = self._visit(compiled, compiled.root)
        return [self._culprit(group) for group in sorted(groups, key=lambda group: group.index)]

    def _culprit(self, group: GroupVar) -> Culprit:
        core = variants.core(group.group, lambda name: name not in self._fallen)
        compiled = self._trials.compiled(core, Goal.CONSTRAINTS)
        return Culprit(compiled, core, score.broken_by_running(compiled.tree, compiled.root), group.twin)

    def _visit(self, compiled: CompiledRequest, group: GroupVar) -> tuple[list[GroupVar], bool]:
        """The culprits of a subtree, none where it stands; and whether leaving it out is no way out."""
        below: list[GroupVar] = []
        broken: list[GroupVar] = []
        standing, short = 0, False
        for member in group.members:
            if isinstance(member, PodSetVar):
                stands = member.need <= compiled.tables[member.shape].total
                short |= not stands
            else:
                found, hopeless = self._visit(compiled, member)
                stands = not found
                (broken if hopeless else below).extend(found)
            standing += stands
            if not stands:
                self._fallen.add(member.name)
        if broken or score.broken_by_running(compiled.tree, group):
            # Running pods that break a requirement do so whether or not their group is formed.
            return broken or [group], True
        if standing < group.least:
            return ([group, *below] if short else below), False
        return ([] if self._stands(compiled, group) else [group]), False

    def _stands(self, compiled: CompiledRequest, group: GroupVar) -> bool:
        """Whether a group can be placed by itself; taken to be so where that was not found out."""
        if group.parent is None:
            return False
        key = group.twin
        if key not in self._stood:
            if plain(group) and not _ruled(compiled, group):
                needs = enumerate(group.need)
                self._stood[key] = all(need <= _roomiest(compiled, group, shape) for shape, need in needs)
            else:
                self._stood[key] = self._trials.placeable(group.group) is not False
        return self._stood[key]


def plain(group: GroupVar) -> bool:
    """Whether a group's pods are all alike and bound by nothing but the group's own level."""
    if len({pod_set.shape for pod_set in group.pod_sets if pod_set.need}) > 1:
        return False
    return all(inner.required <= group.required for inner in _inner(group))


def _ruled(compiled: CompiledRequest, group: GroupVar) -> bool:
    """Whether rules about other pods bind the pods of a plain group among themselves."""
    rules = compiled.neighbours
    return rules is not None and any(rules.bind(each.shape) for each in group.pod_sets if each.need)


def _inner(group: GroupVar) -> Iterator[GroupVar]:
    for member in group.members:
        if isinstance(member, GroupVar):
            yield member
            yield from _inner(member)


def _roomiest(compiled: CompiledRequest, group: GroupVar, shape: int) -> int:
    """How many pods of a shape the best domain for a group takes."""
    table, level = compiled.tables[shape], group.required
    if level < 0:
        return table.total
    if group.bound:
        return table.capacity(level, int(compiled.tree.dom[level][group.bound[0]]))
    return int(table.sums[level][compiled.tree.real[level]].max(initial=0))
