"""Fewer pods that a user could ask for instead, tried on the whole request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from closeknit.engine import variants
from closeknit.engine.blame import Culprit
from closeknit.engine.trials import Most, Trials
from closeknit.hub.outcome import CountChange, Relaxation
from closeknit.hub.request import Group, PodSet

_ONE_BY_ONE = 2
"""Pod sets of several that are alike whose counts may change each in its own way."""


class FewerPods:
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
