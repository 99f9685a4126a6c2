"""Coarser levels that a user could ask for instead, tried on the whole request."""

from __future__ import annotations

from collections.abc import Sequence

from closeknit.engine.explanation import variants
from closeknit.engine.explanation.blame import Blame, Culprit
from closeknit.engine.explanation.trials import Trials
from closeknit.hub.copying import replace
from closeknit.hub.outcome import LevelChange, Relaxation
from closeknit.hub.request import Group, problems
from closeknit.hub.topology import Topology

_ROUNDS = 6
"""How often coarser levels may bring the next obstacle to light."""
_SINGLES = 3
"""Groups inside a culprit that are tried one by one before all of them change together."""


class CoarserLevels:
    """Looks for the least change of required levels that makes a request placeable."""

    def __init__(self, trials: Trials, topology: Topology | None) -> None:
        self._trials = trials
        self._topology = topology
        self._labels = topology.labels if topology is not None else ()

    def relaxation(self, root: Group, culprits: Sequence[Culprit]) -> Relaxation | None:
        """Coarser levels with which the whole request can be placed; None where none were found."""
        relaxed, without = root, variants.releveled(root, dict.fromkeys(_levels(root)))
        for number in range(_ROUNDS):
            if number == 1 and not self._trials.placeable(without):
                # No change of levels would be enough.
                return None
            coarser = self._coarsened(relaxed, culprits)
            if coarser is None:
                return None
            relaxed = coarser
            if self._trials.placeable(relaxed):
                changes = self._pruned(root, relaxed)
                return Relaxation(tuple(LevelChange(name, to) for name, to in changes.items()))
            if self._trials.spent:
                return None
            culprits = Blame(self._trials).culprits(relaxed)
        return None

    def _coarsened(self, root: Group, culprits: Sequence[Culprit]) -> Group | None:
        """The root with every culprit at the finest coarser level at which it stands.

        None where nothing can change.
        """
        changed = root
        standing: dict[object, int] = {}
        to: list[tuple[str, int]] = []
        for culprit in culprits:
            if culprit.core.required is not None:
                if culprit.twin not in standing:
                    standing[culprit.twin] = self._standing(culprit)
                to.append((culprit.core.name, standing[culprit.twin]))
            else:
                # The culprit has no level to give up, so the groups inside it must.
                changed = self._raised(changed, to)
                named = next(each for each in variants.groups(changed) if each.name == culprit.core.name)
                inner = _innermost(named)
                single = self._single(changed, inner)
                if single is not None:
                    return single
                to = [(group.name, self._depth(group.required) - 1) for group in inner]
        changed = self._raised(changed, to)
        return None if changed == root else changed

    def _standing(self, culprit: Culprit) -> int:
        """The finest coarser level at which a culprit stands by itself, or -1."""
        for level in range(culprit.level - 1, -1, -1):
            trial = variants.releveled(culprit.core, {culprit.core.name: self._labels[level]})
            if self._trials.placeable(trial):
                return level
        return -1

    def _single(self, root: Group, inner: Sequence[Group]) -> Group | None:
        """The root with one of these groups at a coarser level, if that is enough."""
        for group in inner[:_SINGLES]:
            for level in range(self._depth(group.required) - 1, -2, -1):
                trial = self._raised(root, [(group.name, level)])
                if self._trials.placeable(trial):
                    return trial
        return None

    def _raised(self, root: Group, to: Sequence[tuple[str, int]]) -> Group:
        """The root with some groups, and so all groups around them, each at its level or a coarser one."""
        if not to:
            return root
        parents = {member.name: parent for member, parent in root.walk()}
        groups = {group.name: group for group in variants.groups(root)}
        levels: dict[str, int] = {}
        for name, level in to:
            at: Group | None = groups[name]
            while at is not None:
                if levels.get(at.name, self._depth(at.required)) > level:
                    levels[at.name] = level
                at = parents[at.name]
        labels = {name: self._labels[level] if level >= 0 else None for name, level in levels.items()}
        return variants.releveled(root, labels)

    def _pruned(self, root: Group, relaxed: Group) -> dict[str, str | None]:
        """The changes from one root to the other, each taken back as far as the request stays placeable."""
        before, after = _levels(root), _levels(relaxed)
        changes = {name: after[name] for name in before if after[name] != before[name]}
        if len(changes) > 1:
            # Inner groups are taken back first, since no group may have a coarser level than one around it.
            for name in reversed(list(changes)):
                for level in range(self._depth(before[name]), self._depth(changes[name]), -1):
                    tried = {**changes, name: self._labels[level]}
                    trial = variants.releveled(root, tried)
                    makes_sense = not problems(replace(self._trials.request, root=trial), self._topology)
                    if makes_sense and self._trials.placeable(trial):
                        changes = tried
                        break
        return {name: label for name, label in changes.items() if label != before[name]}

    def _depth(self, label: str | None) -> int:
        return -1 if label is None else self._labels.index(label)


def _levels(root: Group) -> dict[str, str | None]:
    return {group.name: group.required for group in variants.groups(root)}


def _innermost(group: Group) -> list[Group]:
    """The groups inside this one that require a level and hold no other that does, by name."""
    found: list[Group] = []
    for member in group.members:
        if isinstance(member, Group):
            found.extend(_innermost(member) or ([member] if member.required is not None else []))
    return sorted(found, key=lambda each: each.name)
