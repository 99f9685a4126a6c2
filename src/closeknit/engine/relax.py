"""What a user could ask for instead: coarser levels, or fewer pods. Each was tried on the whole request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from closeknit.engine import variants
from closeknit.engine.blame import Blame, Culprit
from closeknit.engine.trials import Most, Trials
from closeknit.hub.outcome import CountChange, LevelChange, Relaxation
from closeknit.hub.request import Group, PodSet
from closeknit.hub.topology import Topology

_ROUNDS = 6
"""How often coarser levels may bring the next obstacle to light."""
_SINGLES = 3
"""Groups inside a culprit that are tried one by one before all of them change together."""
_ONE_BY_ONE = 2
"""Pod sets of several that are alike whose counts may change each in its own way."""


class Levels:
    """Looks for the least change of required levels that makes a request placeable."""

    def __init__(self, trials: Trials, topology: Topology | None) -> None:
        self._trials = trials
        self._labels = topology.labels if topology is not None else ()
        self._blame = Blame(trials)

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
            culprits = self._blame.culprits(relaxed)
        return None

    def _coarsened(self, root: Group, culprits: Sequence[Culprit]) -> Group | None:
        """The root with every culprit at the finest coarser level at which it stands.

        None where nothing can change.
        """
        changed = root
        levels: dict[object, int] = {}
        for culprit in culprits:
            if culprit.core.required is not None:
                if culprit.twin not in levels:
                    levels[culprit.twin] = self._standing(culprit)
                changed = self._raised(changed, culprit.core.name, levels[culprit.twin])
            else:
                # The culprit has no level to give up, so the groups inside it must.
                inner = _innermost(_named(changed, culprit.core.name))
                single = self._single(changed, inner)
                if single is not None:
                    return single
                for group in inner:
                    changed = self._raised(changed, group.name, self._depth(group.required) - 1)
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
                trial = self._raised(root, group.name, level)
                if self._trials.placeable(trial):
                    return trial
        return None

    def _raised(self, root: Group, name: str, level: int) -> Group:
        """The root with one group, and so all groups around it, at this level or a coarser one."""
        label = self._labels[level] if level >= 0 else None
        around = [group for group in _path_to(root, name) if self._depth(group.required) > level]
        return variants.releveled(root, {group.name: label for group in around})

    def _pruned(self, root: Group, relaxed: Group) -> dict[str, str | None]:
        """The changes from one root to the other, each taken back as far as the request stays placeable."""
        before, after = _levels(root), _levels(relaxed)
        changes = {name: after[name] for name in before if after[name] != before[name]}
        if len(changes) > 1:
            # Inner groups are taken back first, since no group may have a coarser level than one around it.
            for name in reversed(list(changes)):
                for label in self._finer(before[name], changes[name]):
                    tried = {**changes, name: label}
                    if self._allowed({**before, **tried}, root) and self._trials.placeable(
                        variants.releveled(root, tried)
                    ):
                        changes = tried
                        break
        return {name: label for name, label in changes.items() if label != before[name]}

    def _finer(self, first: str | None, last: str | None) -> Iterator[str]:
        """Levels from the first one up to, but not including, the last."""
        return (self._labels[level] for level in range(self._depth(first), self._depth(last), -1))

    def _allowed(self, levels: dict[str, str | None], root: Group) -> bool:
        """Whether no group would have a coarser level than one around it."""
        pending: list[tuple[Group, int]] = [(root, -1)]
        while pending:
            group, above = pending.pop()
            mine = self._depth(levels[group.name])
            if 0 <= mine < above:
                return False
            pending.extend((inner, max(mine, above)) for inner in group.members if isinstance(inner, Group))
        return True

    def _depth(self, label: str | None) -> int:
        return -1 if label is None else self._labels.index(label)


def _levels(root: Group) -> dict[str, str | None]:
    return {member.name: member.required for member, _ in root.walk() if isinstance(member, Group)}


def _named(root: Group, name: str) -> Group:
    return next(member for member, _ in root.walk() if isinstance(member, Group) and member.name == name)


def _path_to(root: Group, name: str) -> list[Group]:
    """The groups from the root down to one of them."""
    parents = {member.name: parent for member, parent in root.walk()}
    path: list[Group] = []
    at: Group | None = _named(root, name)
    while at is not None:
        path.append(at)
        at = parents[at.name]
    return path[::-1]


def _innermost(group: Group) -> list[Group]:
    """The groups inside this one that require a level and hold no other that does, by name."""
    found: list[Group] = []
    for member in group.members:
        if isinstance(member, Group):
            found.extend(_innermost(member) or ([member] if member.required is not None else []))
    return sorted(found, key=lambda each: each.name)


class Counts:
    """Looks for the most pods of a request that can be placed."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials

    def relaxation(self, root: Group, culprits: Sequence[Culprit]) -> Relaxation | None:
        """Fewer pods with which the whole request can be placed; None where none were found."""
        cores = [culprit.core for culprit in culprits]
        blamed = {pods.name for core in cores for pods in core.pod_sets() if variants.wanted(pods)}
        every = {pods.name for pods in root.pod_sets()}
        for pod_sets in (blamed, every):
            for most in self._trials.most(variants.loosened(root, pod_sets, 1)):
                counts = _evened(root, _fewer(root, most))
                if counts and self._trials.placeable(variants.recounted(root, counts)):
                    counts = self._raised(root, counts)
                    return Relaxation(tuple(CountChange(name, to) for name, to in counts.items()))
        return None

    def _raised(self, root: Group, counts: dict[str, int]) -> dict[str, int]:
        """The same counts, each as large as the others allow; what need not change at all is dropped.

        Pod sets that are alike and have come down to the same count go up together.
        """
        least = {pods.name: pods.least for pods in root.pod_sets()}
        dials: dict[object, list[str]] = {}
        for name in sorted(counts):
            dials.setdefault((_likeness(root, name), counts[name]), []).append(name)
        for names in dials.values():
            # With everything back at its minimum, the request is known not to be placeable.
            low, high = counts[names[0]], least[names[0]] - (len(names) == len(counts))
            probe = low + 1
            while low < high:
                if self._trials.placeable(
                    variants.recounted(root, {**counts, **dict.fromkeys(names, probe)})
                ):
                    low = probe
                else:
                    high = probe - 1
                probe = (low + high + 1) // 2
            counts = {**counts, **dict.fromkeys(names, low)}
            counts = {name: to for name, to in counts.items() if to < least[name]}
        return counts


def _fewer(root: Group, most: Most) -> dict[str, int]:
    """Pod sets that get some, but not all, of the pods that must run. Sets left out whole need no change."""
    pods_of: dict[str, PodSet] = {pods.name: pods for pods in root.pod_sets()}
    counts: dict[str, int] = {}
    for leaf in most.problem.leaves:
        pods = pods_of[leaf.name]
        running = len(pods.bound) + most.placed(leaf.index)
        if 0 < running < pods.least:
            counts[leaf.name] = running
    return counts


def _evened(root: Group, counts: dict[str, int]) -> dict[str, int]:
    """One count for all pod sets that are alike, where many or all of them change, as for replicas."""
    alike: dict[PodSet, list[str]] = {}
    for pods in root.pod_sets():
        alike.setdefault(_likeness(root, pods.name), []).append(pods.name)
    evened = dict(counts)
    for names in alike.values():
        changed = [counts[name] for name in names if name in counts]
        if len(changed) > _ONE_BY_ONE or (changed and len(changed) == len(names)):
            evened.update(dict.fromkeys(names, min(changed)))
    return evened


def _likeness(root: Group, name: str) -> PodSet:
    """A pod set but for its name; one with running pods is like no other."""
    pods = next(pods for pods in root.pod_sets() if pods.name == name)
    return pods if pods.bound else replace(pods, name="", pods=())
